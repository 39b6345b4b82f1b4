"""Charts for papers: one palette, safe for colour-blind readers, as SVG, PNG, HTML or Vega-Lite JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from troth.core.errors import UserError, suggest_name
from troth.core.extras import require
from troth.core.groups import ALL
from troth.core.metric import PERCENT
from troth.core.names import Path as AnyPath
from troth.core.names import parse_names, path_of
from troth.core.result import Result

# Okabe and Ito's eight colours, which differ under every common colour blindness.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
ENDINGS = (".svg", ".png", ".html", ".json")
Rows = Sequence[dict[str, Any]]


def check_path(path: str) -> None:
    """Raises UserError unless a chart can be written to this path."""
    if not path.endswith(ENDINGS):
        raise UserError("a chart cannot be written under this name", file=path, hint="end it in " + ", ".join(ENDINGS))
    altair()


def lines(rows: Rows, *, x: str, y: str, colour: str, path: str, title: str) -> None:
    """Curves with a point at each value: metrics over checkpoints, JGA over variants."""
    _draw("lines", rows, x, y, colour, "", path, title)


def scatter(rows: Rows, *, x: str, y: str, label: str, colour: str, path: str, title: str) -> None:
    """Points with their names beside them: sensitivity against accuracy, a point per service."""
    _draw("scatter", rows, x, y, colour, label, path, title)


def plot_scores(
    result: Result, metrics: str | Iterable[str] | None = None, *, group: str = ALL, path: AnyPath | None = None
) -> Any:
    """Scores with their intervals as a chart: see `Result.plot`."""
    from troth.report.page import figures
    from troth.report.page.model import Chart

    if path is not None:
        check_path(path_of(path))
    altair()
    known = {score.metric: score for score in result.scores if score.group == group and score.value is not None}
    if not known:
        groups = dict.fromkeys(score.group for score in result.scores)
        raise UserError(f"has no scores: '{group}'", option="group", hint="groups: " + ", ".join(groups))
    names = parse_names(metrics)
    for name in names:
        if name not in known:
            hint = suggest_name(name, known) or "metrics: " + ", ".join(known)
            raise UserError(f"has '{name}', which is not in the result", option="metrics", hint=hint)
    if not names:
        shares = [name for name, score in known.items() if score.scale == "share"] or list(known)[:1]
        names = [name for name in shares if result.metric(name).headline] or shares
    scales = {known[name].scale in PERCENT for name in names}
    if len(scales) > 1:
        raise UserError("has shares and other numbers", option="metrics", hint="draw them apart")
    rows = [
        [score.system, result.metric(score.metric).label, score.value, score.low, score.high]
        for name in names
        for score in result.scores
        if (score.metric, score.group) == (name, group) and score.value is not None
    ]
    chart = Chart(
        "scores", "dots", f"troth {result.task}" + ("" if group == ALL else f", {group}"),
        ["system", "metric", "value", "low", "high"], rows, "value", "metric", "system", "low", "high",
        x_title="value", percent=scales == {True},
    )  # fmt: skip
    drawn = figures.draw(chart)
    if path is not None:
        write(drawn, path_of(path))
    return drawn


def _draw(
    kind: Literal["lines", "scatter"], rows: Rows, x: str, y: str, colour: str, label: str, path: str, title: str
) -> None:
    from troth.report.page import figures
    from troth.report.page.model import Chart

    fields = list(dict.fromkeys(field for row in rows for field in row))
    cells = [[row.get(field) for field in fields] for row in rows]
    write(figures.draw(Chart(title, kind, title, fields, cells, x, y, colour, label=label)), path)


def panels(rows: Rows, *, x: str, y: str, colour: str, panel: str, path: str, title: str) -> None:
    """A small panel for each value of `panel`, in the order of the rows, each with its own scale and the same curves.

    A row whose `y` is None has no point; a panel without any is left out.
    """
    alt = altair()
    known = [row for row in rows if row[y] is not None]
    shown = list(dict.fromkeys(row[panel] for row in known))
    curves = list(dict.fromkeys(row[colour] for row in rows))
    encoded = alt.Chart(alt.Data(values=known), width=240, height=180).mark_line(point=True).encode(
        x=alt.X(f"{x}:Q"),
        y=alt.Y(f"{y}:Q", scale=alt.Scale(zero=False)),
        color=alt.Color(f"{colour}:N", sort=curves, scale=alt.Scale(domain=curves, range=PALETTE)),
    )  # fmt: skip
    faceted = encoded.facet(facet=alt.Facet(f"{panel}:N", sort=shown, title=None), columns=2, title=title)
    write(faceted.resolve_scale(y="independent"), path)


def write(chart: Any, path: str) -> None:
    """Writes a chart in the format of the file's ending."""
    forms: dict[str, dict[str, Any]] = {".html": {"inline": True}, ".png": {"scale_factor": 2}}  # HTML needs no network
    try:
        chart.save(path, **forms.get(Path(path).suffix, {}))
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=path) from error
    if not Path(path).is_file():
        raise UserError("the chart was not written", file=path)


def altair() -> Any:
    """Imports Altair, or raises an error that says how to install it."""
    return require("altair", "vl_convert", extra="charts")
