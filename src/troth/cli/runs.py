"""`troth compare` and `troth table`: what is done with results."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError, near
from troth.core.groups import WHOLE
from troth.core.names import distinct, listed, named
from troth.core.version import __version__
from troth.storage import result as results
from troth.storage import runs

if TYPE_CHECKING:
    from troth.core.metric import Better
    from troth.core.score import Score
    from troth.report.compare import Difference
    from troth.report.sources import Run
    from troth.stats import contests

RUNS = click.argument("paths", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
SYSTEMS = options.option("--systems", "NAMES", "Only these systems, with commas.")
SORT = options.option(
    "--sort", "METRIC", "Sort systems by this metric, best first; none: as given.  [default: none; in LaTeX the first]"
)
NAMES = click.option(
    "--names", metavar="NAME=TEXT", multiple=True, help="Print a system or metric as TEXT; may be repeated."
)
FORM = options.option(
    "--to", "FORM", "Form of the table: plain, markdown, latex or csv.", default="plain", type=options.FORMS
)
COLUMNS = (
    "system", "against", "metric", "value", "base", "difference", "95% interval", "p (boot)", "p (rand)", "p (Holm)",
)  # fmt: skip
LEVEL = 0.05
DIFFERS = "†"


@click.command(no_args_is_help=True)
@click.argument("systems", nargs=-1, required=True, metavar="BASE OTHER...", type=options.FILE)
@options.option(
    "--metrics", "NAMES", "Metrics to compare, with commas. Default: the first that all have.", type=options.ALL_METRICS
)
@options.option("--base", "NAME", "System to compare the others with. Default: the first.")
@click.option("--pairs", is_flag=True, help="Compare every pair of systems.")
@click.option("--common", is_flag=True, help="Compare only the dialogues that all systems have.")
@options.GOLD_OPTION
@options.PROFILE
@options.resamples(10_000, 100)
@options.SEED
@FORM
@SORT
@NAMES
@options.JSON
def compare(
    systems: tuple[str, ...],
    metrics: str | None,
    base: str | None,
    pairs: bool,
    common: bool,
    gold: str | None,
    profile: str | None,
    resamples: int,
    seed: int,
    to: str,
    sort: str | None,
    names: tuple[str, ...],
    json: bool,
) -> None:
    """Test whether systems differ beyond noise: paired bootstrap, approximate randomisation, Holm's correction.

    BASE and OTHER are run folders, or predictions with --gold. Every system is compared with the first. As LaTeX, the
    systems are rows, and a dagger marks those that differ from the base.
    """
    from troth.report import compare as comparison

    _check_forms(to, json)
    if base is not None and pairs:
        raise UserError("--base and --pairs exclude each other", hint="give one of them")
    opened = opened_runs(systems, listed(metrics), gold, profile, common=common)
    differences = comparison.compare(
        *opened, metrics=metrics, base=base, pairs=pairs, common=common, resamples=resamples, seed=seed
    )
    if json:
        show.json(differences)
        return
    over = clusters(opened[0])
    how = f"{differences[0].dialogues} {over}, {resamples} resamples"
    if to == "latex" and not pairs:
        laid_out = _by_system(differences, sort, how)
    else:
        laid_out = tables.Table(COLUMNS, tuple(map(_difference_row, differences)), labels=3)
    _write([_printed(laid_out, names)], to)
    show.note(how)
    for line in dict.fromkeys(f"{d.system}, {d.metric}: {d.note}" for d in differences if d.note):
        show.note(line.replace("dialogue", over.removesuffix("s")))


def _difference_row(d: Difference) -> tuple[str, ...]:
    return (
        d.system, d.base, d.metric, tables.number(d.value, d.scale), tables.number(d.base_value, d.scale),
        tables.signed(d.difference, d.scale), tables.bounds(d.low, d.high, d.scale),
        *(tables.number(p, "p") for p in (d.p_bootstrap, d.p_randomization, d.p_holm)),
    )  # fmt: skip


def _by_system(differences: Sequence[Difference], sort: str | None, how: str) -> tables.Table:
    """A row per system and a column per metric; a dagger where a system differs from the base."""
    metrics = list(dict.fromkeys(d.metric for d in differences))
    base = differences[0].base
    values = {(d.system, d.metric): d.value for d in differences} | {
        (base, d.metric): d.base_value for d in differences
    }
    marks = {(d.system, d.metric): DIFFERS for d in differences if d.p_holm < LEVEL}
    kinds = {d.metric: d for d in differences}
    systems = _sorted(
        [base, *dict.fromkeys(d.system for d in differences)],
        sort,
        {(name, metric): (value, kinds[metric].better) for (name, metric), value in values.items()},
    )
    rows = tuple(
        (name, *(tables.number(values[name, m], kinds[m].scale) + marks.get((name, m), "") for m in metrics))
        for name in systems
    )
    test = f"{DIFFERS} differs from {base}: p < {LEVEL}, paired randomisation, Holm over {len(differences)} tests"
    comments = (*(f"{kinds[m].signature}|v:{__version__}" for m in metrics), f"{test}; {how}")
    return tables.Table(("system", *metrics), rows, comments=comments)


@click.command(no_args_is_help=True)
@RUNS
@options.option(
    "--to", "FORM", "Form of the table: plain, markdown, latex, csv or json.", default="plain",
    type=options.Names(also=(*options.FORMS.also, "json")),
)  # fmt: skip
@options.option("--metrics", "NAMES", "Only these metrics, with commas.", type=options.ALL_METRICS)
@options.option("--groups", "NAMES", "Only these groups, with commas: all, seen, service:…")
@SYSTEMS
@SORT
@NAMES
@click.option("--intervals/--no-intervals", default=True, help="Show the 95% interval after each number.")
@options.JSON
def table(
    paths: tuple[str, ...],
    to: str,
    metrics: str | None,
    groups: str | None,
    systems: str | None,
    sort: str | None,
    names: tuple[str, ...],
    intervals: bool,
    json: bool,
) -> None:
    """Print runs as one table for a paper: in bold the best, and what a paired test does not tell from it.

    As LaTeX, the systems are rows.
    """
    _check_forms(to, json)
    loaded = [(path, runs.load(path)) for path in paths]
    headline = [metric.name for _, run in loaded for metric in run.metrics if metric.headline]
    scored = [(path, score) for path, run in loaded for score in run.scores]
    unique = distinct([(path, score.system) for path, score in scored])
    everything = [msgspec.structs.replace(score, system=name) for name, (_, score) in zip(unique, scored, strict=True)]
    scores = _arranged(everything, (metrics, groups, systems), sort or (None if to == "latex" else "none"))
    recipes = {(score.metric, score.group, score.recipe) for score in scores}
    if len(recipes) > len({(metric, group) for metric, group, _ in recipes}):
        show.note("these runs are scored by different recipes: their numbers do not compare, and none is marked best")
    if json or to == "json":
        show.json(scores)
        return
    if to == "csv":
        show.text(tables.tidy(scores))
        return
    called = {(path, score.system): name for (path, score), name in zip(scored, unique, strict=True)}
    best = _unbeaten(scores, called) if to != "plain" or sys.stdout.isatty() else frozenset()
    whole = [score for score in scores if to == "latex" and score.group in WHOLE]
    made = [tables.by_system(whole, intervals=intervals, best=best)] if whole else []
    rest = [score for score in scores if score not in whole]
    made += tables.of_scores(rest, intervals=intervals, headline=headline, best=best)
    _write([_printed(one, names) for one in made], to)


def _check_forms(to: str, json: bool) -> None:
    if json and to not in ("plain", "json"):
        raise UserError(f"--json and --to {to} exclude each other", hint="give one of them")


def _write(made: Sequence[tables.Table], to: str) -> None:
    if to == "plain":
        show.tables(made)
    else:
        show.text("\n\n".join(one.write(to) for one in made))


def _printed(made: tables.Table, names: Sequence[str]) -> tables.Table:
    """The same table with systems and metrics as `--names` has them."""
    called = dict(_name(item) for item in names)
    known = {*made.columns, *(cell for row in made.rows for cell in row[: made.labels])}
    for name in called:
        if name not in known:
            raise UserError(f"--names: there is no '{name}'", hint=near(name, known) or "name a system or a metric")
    rows = tuple((*(called.get(cell, cell) for cell in row[: made.labels]), *row[made.labels :]) for row in made.rows)
    return replace(made, columns=tuple(called.get(column, column) for column in made.columns), rows=rows)


def _name(item: str) -> tuple[str, str]:
    name, equals, text = item.partition("=")
    if not equals:
        raise UserError(f"--names {item} gives no text", hint='for example --names sturdy="Ours"')
    return name, text


def _arranged(
    scores: Sequence[Score], only: tuple[str | None, str | None, str | None], sort: str | None
) -> list[Score]:
    """The scores that are asked for (`only`: metrics, groups, systems), systems in order of a metric."""
    metrics, groups, systems = map(listed, only)
    chosen = [
        score
        for score in scores
        if (not metrics or score.metric in metrics)
        and (not groups or score.group in groups)
        and (not systems or score.system in systems)
    ]
    if not chosen:
        raise UserError("nothing is left to show", hint="check --metrics, --groups and --systems against the run")
    group = chosen[0].group
    values = {(s.system, s.metric): (s.value, s.better) for s in chosen if s.group == group and s.value is not None}
    order = _sorted(list(dict.fromkeys(score.system for score in chosen)), sort, values)
    return sorted(chosen, key=lambda score: order.index(score.system))


def _sorted(
    systems: Sequence[str], sort: str | None, values: Mapping[tuple[str, str], tuple[float, Better]]
) -> list[str]:
    """Systems by a metric, best first; those without a value last. Without `sort`, by the first metric."""
    if sort == "none" or not values:
        return list(systems)
    metrics = list(dict.fromkeys(metric for _, metric in values))
    by = sort or metrics[0]
    if by not in metrics:
        raise UserError(f"--sort: there is no metric '{by}'", hint=near(by, metrics) or "one of: " + ", ".join(metrics))

    def rank(system: str) -> float:
        value, better = values.get((system, by), (math.inf, "lower"))
        return value if better == "lower" else -value

    return sorted(systems, key=rank)


def _unbeaten(scores: Sequence[Score], called: Mapping[tuple[str, str], str]) -> frozenset[contests.Marked]:
    """What is in bold; where runs have no rows beside them, the best values alone."""
    from troth.core.sums import DialogueSums
    from troth.report.sources import open_run
    from troth.stats import contests

    paths = dict.fromkeys(path for path, _ in called)
    sums = [
        (open_run(path, 1).sums, {system: name for (where, system), name in called.items() if where == path})
        for path in paths
        if (Path(path) / "rows.parquet").is_file()
    ]
    return contests.unbeaten(scores, contests.pairwise(scores, DialogueSums.merged(sums)))


def clusters(run: Run) -> str:
    """What a run's intervals are over: dialogues, documents or tasks."""
    return (run if isinstance(run, results.Result) else results.open(run)).clusters


def opened_runs(
    paths: Sequence[str], metrics: Sequence[str], gold: str | None, profile: str | None, *, common: bool = False
) -> list[Run]:
    """Run folders as they are, and predictions scored against gold, in the order given."""
    predictions = [path for path in paths if not runs.is_run(path)]
    if not predictions:
        return list(paths)
    if gold is None:
        raise _not_a_run(predictions[0])
    from troth.tracking.metrics import METRICS
    from troth.tracking.score import dst

    result = dst(
        gold,
        *predictions,
        profile=profile,
        metrics=metrics or list(METRICS)[:1],
        resamples=1,
        explorer=False,
        common=common,
    )
    scored = iter(result.systems)
    return [result.only(next(scored)) if path in predictions else path for path in paths]


def _not_a_run(path: str) -> UserError:
    from troth.readers import source

    if not os.path.exists(path) and not os.path.exists(named(path)[1]):
        return source.missing_error(path)
    return UserError("is not a run of troth", file=path, hint="score predictions against --gold GOLD")
