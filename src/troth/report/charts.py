"""Charts for papers and pages: one palette, safe for colour-blind readers, as SVG, PNG, HTML or Vega-Lite JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from troth.core.errors import UserError

# Okabe and Ito's eight colours, told apart under every common colour blindness.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
ENDINGS = (".svg", ".png", ".html", ".json")


def check_path(path: str) -> None:
    """Told before anything is computed."""
    if not path.endswith(ENDINGS):
        raise UserError("a chart cannot be written under this name", file=path, hint="end it in " + ", ".join(ENDINGS))
    altair()


def lines(rows: Sequence[dict[str, Any]], *, x: str, y: str, colour: str, path: str, title: str) -> None:
    """Curves with a point at each value: metrics over checkpoints, JGA over variants."""
    alt = altair()
    chart = alt.Chart(alt.Data(values=list(rows)), title=title, width=420, height=280).mark_line(point=True)
    kind = "Q" if rows and all(isinstance(row[x], int | float) for row in rows) else "O"
    encoded = chart.encode(
        x=alt.X(f"{x}:{kind}", axis=alt.Axis(labelAngle=0)),
        y=alt.Y(f"{y}:Q", scale=alt.Scale(zero=False), title=y),
        color=alt.Color(f"{colour}:N", scale=alt.Scale(range=PALETTE)),
    )
    write(encoded, path)


def panels(rows: Sequence[dict[str, Any]], *, x: str, y: str, colour: str, panel: str, path: str, title: str) -> None:
    """A small panel for each value of `panel`, in the order of the rows, each with its own scale and the same curves.

    A row whose `y` is None has no point; a panel without any is left out.
    """
    alt = altair()
    known = [row for row in rows if row[y] is not None]
    shown = list(dict.fromkeys(row[panel] for row in known))
    curves = list(dict.fromkeys(row[colour] for row in rows))
    chart = alt.Chart(alt.Data(values=known), width=240, height=180).mark_line(point=True)
    encoded = chart.encode(
        x=alt.X(f"{x}:Q"),
        y=alt.Y(f"{y}:Q", scale=alt.Scale(zero=False)),
        color=alt.Color(f"{colour}:N", sort=curves, scale=alt.Scale(domain=curves, range=PALETTE)),
    )
    faceted = encoded.facet(facet=alt.Facet(f"{panel}:N", sort=shown, title=None), columns=2, title=title)
    write(faceted.resolve_scale(y="independent"), path)


def scatter(rows: Sequence[dict[str, Any]], *, x: str, y: str, label: str, colour: str, path: str, title: str) -> None:
    """Points with their names beside them: sensitivity against accuracy, a point a service."""
    alt = altair()
    base = alt.Chart(alt.Data(values=list(rows)), title=title, width=420, height=320).encode(
        x=alt.X(f"{x}:Q", scale=alt.Scale(zero=False), title=x), y=alt.Y(f"{y}:Q", title=y)
    )
    points = base.mark_circle(size=70).encode(
        color=alt.Color(f"{colour}:N", scale=alt.Scale(range=PALETTE)), tooltip=[f"{label}:N", f"{x}:Q", f"{y}:Q"]
    )
    names = base.mark_text(align="left", dx=6, fontSize=9).encode(text=f"{label}:N")
    write(points + names, path)


def write(chart: Any, path: str) -> None:
    """A chart under its name, in the form that the name ends in."""
    try:
        if path.endswith(".html"):
            chart.save(path, inline=True)  # its renderer inside: opens without a network
        else:
            chart.save(path, **({"scale_factor": 2} if path.endswith(".png") else {}))
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=path) from error
    if not Path(path).is_file():
        raise UserError("the chart was not written", file=path)


def altair() -> Any:
    """The library, or a word on how to get it."""
    try:
        import altair
        import vl_convert as _  # noqa: F401
    except ImportError:
        raise UserError("charts need altair and vl-convert", hint="pip install 'troth[charts]'") from None
    return altair
