"""`troth compare` and `troth table`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError, suggest_name
from troth.core.names import parse_names, split_name_path
from troth.core.options import resolve
from troth.core.result import Result
from troth.core.version import __version__
from troth.storage import runs as stored

if TYPE_CHECKING:
    from troth.report.compare import Difference
    from troth.report.sources import Run

RUNS = click.argument("paths", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
SORT = options.option(
    "--sort",
    "METRIC",
    "Sort systems by this metric, best first; none: keep their order.  [default: none; in LaTeX the first metric]",
)
NAMES = click.option(
    "--names",
    metavar="NAME=TEXT",
    multiple=True,
    help="Print a system or metric as TEXT; several with commas, or given several times.",
)
FORM = options.option(
    "--to", "FORM", "Form of the table: plain, markdown, latex or csv.", default="plain", type=options.FORMS
)
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
        show.json(differences.differences)
        return
    over = clusters(opened[0])
    how = f"{differences[0].dialogues} {over}, {settings['resamples']} resamples"
    by_system = to == "latex" and not settings["pairs"]
    layout = _rename(_by_system(differences, sort, how) if by_system else differences.table(), names)
    if by_system:
        layout = replace(layout, columns=tuple(differences.labels.get(column, column) for column in layout.columns))
    show.table(layout) if to == "plain" else show.text(layout.write(to))
    show.note(how)
    for line in dict.fromkeys(f"{d.system}, {d.metric}: {d.note}" for d in differences if d.note):
        show.note(line.replace("dialogue", over.removesuffix("s")))


def _by_system(differences: Sequence[Difference], sort: str | None, how: str) -> tables.Table:
    """A row per system and a column per metric; a dagger where a system differs from the base."""
    from troth.report.tables import sort_systems

    metrics = list(dict.fromkeys(d.metric for d in differences))
    base = differences[0].base
    values = {(d.system, d.metric): d.value for d in differences} | {
        (base, d.metric): d.base_value for d in differences
    }
    marks = {(d.system, d.metric): DIFFERS for d in differences if d.p_holm < LEVEL}
    kinds = {d.metric: d for d in differences}
    ranked = {(name, metric): (value, kinds[metric].better) for (name, metric), value in values.items()}
    try:
        systems = sort_systems([base, *dict.fromkeys(d.system for d in differences)], sort, ranked)
    except UserError as error:
        raise error.rename_option("--sort") from error
    rows = tuple(
        (name, *(tables.number(values[name, m], kinds[m].scale) + marks.get((name, m), "") for m in metrics))
        for name in systems
    )
    test = f"{DIFFERS} differs from {base}: p < {LEVEL}, paired randomisation, Holm over {len(differences)} tests"
    comments = (*(f"{kinds[m].signature}|v:{__version__}" for m in metrics), f"{test}; {how}")
    return tables.Table(("system", *metrics), rows, comments=comments)


@options.command("troth.report.tables:TableSettings")
@RUNS
@options.JSON
def table(paths: tuple[str, ...], json: bool, **settings: Any) -> None:
    """Print runs as one table, for example for a paper.

    Bold: the best score, and scores that are not significantly different from it by a paired test. As LaTeX, the
    systems are rows, and metrics have the names that the page prints.
    """
    from troth.report import tables as run_tables

    _check_forms(settings["to"], json)
    how = resolve(run_tables.TableSettings, settings)
    if json or how.to == "json":
        show.json(run_tables.select_scores(paths, how).scores)
    elif how.to == "plain":
        show.tables(run_tables.lay_out(run_tables.select_scores(paths, how), how, bold=sys.stdout.isatty()))
    else:
        show.text(run_tables.table(*paths, **settings))


def _check_forms(to: str, json: bool) -> None:
    if json and to not in ("plain", "json"):
        raise UserError(f"--json and --to {to} exclude each other", hint="give one of them")


def _rename(table: tables.Table, names: Sequence[str]) -> tables.Table:
    """The same table with the texts of `--names` for systems and metrics."""
    items = [item for several in names for item in options.split_pairs(several)]
    for item in items:
        if "=" not in item:
            raise UserError(f"--names {item} has no text", hint='for example --names sturdy="Ours"')
    texts = {name: text for name, _, text in (item.partition("=") for item in items)}
    known = {*table.columns, *(cell for row in table.rows for cell in row[: table.labels])}
    for name in texts:
        if name not in known:
            raise UserError(
                f"--names: there is no '{name}'", hint=suggest_name(name, known) or "name a system or a metric"
            )
    rows = tuple((*(texts.get(cell, cell) for cell in row[: table.labels]), *row[table.labels :]) for row in table.rows)
    return replace(table, columns=tuple(texts.get(column, column) for column in table.columns), rows=rows)


def clusters(run: Run) -> str:
    """The clusters of a run's intervals: dialogues, documents or tasks."""
    return (run if isinstance(run, Result) else stored.open(run)).clusters


def open_runs(
    paths: Sequence[str], metrics: Sequence[str], gold: str | None, profile: str | None, *, common: bool = False
) -> list[Run]:
    """Run folders unchanged, and predictions scored against gold, in the same order."""
    if not (predictions := [path for path in paths if not stored.is_run(path)]):
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
