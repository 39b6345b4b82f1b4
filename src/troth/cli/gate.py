"""`troth gate`: a test for CI, against a base run or against values that metrics must reach or keep below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
from click.core import ParameterSource

from troth.cli import options, show
from troth.cli.runs import open_runs
from troth.core.errors import UserError
from troth.core.result import Result
from troth.storage import runs as stored

if TYPE_CHECKING:
    from troth.report.gates import GateConfig, GatedRun
    from troth.report.sources import Run


@click.command(no_args_is_help=True)
@click.argument("base", metavar="BASE", type=options.FILE)
@click.argument("new", metavar="[NEW]", type=options.FILE, required=False)
@click.option(
    "--metric",
    metavar="NAME",
    type=options.ALL_METRICS,
    help="Metric to test: jga, pass^1, …  [default: the metrics of troth.toml or pyproject.toml]",
)
@click.option(
    "--margin",
    type=options.Real(min=0),
    help="Loss against BASE that is accepted: in points, or in the metric's own unit if it is not a share.",
)
@click.option(
    "--at-least",
    type=options.Real(),
    help="Value that the metric of a run must reach: in percent, or in the metric's own unit.",
)
@click.option(
    "--at-most",
    type=options.Real(),
    help="Value that a metric where lower is better must not exceed: in percent, or in the metric's own unit.",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Confidence of the verdict, from 0.5 to 1."
)
@click.option("--strict", is_flag=True, help="Also exit with 1 when the gate cannot decide.")
@options.option("--config", "FILE", "TOML file with limits of several metrics.", type=options.FILE)
@options.option("--summary", "FILE", "Write the outcome as Markdown, for a pull request.", type=options.FILE)
@options.option("--history", "FILE", "Record the run in this JSONL file.", type=options.FILE)
@options.option("--label", "TEXT", "Label of the run in the history: a commit, a version.", default="")
@options.number("--examples", 3, "Number of tasks or dialogues to show that broke, and that were mended.")
@options.GOLD_OPTION
@options.PROFILE
@options.JSON
def gate(
    base: str,
    new: str | None,
    metric: str | None,
    margin: float | None,
    at_least: float | None,
    at_most: float | None,
    confidence: float,
    strict: bool,
    config: str | None,
    summary: str | None,
    history: str | None,
    label: str,
    examples: int,
    gold: str | None,
    profile: str | None,
    json: bool,
) -> None:
    """Fail (exit code 1) if a run is worse than a base or a limit.

    NEW fails if it is worse than BASE by more than --margin; a run fails if it misses --at-least or exceeds --at-most.
    BASE and NEW are run folders, or predictions with --gold. Limits of several metrics are written to troth.toml or
    pyproject.toml. A gate fails only with confidence: the whole interval must be beyond the limit. When it cannot
    decide, it passes and says so; with --strict it fails.
    """
    from troth.report.gates import GateConfig, GateRule, apply_gates, read_config

    limits = (margin, at_least, at_most)
    if metric is None:
        if any(limit is not None for limit in limits):
            raise UserError("a limit needs --metric", hint="troth gate old/ new/ --metric jga --margin 0.5")
        settings = read_config(config)
    else:
        if config is not None:
            raise UserError("--metric and --config exclude each other", hint="give one of them")
        if sum(limit is not None for limit in limits) != 1 or (new is None) != (margin is None):
            raise UserError(
                "a gate needs two runs and --margin, or one run and --at-least or --at-most",
                hint="troth gate old/ new/ --metric jga --margin 0.5, or troth gate run/ --metric jga --at-least 60",
            )
        settings = GateConfig((GateRule(metric, margin, at_least, at_most),))
    source = click.get_current_context().get_parameter_source("confidence")
    if metric is not None or source is not ParameterSource.DEFAULT:  # an option counts before the file
        settings = msgspec.structs.replace(settings, confidence=confidence)
    settings = msgspec.structs.replace(settings, strict=settings.strict or strict)
    names = [rule.metric for rule in settings.rules]
    runs = open_runs([path for path in (base, new) if path is not None], names, gold, profile)
    if new is None:
        # Notes of a saved run: responses without a score, for example, are not part of the verdict.
        for line in () if isinstance(runs[0], Result) else stored.open(runs[0]).notes:
            show.note(str(line))
    gated = apply_gates(*runs, config=settings)
    if json:
        show.json(gated.outcomes[0] if metric is not None else {"failed": gated.failed, "outcomes": gated.outcomes})
    else:
        _print(gated, examples)
    _record(gated, runs[-1], settings, summary, history, label)
    if gated.failed:
        click.get_current_context().exit(1)


def _print(gated: GatedRun, examples: int) -> None:
    from troth.report.compare import GateOutcome
    from troth.report.gates import describe_changes, describe_doubt, describe_outcome

    for outcome in gated.outcomes:
        show.text(describe_outcome(outcome, gated.clusters))
        if outcome.verdict == "undecided":
            show.text(describe_doubt(outcome, gated.clusters))
        if isinstance(outcome, GateOutcome):
            for line in describe_changes(outcome, gated.clusters, examples):
                show.note(line)


def _record(
    gated: GatedRun, run: Run, settings: GateConfig, summary: str | None, history: str | None, label: str
) -> None:
    """Writes the summary, and the run to the history."""
    if summary is not None:
        from troth.report.gate_summary import write_summary

        write_summary(gated, summary)
        show.note(f"written: {summary}")
    if (path := history or settings.history) is not None:
        from troth.storage.history import record_run

        record_run(path, run, label=label, verdicts=gated.verdicts)
        show.note(f"recorded in: {path}")
