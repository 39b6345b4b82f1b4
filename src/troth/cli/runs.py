"""`troth compare` and `troth table`."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError, suggest_name
from troth.core.groups import WHOLE
from troth.core.names import parse_names, split_name_path, unique_names
from troth.core.result import Result
from troth.core.version import __version__
from troth.storage import runs
from troth.storage import runs as stored

if TYPE_CHECKING:
    from troth.core.metric import Better
    from troth.core.score import Score
    from troth.report.compare import Difference
    from troth.report.sources import Run
    from troth.stats import contests

RUNS = click.argument("paths", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
SYSTEMS = options.option("--systems", "NAMES", "Only these systems, comma-separated.")
SORT = options.option(
    "--sort",
    "METRIC",
    "Sort systems by this metric, best first; none: keep their order.  [default: none; in LaTeX the first metric]",
)
NAMES = click.option(
    "--names", metavar="NAME=TEXT", multiple=True, help="Print a system or metric as TEXT; may be given several times."
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
    "--metrics",
    "NAMES",
    "Metrics to compare, comma-separated. Default: the first that all have.",
    type=options.ALL_METRICS,
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
    gold: str | None,
    profile: str | None,
    to: str,
    sort: str | None,
    names: tuple[str, ...],
    json: bool,
    **settings: Any,
) -> None:
    """Test whether systems differ beyond noise.

    The tests are the paired bootstrap and approximate randomisation, with Holm's correction. BASE and OTHER are run
    folders, or predictions with --gold. Every system is compared with the first. As LaTeX, the systems are rows, and a
    dagger marks those that differ from the base.
    """
    from troth.report import compare as comparison

    _check_forms(to, json)
    if settings["base"] is not None and settings["pairs"]:
        raise UserError("--base and --pairs exclude each other", hint="give one of them")
    opened = open_runs(systems, parse_names(settings["metrics"]), gold, profile, common=settings["common"])
    differences = comparison.compare(*opened, **settings)
    if json:
        show.json(differences)
        return
    over = clusters(opened[0])
    how = f"{differences[0].dialogues} {over}, {settings['resamples']} resamples"
    if to == "latex" and not settings["pairs"]:
        layout = _by_system(differences, sort, how)
    else:
        layout = tables.Table(COLUMNS, tuple(map(_difference_row, differences)), labels=3)
    _write([_rename(layout, names)], to)
    show.note(how)
    for line in dict.fromkeys(f"{d.system}, {d.metric}: {d.note}" for d in differences if d.note):
        show.note(line.replace("dialogue", over.removesuffix("s")))


def _difference_row(d: Difference) -> tuple[str, ...]:
    return (
        d.system, d.base, d.metric, tables.number(d.value, d.scale), tables.number(d.base_value, d.scale),
        tables.format_difference(d.difference, d.scale), tables.bounds(d.low, d.high, d.scale),
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
    systems = _sort_systems(
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
    type=options.Names(*options.FORMS.sources, "json"),
)  # fmt: skip
@options.option("--metrics", "NAMES", "Only these metrics, comma-separated.", type=options.ALL_METRICS)
@options.option("--groups", "NAMES", "Only these groups, comma-separated: all, seen, service:…")
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
    """Print runs as one table, for example for a paper.

    Bold: the best score, and scores that are not significantly different from it by a paired test. As LaTeX, the
    systems are rows.
    """
    _check_forms(to, json)
    loaded = [(path, runs.load(path)) for path in paths]
    headline = [metric.name for _, run in loaded for metric in run.metrics if metric.headline]
    scored = [(path, score) for path, run in loaded for score in run.scores]
    unique = unique_names([(path, score.system) for path, score in scored])
    everything = [msgspec.structs.replace(score, system=name) for name, (_, score) in zip(unique, scored, strict=True)]
    scores = _select_scores(everything, (metrics, groups, systems), sort or (None if to == "latex" else "none"))
    recipes = {(score.metric, score.group, score.identity) for score in scores}
    if len(recipes) > len({(metric, group) for metric, group, _ in recipes}):
        what = "their numbers are not comparable, and none is marked best"
        show.note(f"these runs are scored by different recipes: {what}")
    if json or to == "json":
        show.json(scores)
        return
    if to == "csv":
        show.text(tables.scores_csv(scores))
        return
    labels = {(path, score.system): name for (path, score), name in zip(scored, unique, strict=True)}
    best = _best_scores(scores, labels) if to != "plain" or sys.stdout.isatty() else frozenset()
    whole = [score for score in scores if to == "latex" and score.group in WHOLE]
    layout = [tables.system_table(whole, intervals=intervals, best=best)] if whole else []
    rest = [score for score in scores if score not in whole]
    layout += tables.score_tables(rest, intervals=intervals, headline=headline, best=best)
    _write([_rename(table, names) for table in layout], to)


def _check_forms(to: str, json: bool) -> None:
    if json and to not in ("plain", "json"):
        raise UserError(f"--json and --to {to} exclude each other", hint="give one of them")


def _write(layout: Sequence[tables.Table], to: str) -> None:
    if to == "plain":
        show.tables(layout)
    else:
        show.text("\n\n".join(table.write(to) for table in layout))


def _rename(table: tables.Table, names: Sequence[str]) -> tables.Table:
    """The same table with the texts of `--names` for systems and metrics."""
    for item in names:
        if "=" not in item:
            raise UserError(f"--names {item} has no text", hint='for example --names sturdy="Ours"')
    texts = {name: text for name, _, text in (item.partition("=") for item in names)}
    known = {*table.columns, *(cell for row in table.rows for cell in row[: table.labels])}
    for name in texts:
        if name not in known:
            raise UserError(
                f"--names: there is no '{name}'", hint=suggest_name(name, known) or "name a system or a metric"
            )
    rows = tuple((*(texts.get(cell, cell) for cell in row[: table.labels]), *row[table.labels :]) for row in table.rows)
    return replace(table, columns=tuple(texts.get(column, column) for column in table.columns), rows=rows)


def _select_scores(
    scores: Sequence[Score], only: tuple[str | None, str | None, str | None], sort: str | None
) -> list[Score]:
    """The scores of some metrics, groups and systems (`only`), with the systems sorted by a metric."""
    metrics, groups, systems = map(parse_names, only)
    selected = [
        score
        for score in scores
        if (not metrics or score.metric in metrics)
        and (not groups or score.group in groups)
        and (not systems or score.system in systems)
    ]
    if not selected:
        raise UserError("no score is left to show", hint="check --metrics, --groups and --systems against the run")
    group = selected[0].group
    values = {(s.system, s.metric): (s.value, s.better) for s in selected if s.group == group and s.value is not None}
    order = _sort_systems(list(dict.fromkeys(score.system for score in selected)), sort, values)
    return sorted(selected, key=lambda score: order.index(score.system))


def _sort_systems(
    systems: Sequence[str], sort: str | None, values: Mapping[tuple[str, str], tuple[float, Better]]
) -> list[str]:
    """Systems by a metric, best first; those without a value last. Without `sort`, by the first metric."""
    if sort == "none" or not values:
        return list(systems)
    metrics = list(dict.fromkeys(metric for _, metric in values))
    by = sort or metrics[0]
    if by not in metrics:
        raise UserError(
            f"--sort: there is no metric '{by}'", hint=suggest_name(by, metrics) or "one of: " + ", ".join(metrics)
        )

    def rank(system: str) -> float:
        value, better = values.get((system, by), (math.inf, "lower"))
        return value if better == "lower" else -value

    return sorted(systems, key=rank)


def _best_scores(scores: Sequence[Score], labels: Mapping[tuple[str, str], str]) -> frozenset[contests.Marked]:
    """The scores in bold; where runs have no rows beside them, the best values only."""
    from troth.core.sums import DialogueSums
    from troth.report.sources import open_run
    from troth.stats import contests

    sums = [
        (open_run(path, 1).sums, {system: name for (folder, system), name in labels.items() if folder == path})
        for path in dict.fromkeys(path for path, _ in labels)
        if (Path(path) / "rows.parquet").is_file()
    ]
    return contests.unbeaten(scores, contests.pairwise(scores, DialogueSums.merged(sums)))


def clusters(run: Run) -> str:
    """The clusters of a run's intervals: dialogues, documents or tasks."""
    return (run if isinstance(run, Result) else stored.open(run)).clusters


def open_runs(
    paths: Sequence[str], metrics: Sequence[str], gold: str | None, profile: str | None, *, common: bool = False
) -> list[Run]:
    """Run folders unchanged, and predictions scored against gold, in the same order."""
    if not (predictions := [path for path in paths if not runs.is_run(path)]):
        return list(paths)
    if gold is None:
        raise _not_a_run(predictions[0])
    from troth.tracking.metrics import METRICS
    from troth.tracking.score import dst

    names = metrics or list(METRICS)[:1]
    result = dst(gold, *predictions, profile=profile, metrics=names, resamples=1, explorer=False, common=common)
    scored = iter(result.systems)
    return [result.only(next(scored)) if path in predictions else path for path in paths]


def _not_a_run(path: str) -> UserError:
    from troth.readers import source

    if not os.path.exists(path) and not os.path.exists(split_name_path(path)[1]):
        return source.missing_error(path)
    return UserError("is not a run of troth", file=path, hint="score predictions against --gold GOLD")
