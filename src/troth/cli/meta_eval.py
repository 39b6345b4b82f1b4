"""`troth meta eval` and `troth meta fit`: a metric of grounded responses against human labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.cli.bars import steps
from troth.cli.ground import FORMAT, METRICS, MODELS, cell, named, split
from troth.core.errors import UserError
from troth.core.table import Table, tidy

if TYPE_CHECKING:
    from troth.core.score import Score
    from troth.grounding.calibration import Data
    from troth.meta.evaluate import Evaluation

Found = Mapping[tuple[str, str], "Score"]  # by metric and group
Key = Callable[[str], tuple[str, str]]  # a column to a measure and a group


@click.command("eval", no_args_is_help=True)
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@click.option("--dev", multiple=True, metavar="DEV", help="Labelled data for the thresholds; may be given repeatedly.")
@METRICS
@FORMAT
@MODELS
@options.resamples(1000, 1)
@options.SEED
@click.option(
    "--to", metavar="FORM", default="plain", show_default=True, help="plain, markdown, latex, or csv: a line a score."
)
@options.OUT
@options.JSON
def evaluate(
    data: tuple[str, ...],
    dev: tuple[str, ...],
    metrics: str,
    format: str | None,
    models: dict[str, Any],
    resamples: int,
    seed: int,
    to: str,
    out: str | None,
    json: bool,
) -> None:
    """Metrics against human labels: AUROC, correlations, and with --dev precision, recall, F1 and accuracy.

    DATA is labelled data in any format of `troth ground`, all files together. Metrics are compared with the first one.
    """
    from troth.grounding.metrics import Models
    from troth.meta.evaluate import meta_eval
    from troth.storage import runs as store

    if to not in ("plain", "markdown", "latex", "csv"):
        raise UserError(f"no table is written as '{to}'", hint="one of: plain, markdown, latex, csv")
    with steps() as step:
        result = meta_eval(
            *data, dev=dev, metrics=split(metrics), format=format, models=Models(**models),
            resamples=resamples, seed=seed, steps=step,
        )  # fmt: skip
    if out is not None:
        arguments: dict[str, Any] = {"data": list(data), "dev": list(dev), "metrics": metrics, "format": format}
        arguments |= {"models": named(models), "resamples": resamples, "seed": seed}
        counts = {result.system.name: result.system.counts()}
        store.save(
            out, command="meta eval", arguments=arguments, scores=result.scores, rows=result.rows(), counts=counts,
            details=result.differences,
        )  # fmt: skip
        show.note(f"written: {out}/run.json, {out}/rows.parquet")
    if json:
        show.json(result.scores)
    else:
        _print(result, to)
    _note(result)


@click.command(no_args_is_help=True)
@click.argument("dev", nargs=-1, required=True, metavar="DEV...")
@METRICS
@click.option("--out", metavar="FILE", required=True, help="The calibration, for `troth ground --calibration`.")
@FORMAT
@MODELS
@options.JSON
def fit(
    dev: tuple[str, ...],
    metrics: str,
    out: str,
    format: str | None,
    models: dict[str, Any],
    json: bool,
) -> None:
    """From labelled responses, all files together: each metric's bounds, best-F1 threshold and probability."""
    from troth.grounding import calibration
    from troth.grounding.metrics import Models
    from troth.meta.evaluate import fit as run
    from troth.storage import files

    files.check_new(out)
    with steps() as step:
        found = run(*dev, metrics=split(metrics), format=format, models=Models(**models), steps=step)
    calibration.save(found, out)
    if json:
        show.json(found)
    else:
        rows = [
            (one.metric, f"{one.low:.3f}", f"{one.high:.3f}", f"{one.threshold:.3f}", f"{one.f1:.3f}", str(one.n))
            for one in found.metrics
        ]
        show.table(Table(("metric", "min", "max", "threshold", "F1 on it", "n"), tuple(rows)))
    for line in found.notes():
        show.note(line)
    show.note(f"written: {out}, from " + ", ".join(f"{one.file} ({_rows(one)})" for one in found.data))


def _rows(data: Data) -> str:
    every = data.labelled is None or data.labelled == data.rows
    return f"{data.rows} rows" if every else f"{data.rows} rows, {data.labelled} with a label"


# -- tables, laid out as in the paper ----------------------------------------------------------------------------------


