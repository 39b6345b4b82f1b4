"""`troth meta fit`: thresholds of metrics from labelled responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.cli.ground import MODELS
from troth.core.errors import UserError
from troth.core.names import format_count
from troth.core.table import Table, figure

if TYPE_CHECKING:
    from troth.core.score import Score
    from troth.grounding.calibration import Calibration, Fitted

TRANSFERRED = ("auroc", "unfaithful_recall", "unfaithful_precision", "false_alarms")


@options.command(
    options.SettingsSource("troth.meta.labels.evaluate:FittingSettings", leave_out=("out",)), models=MODELS
)
@click.argument("dev", nargs=-1, required=True, metavar="DEV...", type=options.FILE)
@click.option("--transfer", multiple=True, metavar="DATA", type=options.FILE,
              help="Other labelled data to try the thresholds on; may be given several times.")  # fmt: skip
@options.option("--curves", "FILE", "Write the ROC and precision-recall curves to this new file: csv, svg, png, html.")
@click.option("--out", metavar="FILE", required=True, help="New file, for `troth ground --calibration`.")
@options.JSON
def fit(
    dev: tuple[str, ...],
    transfer: tuple[str, ...],
    curves: str | None,
    out: str,
    json: bool,
    models: dict[str, Any],
    **settings: Any,
) -> None:
    """Fit thresholds of metrics on labelled responses.

    All files are taken together. Each metric also gets a probability. Responses below the threshold are called
    unfaithful. Without --recall or --precision the threshold has the best F1 of the faithful, as in PMI-Faith's paper;
    where faults are rare, that lets most of them pass.
    """
    from troth.grounding.calibration import save
    from troth.grounding.metrics import Models
    from troth.meta.labels.evaluate import check_labelled, evaluate
    from troth.meta.labels.evaluate import fit as run
    from troth.storage.files import check_distinct, check_new

    check_distinct(out, curves)
    check_new(out)
    if curves is not None:
        _check_curves(curves)
    settings["models"] = Models(**models)
    for data in transfer:
        check_labelled(data, **settings)
    calibration = run(*dev, **settings)
    transfers: dict[str, dict[str, Score]] = {}
    for data in transfer:
        result = evaluate(data, dev=dev, **settings)
        declared = {metric.name for metric in result.metrics if metric.of in TRANSFERRED}
        transfers[data] = {s.metric: s for s in result.scores if s.group == "all" and s.metric in declared}
    save(calibration, out)
    if curves is not None:
        _write_curves(calibration, curves)
    if json:
        every = [score for scores in transfers.values() for score in scores.values()]
        show.json({"calibration": calibration, "transfer": every} if transfer else calibration)
    else:
        others = [_transfer_table(calibration, data, scores) for data, scores in transfers.items()]
        show.tables([_threshold_table(calibration), _trade_off_table(calibration), *others])
    for line in calibration.notes():
        show.note(line)
    files = []
    for file in calibration.data:
        labels = "" if file.labelled in (None, file.rows) else f", {file.labelled} with a label"
        files.append(f"{file.file} ({format_count(file.rows, 'row')}{labels})")
    show.note(f"written: {out}, from {', '.join(files)}")
    if curves is not None:
        show.note(f"written: {curves}")


def _threshold_table(calibration: Calibration) -> Table:
    columns = {"min": "low", "max": "high", "threshold": "raw_threshold", "normalised": "threshold", "F1 on it": "f1"}
    rows = []
    for fitted in calibration.metrics:
        at = fitted.at
        flags = () if at is None else (at.recall, at.precision, at.false_alarms)
        cells = (*(getattr(fitted, name) for name in columns.values()), *flags)
        rows.append((fitted.metric, *map(_number, cells), str(fitted.n)))
    return Table(("metric", *columns, "unfaithful recall", "precision", "false alarms", "n"), tuple(rows))


def _trade_off_table(calibration: Calibration) -> Table:
    """The best precision at each recall: the cost of flagging more unfaithful responses."""
    from troth.grounding.calibration import RECALLS

    rows = []
    for fitted in calibration.metrics:
        known = [(point.recall, point.precision) for point in fitted.curve if point.precision is not None]
        best = (max((precision for at, precision in known if at >= recall), default=None) for recall in RECALLS)
        rows.append((fitted.metric, *map(_number, best)))
    return Table(("best precision at recall", *(f"{recall:g}" for recall in RECALLS)), tuple(rows))


def _transfer_table(calibration: Calibration, data: str, scores: Mapping[str, Score]) -> Table:
    rows = [
        (fitted.metric, *(figure(scores.get(f"{measure}:{fitted.metric}")) for measure in TRANSFERRED))
        for fitted in calibration.metrics
    ]
    return Table((f"on {data}", "AUROC", *(name.replace("_", " ") for name in TRANSFERRED[1:])), tuple(rows))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _check_curves(path: str) -> None:
    from troth.report import charts
    from troth.storage.files import check_new

    check_new(path)
    if not path.endswith(".csv"):
        if not path.endswith(charts.ENDINGS):
            endings = ", ".join((".csv", *charts.ENDINGS))
            raise UserError("curves cannot be written under this name", file=path, hint=f"end it in {endings}")
        charts.check_path(path)


def _write_curves(calibration: Calibration, path: str) -> None:
    """Writes both curves: their points as CSV, or a chart with one panel per curve."""
    from troth.report import charts
    from troth.storage.files import new_file

    if path.endswith(".csv"):
        with new_file(path) as file:
            file.write(_csv(calibration.metrics).encode())
        return
    rows: list[dict[str, Any]] = []
    for fitted in calibration.metrics:
        for point in fitted.curve:
            roc = {"panel": "ROC: recall over false alarms", "x": point.false_alarms, "y": point.recall}
            precision = {"panel": "precision over recall", "x": point.recall, "y": point.precision}
            rows += [{"metric": fitted.metric, **roc}, {"metric": fitted.metric, **precision}]
    charts.panels(rows, x="x", y="y", colour="metric", panel="panel", path=path, title="Flagging the unfaithful")


def _csv(metrics: Sequence[Fitted]) -> str:
    lines = ["metric,threshold,recall,precision,false_alarms"]
    for fitted in metrics:
        for point in fitted.curve:
            precision = "" if point.precision is None else repr(point.precision)
            cells = (repr(point.threshold), repr(point.recall), precision, repr(point.false_alarms))
            lines.append(",".join((fitted.metric, *cells)))
    return "\n".join(lines) + "\n"
