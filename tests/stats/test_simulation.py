"""The simulation: it runs, is the same for a seed, and what is published of it keeps the promises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks import simulation

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text()
NUMBER = re.compile(r"\d\.\d{3}")


def published(title: str) -> Iterator[tuple[str, list[str]]]:
    """The rows of a table on the page: what is simulated, and the cells by number of dialogues."""
    section = PAGE.partition(f"### {title}")[2].partition("\n### ")[0]
    assert section, title
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    for name, _, *cells in rows[2:]:
        yield name.strip(), cells


def numbers(cells: list[str], which: int = 0) -> list[float]:
    found = [NUMBER.findall(cell) for cell in cells]
    return [float(one[which]) for one in found if len(one) > which]


def test_published_coverage() -> None:
    rows = list(published("Coverage of 95% intervals"))
    assert len(rows) == 28
    for name, cells in rows:
        assert len(numbers(cells)) == len(simulation.DIALOGUES)
        assert min(numbers(cells)) >= 0.88, name
        if name.startswith("share") and not name.endswith("0.995"):
            assert min(numbers(cells)[2:]) >= 0.93, name
    for name, cells in published("Coverage of the 95% interval of a difference"):
        assert min(numbers(cells)) >= 0.88, name


def test_published_errors() -> None:
    for name, cells in published("False alarms"):
        assert max(numbers(cells)) <= 0.06, name
    rows = list(published("Errors of the gate"))
    assert len(rows) == 24
    for name, cells in rows:
        assert max(numbers(cells) + numbers(cells, 1)) <= 0.07, name


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
