"""What stress costs a tracker, and where another is better: sentences that follow from the results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from troth import demo
from troth.core.result import Result
from troth.demo import run as runner
from troth.report.page import build
from troth.report.page.render import render
from troth.report.page.stress import ORIGINAL, REWORDED, Shift, StressRuns, pair_trackers, stress_lines
from troth.report.sources import ScoredSystem, open_run
from troth.robustness.checkdst import checkdst
from troth.robustness.sgdx import sgdx
from troth.tracking.score import dst

Runs = dict[str, tuple[Result, Result]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("stress")
    twins = runner.write_twins(runner.WRITTEN, folder / "twins")
    variants = runner.write_wordings(runner.WRITTEN, folder / "reworded")
    gold = demo.path("gold")
    return {
        name: (
            checkdst(
                (gold, demo.path(name)),
                {label: (there, demo.path(f"twins/{name}-{label}.jsonl")) for label, there in twins.items()},
                name=name,
                profile="trade",
            ),
            sgdx(
                gold,
                {label: demo.path(f"wordings/{name}-{label}.jsonl") for label in variants} | {"orig": demo.path(name)},
                schemas=folder / "reworded",
                name=name,
                profile="trade",
            ),
        )
        for name in runner.MADE_UP
    }


def systems(runs: Runs, *names: str) -> tuple[list[ScoredSystem], list[ScoredSystem]]:
    perturbed, worded = ([open_run(runs[name][kind], 1).systems[0] for name in names] for kind in (0, 1))
    return perturbed, worded


def trackers(runs: Runs, *names: str) -> list[StressRuns]:
    return pair_trackers(*systems(runs, *names))


def test_costs_and_gains(runs: Runs) -> None:
    breaks, gains = stress_lines(trackers(runs, "hasty", "sturdy"))
    before, after = (runs["hasty"][1].score(name).value or 0.0 for name in ("jga_orig", "jga_v1-3"))
    assert breaks.startswith(f"hasty has the whole state right in {100 * before:.0f}% of turns. It loses ")
    assert f"{100 * (before - after):.1f} points with {REWORDED} (-" in breaks
    ours, theirs = (runs[name][1].score("jga_v1-3").value or 0.0 for name in ("hasty", "sturdy"))
    assert gains.startswith("sturdy has more whole states right than hasty, by ")
    levels = f"{100 * theirs:.0f}% against {100 * ours:.0f}%, +"
    assert f"{100 * (theirs - ours):.1f} points with {REWORDED} ({levels}" in gains
    assert "worse" not in gains


def test_what_is_not_better_is_said(runs: Runs) -> None:
    _, gains = stress_lines(trackers(runs, "sturdy", "hasty"))
    assert gains.startswith("hasty is not shown to be better than sturdy anywhere. It is worse by ")
    assert f"points with {REWORDED} (" in gains


def test_a_tracker_against_itself(runs: Runs) -> None:
    first, second = trackers(runs, "hasty")[0], trackers(runs, "hasty")[0]
    gains = stress_lines([first, second])[1]
    assert gains.startswith("hasty is not shown to be better than hasty anywhere. No difference is shown on ")
    assert f"shown on {ORIGINAL} (" in gains
    assert "worse" not in gains


def test_how_many_trackers(runs: Runs) -> None:
    assert stress_lines([]) == []
    assert len(stress_lines(trackers(runs, "hasty"))) == 1
    assert len(stress_lines(trackers(runs, "hasty", "sturdy") * 2)) == 1
    perturbed, worded = systems(runs, "hasty", "sturdy")
    assert pair_trackers(perturbed, worded[:1]) == []


def test_what_cannot_be_compared_is_left_out(runs: Runs) -> None:
    first, second = trackers(runs, "hasty", "sturdy")
    fewer = replace(second.perturbed, among=frozenset(second.perturbed.dialogues[:5]))
    gains = stress_lines([first, StressRuns(fewer, second.worded)])[1]
    assert ORIGINAL not in gains
    assert REWORDED in gains
    fewer_worded = replace(second.worded, among=frozenset(second.worded.dialogues[:5]))
    assert len(stress_lines([first, StressRuns(fewer, fewer_worded)])) == 1


@pytest.mark.parametrize(
    ("low", "high", "p", "is_shown", "bounds"),
    [
        (0.01, 0.05, 0.01, True, "+1.0 … +5.0"),
        (-0.05, -0.01, 0.01, True, "-5.0 … -1.0"),
        (-0.01, 0.05, 0.01, False, "-1.0 … +5.0"),
        (0.01, 0.05, 0.2, False, "+1.0 … +5.0 before the correction for many tests"),
        (None, None, 0.01, False, "too few dialogues for an interval"),
    ],
)
def test_shown_only_by_test_and_interval(
    low: float | None, high: float | None, p: float, is_shown: bool, bounds: str
) -> None:
    shift = Shift(REWORDED, 0.2, 0.23, low, high, p)
    assert (shift.is_shown, shift.bounds) == (is_shown, bounds)


def test_a_large_loss_comes_before_no_difference(runs: Runs) -> None:
    """What a stress costs one tracker is a finding, also where two trackers do not differ."""
    tracking = dst(demo.path("gold"), demo.path("hasty"), f"same={demo.path('hasty')}", profile="trade")
    sources = [open_run(run, number) for number, run in enumerate((tracking, *runs["hasty"]), 1)]
    lead = build(sources).lead
    assert lead[1].startswith("Robustness: hasty has the whole state right in ")
    assert any(line.startswith("State tracking: same and hasty: no difference shown") for line in lead[2:])
    assert f"<li>{lead[1]}</li>" in render(build(sources), "")  # also without a script


def test_a_page_begins_with_what_it_is_about(runs: Runs) -> None:
    sources = [open_run(runs["hasty"][0], 1)]
    assert build(sources, about="hasty is made up.").lead == ["hasty is made up.", *build(sources).lead]


def test_the_page_says_it_first_of_robustness(runs: Runs) -> None:
    sources = [open_run(run, number) for number, run in enumerate((run for pair in runs.values() for run in pair), 1)]
    lead = [line for line in build(sources).lead if line.startswith("Robustness: ") or "hasty" in line]
    expected = stress_lines(trackers(runs, "hasty", "sturdy"))
    assert [line.removeprefix("Robustness: ") for line in lead][:2] == expected
    assert not any("joint goal accuracy" in line for line in lead)  # said already: on the dialogues as they are
