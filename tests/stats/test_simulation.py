"""The simulation: it runs, is the same for a seed, and a smaller one gives the numbers of the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks import simulation

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text()
NUMBER = re.compile(r"\d\.\d{3}")
COVERAGE, DIFFERENCE = "Coverage of 95% intervals", "Coverage of the 95% interval of a difference"
ALARMS, GATE = "False alarms", "Errors of the gate"
PUBLISHED, SETS, COUNT = 2000, 200, 20  # test sets of the page and of these tests; dialogues of each


def published(title: str) -> dict[tuple[str, str], list[str]]:
    """The rows of a table on the page: the cells by number of dialogues, by name and correlation."""
    section = PAGE.partition(f"### {title}")[2].partition("\n### ")[0]
    assert section, title
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return {(name.strip(), correlation.strip()): cells for name, correlation, *cells in rows[2:]}


def numbers(cells: list[str]) -> list[float]:
    """All numbers with three digits: of the gate two per cell."""
    return [float(number) for cell in cells for number in NUMBER.findall(cell.partition("(")[0])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "part"),
    [
        (COVERAGE, simulation.shares),
        (COVERAGE, simulation.sensitivities),
        (COVERAGE, simulation.grades),
        (COVERAGE, simulation.numbers),
        (COVERAGE, simulation.areas),
        (COVERAGE, simulation.medians),
        (DIFFERENCE, simulation.differences),
        (ALARMS, simulation.false_alarms),
        (GATE, simulation.gates),
    ],
)
def test_a_smaller_simulation_gives_what_is_published(
    title: str, part: simulation.Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the error of both simulations, four standard errors for each of the rows."""
    table, column = published(title), simulation.DIALOGUES.index(COUNT)
    monkeypatch.setattr(simulation, "DIALOGUES", (COUNT,))
    monkeypatch.setattr(simulation, "RESAMPLES", 200)
    monkeypatch.setattr(simulation, "MORE_DIALOGUES", ())
    rows = list(part(np.random.default_rng(11), SETS))
    assert rows
    for name, correlation, cell in rows:
        here, there = numbers([cell]), numbers([table[name, correlation][column]])
        assert len(here) == len(there) >= 1
        for own, claim in zip(here, there, strict=True):
            share = min(max(claim, 0.01), 0.99)
            error = (share * (1 - share) * (1 / PUBLISHED + 1 / SETS)) ** 0.5
            assert abs(own - claim) <= 4 * error, (name, correlation)


def test_published_numbers_keep_the_aims_of_the_page() -> None:
    tables = {title: published(title) for title in (COVERAGE, DIFFERENCE, ALARMS, GATE)}
    assert {title: len(rows) for title, rows in tables.items()} == {COVERAGE: 34, DIFFERENCE: 24, ALARMS: 12, GATE: 24}
    steady = [
        number
        for (name, _), cells in tables[COVERAGE].items()
        if name.startswith("share") and not name.endswith("0.995")
        for number in numbers(cells)[simulation.DIALOGUES.index(20) :]
    ]
    for (name, _), cells in tables[COVERAGE].items():  # graded means: near Student's t wherever that can be trusted
        if name.startswith("grades"):
            from_20 = cells[simulation.DIALOGUES.index(20) :]
            assert all(0.93 <= number <= 0.98 for number in numbers(from_20)), name
            assert all(float(cell.partition("(")[2].strip(" )")) <= 1.3 for cell in from_20), name
    lowest = min(
        number for title in (COVERAGE, DIFFERENCE) for cells in tables[title].values() for number in numbers(cells)
    )
    largest = max(number for cells in tables[GATE].values() for number in numbers(cells))
    text = " ".join(PAGE.split())
    assert f"the lowest coverage is {min(steady)}; the lowest anywhere is {lowest}" in text
    assert f"the largest error of the gate is {largest}" in text
    assert (min(steady) >= 0.93, lowest >= 0.88, largest <= 0.07) == (True, True, True)


@pytest.mark.slow
@pytest.mark.parametrize("part", [simulation.shares, simulation.sensitivities, simulation.numbers, simulation.medians])
def test_it_is_the_same_for_a_seed(part: simulation.Part, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "DIALOGUES", (5, 20))
    monkeypatch.setattr(simulation, "RESAMPLES", 50)
    first, again = (list(part(np.random.default_rng(3), 20)) for _ in range(2))
    assert first == again
    assert all(len(row) == 4 for row in first)


def test_systems_differ_by_what_they_say() -> None:
    rng = np.random.default_rng(4)
    for worsen in simulation.KINDS.values():
        systems = worsen(rng, simulation.dialogues(rng, 50, 2000, 0.9, 0.1), 0.9, 0.02)
        change = (systems.new - systems.base).sum() / systems.turns.sum()
        assert change == pytest.approx(systems.difference, abs=0.003)
        assert systems.base.sum() / systems.turns.sum() == pytest.approx(0.9, abs=0.003)
