"""The page's charts as files for papers: the same rows, drawn by Altair, as SVG and PNG. Needs `troth[charts]`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from troth.report import charts
from troth.report.page.model import Cell, Chart, Page

WIDTH = 420


def of_page(page: Page) -> Iterator[tuple[str, Chart]]:
    """Every chart under a file's name of its own, numbered from the second of a name on."""
    used: set[str] = set()
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Chart):
                plain = f"{section.id}-{_plain(block.id)}"
                numbered = (plain if number == 1 else f"{plain}-{number}" for number in itertools.count(1))
                name = next(one for one in numbered if one.casefold() not in used)  # not every disk tells case
                used.add(name.casefold())
                yield name, block


def _plain(name: str) -> str:
    """A chart's id may hold a system's name, and that anything."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)


def write(page: Page, folder: Path) -> int:
    """Draw them all; how many there are."""
    count = 0
    for name, chart in of_page(page):
        drawn = draw(chart)
        for ending in (".svg", ".png"):
            charts.write(drawn, str(folder / f"{name}{ending}"))
        count += 1
    return count


def draw(chart: Chart) -> Any:
    return {"lines": _lines, "dots": _dots, "bars": _bars, "columns": _columns, "scatter": _scatter}[chart.kind](chart)


class _Parts:
    """What every kind needs: the data, the scale of colours, axes."""

    def __init__(self, chart: Chart) -> None:
        self.alt, self.chart = charts.altair(), chart
        # Altair reads dots and colons in a field's name as paths and types; columns go by number.
        self.names = {field: f"c{i}" for i, field in enumerate(chart.fields)}
        values = [
            {self.names[field]: _scaled(chart, field, value) for field, value in zip(chart.fields, row, strict=True)}
            for row in map(self._turned, chart.rows)
        ]
        self.base = self.alt.Chart(self.alt.Data(values=values), title=chart.title, width=WIDTH)

    def _turned(self, row: list[Cell]) -> list[Cell]:
        """Bars to the left count downwards."""
        chart = self.chart
        if not chart.left or row[chart.fields.index(chart.series)] != chart.left:
            return row
        at = chart.fields.index(chart.x)
        return [-v if i == at and isinstance(v, int | float) else v for i, v in enumerate(row)]

    def field(self, field: str, kind: str) -> str:
        return f"{self.names[field]}:{kind}"

    def colour(self) -> Any:
        alt, chart = self.alt, self.chart
        at = chart.fields.index(chart.series)
        present = list(dict.fromkeys(row[at] for row in chart.rows))
        domain = [name for name in chart.colours if name in present] + [n for n in present if n not in chart.colours]
        order = [chart.colours.get(str(name), place) for place, name in enumerate(domain)]
        palette = [charts.PALETTE[place % len(charts.PALETTE)] for place in order]
        shown = None if len(domain) < 2 else alt.Legend(title=None, orient="top")
        return alt.Color(self.field(chart.series, "N"), scale=alt.Scale(domain=domain, range=palette), legend=shown)

    def values(self, way: str, field: str, title: str, *, zero: bool) -> Any:
        alt = self.alt
        label = f"{title or field}{', %' if self.chart.percent else ''}"
        kind = {"x": alt.X, "y": alt.Y}[way]
        return kind(self.field(field, "Q"), scale=alt.Scale(zero=zero), title=label)

    def tips(self) -> list[Any]:
        return [self.alt.Tooltip(f"{name}:N", title=field) for field, name in self.names.items()]


def _scaled(chart: Chart, field: str, value: Any) -> Any:
    x, y = chart.kind not in ("lines", "columns"), chart.kind in ("lines", "columns", "scatter")
    figures = {chart.low, chart.high, chart.x if x else "", chart.y if y else ""}
    return 100 * value if chart.percent and field in figures and isinstance(value, int | float) else value


def _lines(chart: Chart) -> Any:
    parts = _Parts(chart)
    alt = parts.alt
    numeric = all(isinstance(row[chart.fields.index(chart.x)], int | float) for row in chart.rows)
    x = alt.X(
        parts.field(chart.x, "Q" if numeric else "O"),
        title=chart.x_title or chart.x,
        **({"scale": alt.Scale(nice=False)} if numeric else {"sort": None, "axis": alt.Axis(labelAngle=0)}),
    )
    y = parts.values("y", chart.y, chart.y_title, zero=chart.zero)
    base = parts.base.encode(x=x, color=parts.colour()).properties(height=260)
    layers = [base.mark_line().encode(y=y)]
    points = base.transform_filter(f"datum.{parts.names['point']}") if "point" in chart.fields else base
    if chart.low:
        bounds = {
            "y": parts.values("y", chart.low, chart.y_title or chart.y, zero=chart.zero),
            "y2": parts.names[chart.high],
        }
        layers.append(points.mark_rule(opacity=0.5).encode(**bounds))
    layers.append(points.mark_point(filled=True, size=40).encode(y=y, tooltip=parts.tips()))
    for rule in chart.rules:
        data = alt.Data(values=[{"value": 100 * rule.value if chart.percent else rule.value, "label": rule.label}])
        line = alt.Chart(data).encode(y="value:Q")
        layers.append(line.mark_rule(strokeDash=[5, 4], color="#777777"))
        layers.append(
            line.mark_text(align="right", x=WIDTH, dy=-6, fontSize=10, color="#555555").encode(text="label:N")
        )
    if chart.diagonal:
        data = alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 100 if chart.percent else 1}])
        layers.append(alt.Chart(data).mark_line(strokeDash=[4, 4], color="#777777").encode(x="x:Q", y="y:Q"))
    return alt.layer(*layers)


def _dots(chart: Chart) -> Any:
    parts = _Parts(chart)
    alt = parts.alt
    series = len({row[chart.fields.index(chart.series)] for row in chart.rows})
    y = alt.Y(parts.field(chart.y, "N"), sort=None, title=None, axis=alt.Axis(labelLimit=260))
    base = parts.base.encode(y=y, color=parts.colour())
    if series > 1 and not chart.join:
        base = base.encode(yOffset=alt.YOffset(parts.field(chart.series, "N"), sort=None))
    x = parts.values("x", chart.x, chart.x_title, zero=chart.zero)
    layers = []
    if chart.low:
        low = parts.values("x", chart.low, chart.x_title or chart.x, zero=chart.zero)
        layers.append(base.mark_rule(opacity=0.5).encode(x=low, x2=parts.names[chart.high]))
    layers.append(base.mark_point(filled=True, size=50).encode(x=x, tooltip=parts.tips()))
    return alt.layer(*layers)


def _bars(chart: Chart) -> Any:
    parts = _Parts(chart)
    alt = parts.alt
    y = alt.Y(parts.field(chart.y, "N"), sort=None, title=None, axis=alt.Axis(labelLimit=260))
    # The axis counts what there is, to either side, in whole units.
    whole = alt.Axis(tickMinStep=1, labelExpr="abs(datum.value)")
    x = alt.X(parts.field(chart.x, "Q"), title=chart.x_title or chart.x, axis=whole)
    return parts.base.mark_bar().encode(x=x, y=y, color=parts.colour(), tooltip=parts.tips())


def _columns(chart: Chart) -> Any:
    parts = _Parts(chart)
    alt = parts.alt
    x = alt.X(parts.field(chart.x, "O"), sort=None, title=chart.x_title or chart.x, axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset(parts.field(chart.series, "N"), sort=None)
    y = parts.values("y", chart.y, chart.y_title, zero=True)
    return parts.base.mark_bar().encode(x=x, xOffset=offset, y=y, color=parts.colour(), tooltip=parts.tips())


def _scatter(chart: Chart) -> Any:
    parts = _Parts(chart)
    alt = parts.alt
    x = parts.values("x", chart.x, chart.x_title, zero=False)
    y = parts.values("y", chart.y, chart.y_title, zero=True)
    base = parts.base.encode(x=x, y=y).properties(height=320)
    points = base.mark_circle(size=70).encode(color=parts.colour(), tooltip=parts.tips())
    names = base.mark_text(align="left", dx=6, fontSize=9).encode(text=parts.field(chart.label, "N"))
    return alt.layer(points, names)
