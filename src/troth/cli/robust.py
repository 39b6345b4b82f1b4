"""`troth robust checkdst|sgdx|runs|checkpoints`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.groups import ALL
from troth.core.metric import PERCENT
from troth.core.names import parse_names, split_name_path

if TYPE_CHECKING:
    from troth.core.result import Result


def _arguments(name: str, metavar: str, type: Any = options.FILE) -> Callable[[options.F], options.F]:
    return click.argument(name, nargs=-1, required=True, metavar=metavar, type=type)


@click.group(no_args_is_help=True)
def robust() -> None:
    """Measure a tracker's robustness to rewording.

    The user's words and the names of the schema can be reworded.
    """


@robust.command(**options.settings("troth.robustness.checkdst:CheckdstSettings"))
@click.argument("original", metavar="ORIG", type=options.FILE)
@_arguments("perturbed", "NAME=PATH...")
@options.number("--examples", 5, "Number of units to show for each system that are right in one set only.")
@options.JSON
def checkdst(original: str, perturbed: tuple[str, ...], examples: int, json: bool, **settings: Any) -> None:
    """Score trackers on perturbed dialogues (CheckDST).

    Measures consistency, hallucination and coreference. ORIG and each PATH are one file with gold and predictions, or
    GOLD,PRED. For several systems, give each set as SYSTEM:NAME=PATH, and the original sets as SYSTEM:orig=PATH.
    """
    from troth.robustness.checkdst import checkdst as run

    out = settings["out"]
    name, _ = split_name_path(original)
    labelled = ":" in name or name == "orig"
    sets = (None, (original, *perturbed)) if labelled else (original, perturbed)
    result = run(*sets, explorer=out is not None, **settings)
    show.result(result, json_form=json, out=out, layout=() if json else _checkdst_tables(result))
    for system, flip in () if json else _first_findings(result, examples):
        what = f"{system}{flip.perturbation}: right {flip.right} only"
        show.text(f"{what}: {_describe_unit(flip)}: {' '.join(flip.changed)}")
        for slot in flip.slots:
            show.text(f"  {slot}")
    show.note(result.scores[0].signature)


def _checkdst_tables(result: Result) -> list[tables.Table]:
    """The paper's table 2, with a row for each system, and the metrics of each set, with a row for each set and
    system."""
    from troth.robustness.metrics import CJGA, JGA, NOHF, on_set, pair_metrics, table_2

    scores = {(score.system, score.metric): score for score in result.scores}
    best = result.unbeaten() if sys.stdout.isatty() else frozenset()
    several = len(result.systems) > 1

    def lay_out(labels: tuple[str, ...], columns: Sequence[str], rows: Sequence[_ScoreRow]) -> tables.Table:
        cells = [(*row.labels, *(tables.figure(scores.get((row.system, m))) for m in row.metrics)) for row in rows]
        bold = {
            (r, c) for r, row in enumerate(rows) for c, m in enumerate(row.metrics, len(labels))
            if (row.system, m, ALL) in best
        }  # fmt: skip
        return tables.Table((*labels, *columns), tuple(cells), len(labels), frozenset(bold))

    main = [metric.name for metric in table_2(result.metrics)]
    sets = ["", *(metric.variant for metric in result.metrics if metric.of == CJGA.name)]
    columns = (JGA, *pair_metrics(), NOHF)
    by_set = [
        _ScoreRow(
            (name or "original", *((system,) if several else ())), system, [on_set(m, name).name for m in columns]
        )
        for name in sets
        for system in result.systems
    ]
    return [
        lay_out(("system",), main, [_ScoreRow((system,), system, main) for system in result.systems]),
        lay_out(("set", "system") if several else ("set",), [metric.name for metric in columns], by_set),
    ]


class _ScoreRow(NamedTuple):
    """A row of a table: its labels, and the system and metrics whose scores it shows."""

    labels: tuple[str, ...]
    system: str
    metrics: Sequence[str]


def _first_findings(result: Result, number: int) -> Iterator[tuple[str, Any]]:
    """The first findings about each system, with its name before them where there are several."""
    for system in result.systems:
        mine = [finding for finding in result.findings if finding.system == system]
        yield from ((f"{system}: " if len(result.systems) > 1 else "", finding) for finding in mine[:number])


def _table(label: str, rows: Mapping[str, Mapping[str, str]], columns: Sequence[str], **marks: Any) -> tables.Table:
    cells = tuple((name, *(row.get(column, "–") for column in columns)) for name, row in rows.items())
    return tables.Table((label, *columns), cells, **marks)


def _parse_family(text: str) -> tuple[str, list[str]]:
    name, _, systems = text.partition("=")
    if not name or not parse_names(systems):
        raise UserError(f"--family '{text}' is not of the form NAME=SYSTEM,SYSTEM", hint="for example CLS=trippy,span")
    return name, parse_names(systems)


def _describe_unit(unit: Any) -> str:
    return f"{unit.dialogue}, turn {unit.turn}" + (f", {unit.service}" if unit.service else "")


@robust.command(**options.settings("troth.robustness.sgdx:SgdxSettings"))
@options.GOLD
@_arguments("variants", "v1=PRED v2=PRED... [orig=PRED]")
@options.number("--examples", 5, "Number of units to show for each system whose score varies.")
@options.option("--chart", "FILE", "Draw sensitivity against accuracy by service (.svg, .png, .html).")
@options.option("--chart-variants", "FILE", "Draw the metric under each variant (.svg, .png, .html).")
@options.JSON
def sgdx(
    gold: str,
    variants: tuple[str, ...],
    examples: int,
    chart: str | None,
    chart_variants: str | None,
    json: bool,
    **settings: Any,
) -> None:
    """Score trackers under reworded schemas (SGD-X).

    Shows the mean score over the variants, and how much the score of a unit varies with the wording. For several
    systems, give the predictions as SYSTEM:v1=PRED SYSTEM:v2=PRED…
    """
    from troth.report import charts
    from troth.robustness.sgdx import sgdx as run

    for path in filter(None, (chart, chart_variants)):
        charts.check_path(path)
    out = settings["out"]
    result = run(gold, variants, explorer=out is not None, **settings)
    base = result.metrics[0].of
    names = {metric.variant: metric.name for metric in result.metrics if metric.of == base}
    average = next(name for variant, name in names.items() if variant != "orig")
    several = len(result.systems) > 1
    if chart is not None:
        rows = list(_service_points(result, average, names["ss"], settings["train_schema"]))
        title = "Sensitivity against accuracy, by service"
        colour = "system" if several else "services"
        charts.scatter(rows, x=average, y=names["ss"], label="service", colour=colour, path=chart, title=title)
        show.note(f"written: {chart}")
    single = {metric.name for metric in result.metrics if metric.name == f"{metric.of}:{metric.variant}"}
    if chart_variants is not None:
        labels = {name: variant for variant, name in names.items() if name in single or variant == "orig"}
        rows = [
            {"variant": labels[score.metric], base: score.value, "group": score.system if several else score.group}
            for score in result.scores
            if score.metric in labels and (score.group == ALL if several else not score.group.name)
        ]
        title = f"{base} under each wording of the schema"
        charts.lines(rows, x="variant", y=base, colour="group", path=chart_variants, title=title)
        show.note(f"written: {chart_variants}")
    shown = [score for score in result.scores if not score.group.name or score.metric not in single]
    best = result.unbeaten() if sys.stdout.isatty() else frozenset()
    show.result(result, json_form=json, out=out, layout=tables.score_tables(shown, headline=(), best=best))
    for system, unit in () if json else _first_findings(result, examples):
        figures = ", ".join(f"{label} {tables.percent(value, 0)}" for label, value in unit.values.items())
        show.text(f"{system}varies: {_describe_unit(unit)}: {figures}")
    show.note(result[names["ss"]].signature)


def _service_points(
    result: Result, accuracy: str, sensitivity: str, train_schema: str | None
) -> Iterator[dict[str, Any]]:
    from troth import readers

    seen = None if train_schema is None else readers.schema(train_schema)
    value = {(score.system, score.metric, score.group): score.value for score in result.scores}
    for system, metric, group in value:
        if metric == sensitivity and group.kind == "service":
            kind = "all" if seen is None else "seen" if group.name in seen else "unseen"
            figures = {name: value[system, name, group] for name in (accuracy, sensitivity)}
            yield {"system": system, "service": group.name, "services": kind, **figures}


@robust.command(no_args_is_help=True)
@_arguments("paths", "RUN...", options.FOLDER)
@options.option("--to", "FORM", "Table format: plain, markdown, latex or csv.", type=options.FORMS, default="plain")
@click.option(
    "--error", type=click.Choice(["interval", "se"]), default="interval", show_default=True,
    help="Number after ±: half of the median's 95% interval, or the standard error of the runs, as in the paper.",
)  # fmt: skip
@click.option(
    "--family", "families", multiple=True, metavar="NAME=SYSTEMS",
    help="Add the median over some systems, comma-separated; may be given several times.",
)  # fmt: skip
@options.JSON
def runs(paths: tuple[str, ...], to: str, error: str, families: tuple[str, ...], json: bool) -> None:
    """Summarise repeated runs of systems.

    Shows the median and its error for each system, and the average slack between systems.
    """
    from troth.robustness.checkpoints import medians

    summary = medians(paths, error=error, families=dict(_parse_family(family) for family in families))
    if json:
        show.json(summary.medians)
        return
    rows: dict[str, dict[str, str]] = {}
    columns = [column.name for column in summary.columns]
    shares = {column.name for column in summary.columns if column.scale in PERCENT}
    for cell in summary.medians:
        known = [value for value in (cell.median, cell.error) if value is not None]
        figures = [tables.percent(value, 1) if cell.metric in shares else f"{value:.3f}" for value in known]
        rows.setdefault(cell.system, {})[cell.metric] = " ± ".join(figures)
    head = f"median ± {summary.error}" if any(cell.error is not None for cell in summary.medians) else "median"
    best, worst = (
        frozenset((list(rows).index(cell.system), 1 + columns.index(cell.metric)) for cell in cells)
        for cells in (summary.best, summary.worst)
    )
    table = _table(f"system ({head})", rows, columns, best=best, worst=worst)
    if to == "plain":
        show.table(table)
    else:
        show.text(table.write(to))


@robust.command(no_args_is_help=True)
@_arguments("paths", "RUN...", options.FOLDER)
@click.option("--pick", is_flag=True, help="Print only the checkpoint to keep: the one with the least average slack.")
@options.option("--chart", "FILE", "Draw the metrics over the checkpoints (.svg, .png, .html).")
@options.JSON
def checkpoints(paths: tuple[str, ...], pick: bool, chart: str | None, json: bool) -> None:
    """Compare the checkpoints of one system.

    Names the best checkpoint by JGA, and the one with the least average slack. RUN... are runs of `troth robust
    checkdst --out`, in the order of training.
    """
    from troth.report import charts
    from troth.robustness.checkpoints import pick as choose

    if chart is not None:
        charts.check_path(chart)
    picked = choose(paths)
    if chart is not None:
        by_step = len({point.step for point in picked.checkpoints} - {None}) == len(picked.checkpoints)
        rows = [
            {"checkpoint": point.step if by_step else point.name, "metric": name, "value": point.values[name]}
            for point in picked.checkpoints
            for name in picked.columns
        ]
        charts.lines(rows, x="checkpoint", y="value", colour="metric", path=chart, title="CheckDST over training")
        show.note(f"written: {chart}")
    if json:
        show.json(picked)
    elif pick:
        show.text(picked.least_slack)
        slack = next(point.slack for point in picked.checkpoints if point.name == picked.least_slack)
        show.note(f"average slack: {tables.percent(slack)}; best JGA: {picked.best_jga}")
    else:
        values = {point.name: {**point.values, "slack": point.slack} for point in picked.checkpoints}
        figures = {name: {m: tables.percent(value) for m, value in row.items()} for name, row in values.items()}
        show.table(_table("checkpoint", figures, [*picked.columns, "slack"]))
        show.text(f"least average slack: {picked.least_slack}; best JGA: {picked.best_jga}")
        gains = ", ".join(f"{metric} {100 * gain:+.1f}" for metric, gain in picked.gains.items())
        show.text(f"best JGA minus the first checkpoint: {gains}")
