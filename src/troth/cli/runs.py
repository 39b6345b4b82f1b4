"""`troth compare`, `troth gate`, `troth table`: what is done with results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.metric import PERCENT
from troth.core.names import distinct, listed, named
from troth.storage import result as results
from troth.storage import runs

if TYPE_CHECKING:
    from troth.report.sources import Run

RUNS = click.argument("paths", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
COLUMNS = (
    "system", "against", "metric", "value", "base", "difference", "95% interval", "p (boot)", "p (rand)", "p (Holm)",
)  # fmt: skip


@click.command(no_args_is_help=True)
@click.argument("systems", nargs=-1, required=True, metavar="BASE OTHER...", type=options.FILE)
@options.option("--metrics", "NAMES", "Metrics to compare, with commas.", type=options.ALL_METRICS, default="jga")
@options.GOLD_OPTION
@options.PROFILE
@options.resamples(10_000, 100)
@options.SEED
@options.JSON
def compare(
    systems: tuple[str, ...],
    metrics: str,
    gold: str | None,
    profile: str | None,
    resamples: int,
    seed: int,
    json: bool,
) -> None:
    """Test whether systems differ beyond noise: paired bootstrap, approximate randomisation, Holm's correction.

    BASE and OTHER are run folders, or predictions with --gold. Every system is compared with the first.
    """
    from troth.report import compare as comparison

    opened = _runs(systems, listed(metrics), gold, profile)
    differences = comparison.compare(*opened, metrics=metrics, resamples=resamples, seed=seed)
    if json:
        show.json(differences)
        return
    rows = tuple(
        (
            d.system, d.base, d.metric, tables.number(d.value, d.scale), tables.number(d.base_value, d.scale),
            tables.signed(d.difference, d.scale), tables.bounds(d.low, d.high, d.scale),
            *(tables.number(p, "p") for p in (d.p_bootstrap, d.p_randomization, d.p_holm)),
        )
        for d in differences
    )  # fmt: skip
    show.table(tables.Table(COLUMNS, rows, labels=3))
    show.note(f"{differences[0].dialogues} dialogues, {resamples} resamples")
    for line in dict.fromkeys(f"{d.system}, {d.metric}: {d.note}" for d in differences if d.note):
        show.note(line)


@click.command(no_args_is_help=True)
@click.argument("base", metavar="BASE", type=options.FILE)
@click.argument("new", metavar="NEW", type=options.FILE)
@click.option(
    "--metric", metavar="NAME", required=True, type=options.ALL_METRICS, help="Metric to test: jga, fga@0.5, …"
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    required=True,
    help="Loss that is accepted: in points, or in the metric's own unit if it is not a share (runs of ground).",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Confidence of the verdict, from 0.5 to 1."
)
@options.GOLD_OPTION
@options.PROFILE
@options.JSON
def gate(
    base: str,
    new: str,
    metric: str,
    margin: float,
    confidence: float,
    gold: str | None,
    profile: str | None,
    json: bool,
) -> None:
    """Exit with 1 if NEW is worse than BASE by more than the margin, with confidence; otherwise with 0.

    BASE and NEW are run folders, or predictions with --gold. The gate also passes when it cannot decide, and then says
    how many dialogues would be enough.
    """
    from troth.report import compare as comparison

    old, other = _runs((base, new), [metric], gold, profile)
    declared = (old if isinstance(old, results.Result) else results.open(old)).metric(metric)
    fraction = margin / 100 if declared.scale in PERCENT else margin
    if declared.scale == "share" and fraction >= comparison.WIDEST:
        what = f"a margin of {margin:g} points would let almost anything pass"
        raise UserError(what, hint="the margin is in points: 0.5 is half a point")
    outcome = comparison.gate(old, other, metric=metric, margin=fraction, confidence=confidence)
    if json:
        show.json(outcome)
    else:
        difference, scale = tables.signed(outcome.difference, outcome.scale), outcome.scale
        change = f"{metric} {difference} ({tables.bounds(outcome.low, outcome.high, scale)})"
        show.text(f"{outcome.verdict}: {change} over {outcome.dialogues} dialogues, margin {margin:g}")
        if outcome.verdict == "undecided":
            needed = f"about {outcome.needed} dialogues would decide" if outcome.needed else outcome.reason
            show.text(f"too few dialogues to tell: {needed}")
    if outcome.verdict == "worse":
        click.get_current_context().exit(1)


@click.command(no_args_is_help=True)
@RUNS
@options.option(
    "--to", "FORM", "Form of the table: plain, markdown, latex, csv or json.", default="plain",
    type=options.Names(also=(*options.FORMS.also, "json")),
)  # fmt: skip
@options.option("--metrics", "NAMES", "Only these metrics, with commas.", type=options.ALL_METRICS)
@options.option("--groups", "NAMES", "Only these groups, with commas: all, seen, service:…")
@click.option("--intervals/--no-intervals", default=True, help="Show the half-width of the interval after each number.")
@options.JSON
def table(
    paths: tuple[str, ...], to: str, metrics: str | None, groups: str | None, intervals: bool, json: bool
) -> None:
    """Print runs as one table for a paper: the best in bold, together with what its interval does not tell from it."""
    if json and to not in ("plain", "json"):
        raise UserError(f"--json and --to {to} exclude each other", hint="give one of them")
    loaded = [(path, runs.load(path)) for path in paths]
    headline = [metric.name for _, run in loaded for metric in run.metrics if metric.headline]
    scored = [(path, score) for path, run in loaded for score in run.scores]
    names = distinct([(path, score.system) for path, score in scored])
    scores = [
        msgspec.structs.replace(score, system=name)
        for name, (_, score) in zip(names, scored, strict=True)
        if (metrics is None or score.metric in listed(metrics)) and (groups is None or score.group in listed(groups))
    ]
    if not scores:
        raise UserError("nothing is left to show", hint="check --metrics and --groups against the run")
    recipes = {(score.metric, score.group, score.recipe) for score in scores}
    if len(recipes) > len({(metric, group) for metric, group, _ in recipes}):
        show.note("these runs are scored by different recipes: their numbers do not compare, and none is marked best")
    if json or to == "json":
        show.json(scores)
    elif to == "csv":
        show.text(tables.tidy(scores))
    elif to == "plain":
        show.tables(tables.of_scores(scores, intervals=intervals, headline=headline))
    else:
        laid_out = tables.of_scores(scores, intervals=intervals, headline=headline)
        show.text("\n\n".join(one.write(to) for one in laid_out))


def _runs(paths: Sequence[str], metrics: Sequence[str], gold: str | None, profile: str | None) -> list[Run]:
    """Run folders as they are, and predictions scored against gold, in the order given."""
    predictions = [path for path in paths if not runs.is_run(path)]
    if not predictions:
        return list(paths)
    if gold is None:
        raise _not_a_run(predictions[0])
    from troth.tracking.score import dst

    result = dst(gold, *predictions, profile=profile, metrics=metrics, resamples=1, explorer=False)
    scored = iter(result.systems)
    return [result.only(next(scored)) if path in predictions else path for path in paths]


def _not_a_run(path: str) -> UserError:
    from troth.readers import source

    if not os.path.exists(path) and not os.path.exists(named(path)[1]):
        return source.missing(path)
    return UserError("is not a run of troth", file=path, hint="score predictions against --gold GOLD")
