"""`troth gate`: a test for CI, against a base run or against a value that a metric must reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from troth.cli import options, show
from troth.cli.runs import clusters, open_runs
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.metric import PERCENT
from troth.core.result import Result
from troth.storage import runs as stored

if TYPE_CHECKING:
    from troth.report.sources import Run


@click.command(no_args_is_help=True)
@click.argument("base", metavar="BASE", type=options.FILE)
@click.argument("new", metavar="[NEW]", type=options.FILE, required=False)
@click.option(
    "--metric", metavar="NAME", required=True, type=options.ALL_METRICS, help="Metric to test: jga, faithful:nli, …"
)
@click.option(
    "--margin",
    type=options.Real(min=0),
    help="Loss against BASE that is accepted: in points, or in the metric's own unit if it is not a share.",
)
@click.option(
    "--at-least",
    type=options.Real(),
    help="Value that the metric of a single run must reach: in percent, or in the metric's own unit.",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Confidence of the verdict, from 0.5 to 1."
)
@click.option("--strict", is_flag=True, help="Also exit with 1 when the gate cannot decide.")
@options.GOLD_OPTION
@options.PROFILE
@options.JSON
def gate(
    base: str,
    new: str | None,
    metric: str,
    margin: float | None,
    at_least: float | None,
    confidence: float,
    strict: bool,
    gold: str | None,
    profile: str | None,
    json: bool,
) -> None:
    """Fail (exit code 1) if a run is worse than a base or a limit.

    NEW fails if it is worse than BASE by more than --margin; a single run fails if it misses --at-least. BASE and NEW
    are run folders, or predictions with --gold. A gate fails only with confidence: the whole interval must be beyond
    the limit. When it cannot decide, it passes and says so; with --strict it fails.
    """
    runs = open_runs([path for path in (base, new) if path is not None], [metric], gold, profile)
    if (at_least is None) == (margin is None) or (new is None) != (margin is None):
        raise UserError(
            "a gate needs two runs and --margin, or one run and --at-least",
            hint="troth gate old/ new/ --metric jga --margin 0.5, or troth gate run/ --metric jga --at-least 60",
        )
    first = runs[0] if isinstance(runs[0], Result) else stored.open(runs[0])
    declared = first.metric(metric)
    by, over = 100 if declared.scale in PERCENT else 1, clusters(runs[0])
    if margin is not None:
        verdict = _test_margin(runs, metric, margin, by, confidence=confidence, over=over, json=json)
    else:
        # Notes of a saved run: responses without a score, for example, are not part of the verdict.
        for line in first.notes if first is not runs[0] else ():
            show.note(str(line))
        verdict = _test_level(runs[0], metric, at_least or 0.0, by, confidence=confidence, over=over, json=json)
    if verdict in ("worse", "missed") or (strict and verdict == "undecided"):
        click.get_current_context().exit(1)


def _test_margin(
    runs: Sequence[Run], metric: str, margin: float, by: int, *, confidence: float, over: str, json: bool
) -> str:
    """Compares NEW with BASE; `by`: factor from the metric's value to the printed unit."""
    from troth.report import compare as comparison

    if by == 100 and margin / by >= comparison.WIDEST:
        what = f"--margin {margin:g} would let almost anything pass"
        raise UserError(what, hint="it is in points: 0.5 is half a point")
    outcome = comparison.gate(*runs, metric=metric, margin=margin / by, confidence=confidence)
    if json:
        show.json(outcome)
        return outcome.verdict
    difference, scale = tables.format_difference(outcome.difference, outcome.scale), outcome.scale
    change = f"{metric} {difference} ({tables.bounds(outcome.low, outcome.high, scale)})"
    show.text(f"{outcome.verdict}: {change} over {outcome.dialogues} {over}, margin {margin:g}")
    if outcome.verdict == "undecided":
        needed = f"about {outcome.needed} {over} would decide" if outcome.needed else outcome.reason
        show.text(f"too few {over} to tell: {needed}")
    return outcome.verdict


def _test_level(run: Run, metric: str, at_least: float, by: int, *, confidence: float, over: str, json: bool) -> str:
    from troth.report import compare as comparison

    if by == 100 and not 1 < at_least <= 100:
        what = f"--at-least {at_least:g} would be {at_least:g} percent of {metric}"
        raise UserError(what, hint="it is in percent, above 1 and at most 100: 95, not 0.95")
    outcome = comparison.level_gate(run, metric=metric, at_least=at_least / by, confidence=confidence)
    if json:
        show.json(outcome)
        return outcome.verdict
    value = f"{metric} {tables.number(outcome.value, outcome.scale)}"
    if outcome.low is not None and outcome.high is not None:
        low, high = (tables.number(bound, outcome.scale) for bound in (outcome.low, outcome.high))
        value += f" ({low} … {high})"
    show.text(f"{outcome.verdict}: {value} over {outcome.dialogues} {over}, at least {at_least:g}")
    if outcome.verdict == "undecided":
        show.text(f"too few {over} to tell" + (f": {outcome.reason}" if outcome.reason else ""))
    return outcome.verdict
