"""`troth meta fit`: from scores to verdicts, with labelled responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.cli.ground import CONTEXT, FORMAT, MAP, METRICS, MODELS, ON_ERROR
from troth.cli.meta_eval import PRECISION, RECALL
from troth.core.errors import UserError
from troth.core.names import counted
from troth.core.table import Table, figure

if TYPE_CHECKING:
    from troth.core.result import Result
    from troth.core.score import Score
    from troth.grounding.calibration import Calibration, Fitted

TRANSFERRED = ("auroc", "unfaithful_recall", "unfaithful_precision", "false_alarms")


@click.command(no_args_is_help=True)
@click.argument("dev", nargs=-1, required=True, metavar="DEV...", type=options.FILE)
@METRICS
@RECALL
@PRECISION
@click.option("--transfer", multiple=True, metavar="DATA", type=options.FILE,
              help="Other labelled data to try the thresholds on; may be given repeatedly.")  # fmt: skip
@options.option("--curves", "FILE", "Write the ROC and precision-recall curves to this new file: csv, svg, png, html.")
@click.option("--out", metavar="FILE", required=True, help="New file, for `troth ground --calibration`.")
@FORMAT
@MAP
@ON_ERROR
@CONTEXT
@MODELS
@options.JSON
def fit(
    dev: tuple[str, ...], transfer: tuple[str, ...], curves: str | None, out: str, json: bool, **settings: Any
) -> None:
    """Fits each metric's threshold and probability on labelled responses, all files together.

    Responses below the threshold are called unfaithful. Without --recall or --precision the threshold has the best F1
    of the faithful, as in PMI-Faith's paper; where faults are rare, that lets most of them pass.
    """
    from troth.meta.labels.evaluate import evaluate
    from troth.meta.labels.evaluate import fit as run

    if curves is not None:
        _check_curves(curves)
    found = run(*dev, out=out, **settings)
    if curves is not None:
        _write_curves(found, curves)
    moved = {data: _transferred(evaluate(data, dev=dev, **settings)) for data in transfer}
    if json:
        every = [score for scores in moved.values() for score in scores.values()]
        show.json({"calibration": found, "transfer": every} if transfer else found)
    else:
        show.tables([_fitted(found), _trade_off(found), *(_moved(found, *one) for one in moved.items())])
    for line in found.notes():
        show.note(line)
    files = []
    for file in found.data:
        labels = "" if file.labelled in (None, file.rows) else f", {file.labelled} with a label"
        files.append(f"{file.file} ({counted(file.rows, 'row')}{labels})")
    show.note(f"written: {out}, from {', '.join(files)}")
    if curves is not None:
        show.note(f"written: {curves}")


def _fitted(found: Calibration) -> Table:
    columns = {"min": "low", "max": "high", "threshold": "threshold", "F1 on it": "f1"}
    rows = []
    for one in found.metrics:
        at = one.at
        flags = () if at is None else (at.recall, at.precision, at.false_alarms)
        cells = (*(getattr(one, name) for name in columns.values()), *flags)
        rows.append((one.metric, *map(_number, cells), str(one.n)))
    return Table(("metric", *columns, "unfaithful recall", "precision", "false alarms", "n"), tuple(rows))


def _trade_off(found: Calibration) -> Table:
    """What flagging more of the unfaithful costs: the best precision at each recall."""
    from troth.grounding.calibration import RECALLS

    rows = [(one.metric, *(_number(_best_precision(one, recall)) for recall in RECALLS)) for one in found.metrics]
    return Table(("best precision at recall", *(f"{recall:g}" for recall in RECALLS)), tuple(rows))


def _best_precision(one: Fitted, recall: float) -> float | None:
    able = [point.precision for point in one.curve if point.recall >= recall and point.precision is not None]
    return max(able, default=None)


def _transferred(judged: Result) -> dict[str, Score]:
    """What the thresholds do on other data, by metric."""
    return {s.metric: s for s in judged.scores if s.group == "all" and judged.metric(s.metric).of in TRANSFERRED}


def _moved(found: Calibration, data: str, scores: Mapping[str, Score]) -> Table:
    rows = [
        (one.metric, *(figure(scores.get(f"{measure}:{one.metric}")) for measure in TRANSFERRED))
        for one in found.metrics
    ]
    return Table((f"on {data}", "AUROC", *(name.replace("_", " ") for name in TRANSFERRED[1:])), tuple(rows))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


# -- curves ------------------------------------------------------------------------------------------------------------


def _check_curves(path: str) -> None:
    from troth.report import charts
    from troth.storage.files import check_new

    check_new(path)
    if not path.endswith(".csv"):
        if not path.endswith(charts.ENDINGS):
            endings = ", ".join((".csv", *charts.ENDINGS))
            raise UserError("curves cannot be written under this name", file=path, hint=f"end it in {endings}")
        charts.check_path(path)


def _write_curves(found: Calibration, path: str) -> None:
    """The points of both curves that the calibration holds as CSV, or both curves as panels of a chart."""
    from troth.report import charts
    from troth.storage.files import new_file

    if path.endswith(".csv"):
        with new_file(path) as file:
            file.write(_csv(found.metrics).encode())
        return
    rows: list[dict[str, Any]] = []
    for one in found.metrics:
        for point in one.curve:
            roc = {"panel": "ROC: recall over false alarms", "x": point.false_alarms, "y": point.recall}
            precision = {"panel": "precision over recall", "x": point.recall, "y": point.precision}
            rows += [{"metric": one.metric, **roc}, {"metric": one.metric, **precision}]
    charts.panels(rows, x="x", y="y", colour="metric", panel="panel", path=path, title="Flagging the unfaithful")


def _csv(metrics: Sequence[Fitted]) -> str:
    lines = ["metric,threshold,recall,precision,false_alarms"]
    for one in metrics:
        for point in one.curve:
            precision = "" if point.precision is None else repr(point.precision)
            cells = (repr(point.threshold), repr(point.recall), precision, repr(point.false_alarms))
            lines.append(",".join((one.metric, *cells)))
    return "\n".join(lines) + "\n"