def _print(result: Evaluation, to: str) -> None:
    if to == "csv":
        show.text(tidy(result.scores))
        return
    for number, (heading, table) in enumerate(_tables(result)):
        if number:
            show.text("")
        show.text(heading)
        if to == "plain":
            show.table(table)
        else:
            show.text(table.write(to))


def _tables(result: Evaluation) -> Iterator[tuple[str, Table]]:
    found = {(score.metric, score.group): score for score in result.scores}
    names = [one.name for one in result.judged]
    fitted = any((f"threshold:{name}", "dev") in found for name in names)
    sources = list(dict.fromkeys(group.partition(":")[2] for _, group in found if group.startswith("source:")))
    if fitted:
        yield "With the threshold from dev (table 1)", _table(found, names, ("Precision", "Recall", "F1", "Accuracy"))
        if len(sources) > 1:
            yield "F1 by source (table 2)", _table(found, names, sources, _by("f1", "source"))
    yield "Without calibration (table 3)", _table(found, names, ("Spearman", "Pearson", "AUROC"))
    if len(sources) > 1:
        yield "AUROC by source", _table(found, names, sources, _by("auroc", "source"))
    if fitted:
        yield (
            "From dev (table 9)",
            _table(found, names, ("Min", "Max", "Threshold"), lambda name: (name.lower(), "dev")),
        )
    if result.differences:
        yield "Against the first metric", _compared(result)
    slices = list(dict.fromkeys(group.partition(":")[2] for _, group in found if group.startswith("slice:")))
    yield "AUROC by slice", _sliced(found, names, slices)
    yield "Reliability: mean score → share of positives, in bins of equal size", _curves(found, names)


def _by(measure: str, kind: str) -> Key:
    return lambda column: (measure, f"{kind}:{column}")


def _of_all(column: str) -> tuple[str, str]:
    return column.lower(), "all"


def _table(found: Found, names: Sequence[str], columns: Sequence[str], key: Key = _of_all) -> Table:
    """A row a metric, a column a measure or a group."""
    rows = []
    for name in names:
        keys = [key(column) for column in columns]
        rows.append((name, *(cell(found.get((f"{measure}:{name}", group))) for measure, group in keys)))
    return Table(("metric", *columns), tuple(rows))


def _compared(result: Evaluation) -> Table:
    columns = ("metric", "against", "measure", "difference", "95% interval", "p (boot)", "p (rand)", "p (Holm)")
    rows = [
        (
            one.metric, one.base, {"auroc": "AUROC", "f1": "F1"}[one.measure], f"{one.difference:+.3f}",
            _interval(one.low, one.high), f"{one.p_bootstrap:.4f}",
            "–" if one.p_randomization is None else f"{one.p_randomization:.4f}", f"{one.p_holm:.4f}",
        )
        for one in result.differences
    ]  # fmt: skip
    return Table(columns, tuple(rows), labels=3)


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:+.3f} … {high:+.3f}"


def _sliced(found: Found, names: Sequence[str], slices: Sequence[str]) -> Table:
    rows = []
    for part in slices:
        cells = [found.get((f"auroc:{name}", f"slice:{part}")) for name in names]
        n = str(max((one.n for one in cells if one is not None), default=0))
        rows.append((part.replace("_", " "), n, *map(cell, cells)))
    return Table(("slice", "n", *names), tuple(rows))


def _curves(found: Found, names: Sequence[str]) -> Table:
    numbers = sorted({int(group[4:]) for _, group in found if group.startswith("bin:")})
    rows = []
    for number in numbers:
        cells = []
        for name in names:
            mean, positive = (found.get((f"{side}:{name}", f"bin:{number}")) for side in ("mean", "positive"))
            cells.append("–" if mean is None or positive is None else f"{mean.value:.3f} → {cell(positive)}")
        rows.append((str(number), *cells))
    return Table(("bin", *names), tuple(rows))


def _note(result: Evaluation) -> None:
    for line in result.notes:
        show.note(line)
    counts = result.system.counts()
    positive = sum(item.label or 0 for item in result.system.items)
    many = (
        f"{counts['responses']} labelled responses, {positive} positive; intervals over {counts['documents']} documents"
    )
    show.note(f"{result.system.name}: {many}")
    for one in result.judged:
        show.note(f"{one.name}: {one.signature}")
