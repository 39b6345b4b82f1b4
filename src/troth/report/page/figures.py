"""The page's charts as files for papers: the same rows, drawn by Altair, as SVG and PNG. Needs `troth[charts]`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from troth.report import charts
from troth.report.page.model import Cell, Chart, Page

WIDTH, SMALL = 420, 190
COLUMNS = 4  # of small charts
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
DASHES = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3])


def page_charts(page: Page) -> Iterator[tuple[str, Chart]]:
    """Every chart with a unique file name; from the second of a name on, numbered."""
    used: set[str] = set()
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Chart):
                # A chart's id may hold a system's name, and that anything.
                plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in f"{section.id}-{block.id}")
                numbered = (plain if number == 1 else f"{plain}-{number}" for number in itertools.count(1))
                name = next(name for name in numbered if name.casefold() not in used)  # not every disk tells case
                used.add(name.casefold())
                yield name, block


def write(page: Page, folder: Path) -> int:
    """Draws all charts of a page into a folder; returns how many there are."""
    drawn = {name: draw(chart) for name, chart in page_charts(page)}
    for name, chart in drawn.items():
        for ending in (".svg", ".png"):
            charts.write(chart, str(folder / f"{name}{ending}"))
    return len(drawn)


def draw(chart: Chart) -> Any:
    """A chart as Altair's."""
    return getattr(_Drawing(chart), chart.kind)()


class _Drawing:
    """The data of a chart, its axes and colours, and a method for each kind."""

    def __init__(self, chart: Chart) -> None:
        self.alt, self.chart = charts.altair(), chart
        # Altair reads dots and colons in a field's name as paths and types; columns go by number.
        self.names = {field: f"c{i}" for i, field in enumerate(chart.fields)}
        upright = chart.kind in ("lines", "columns")
        figures = {chart.low, chart.high, chart.y if upright else chart.x}
        figures |= {chart.y} - {chart.plain} if chart.kind == "scatter" else set()
        values = []
        for row in chart.rows:
            cells = dict(zip(chart.fields, row, strict=True))
            for field in figures & cells.keys():
                cells[field] = self._scaled(cells[field])
            if chart.left and cells[chart.series] == chart.left:  # bars to the left count downwards
                cells[chart.x] = -float(cells[chart.x] or 0)
            values.append({self.names[field]: value for field, value in cells.items()})
        self.data = self.alt.Data(values=values)
        self.base = self.alt.Chart(width=SMALL if chart.panel else WIDTH)
        self.tips = [self.alt.Tooltip(f"{name}:N", title=field) for field, name in self.names.items()]
        self._encode_series()

    def _scaled(self, value: Cell) -> Cell:
        return 100 * value if self.chart.percent and isinstance(value, int | float) else value

    def _encode_series(self) -> None:
        """Series by colour, shape and dash: after eight series, colours repeat with other shapes and dashes."""
        alt, chart = self.alt, self.chart
        present = list(dict.fromkeys(row[chart.fields.index(chart.series)] for row in chart.rows))
        domain = [name for name in chart.colours if name in present] + [n for n in present if n not in chart.colours]
        indexes = [chart.colours.get(str(name), index) for index, name in enumerate(domain)]
        rounds = [index // len(charts.PALETTE) for index in indexes]
        legend = None if len(domain) < 2 else alt.Legend(title=None, orient="top", columns=4)

        def scaled(channel: Any, values: list[Any]) -> Any:
            scale = alt.Scale(domain=domain, range=values)
            return channel(self._field(chart.series, "N"), scale=scale, legend=legend)

        self.colour = scaled(alt.Color, [charts.PALETTE[index % len(charts.PALETTE)] for index in indexes])
        self.shape = scaled(
            alt.Shape, [SHAPES[(index % 4 + 4 * (turn % 2))] for index, turn in zip(indexes, rounds, strict=True)]
        )
        self.dash = scaled(alt.StrokeDash, [DASHES[turn % len(DASHES)] for turn in rounds])

    def combine(self, *layers: Any) -> Any:
        """The layers as one chart, or as one small chart for each value of the splitting field."""
        chart = self.alt.layer(*layers, data=self.data)
        if not self.chart.panel:
            return chart.properties(title=self.chart.title)
        names = list(dict.fromkeys(row[self.chart.fields.index(self.chart.panel)] for row in self.chart.rows))
        facet = self.alt.Facet(self._field(self.chart.panel, "N"), sort=names, title=None)
        return chart.facet(facet=facet, columns=COLUMNS, title=self.chart.title)

    def _field(self, field: str, kind: str) -> str:
        return f"{self.names[field]}:{kind}"

    def _values(self, axis: Any, field: str, title: str, *, zero: bool) -> Any:
        label = title + (", %" if self.chart.percent and field != self.chart.plain else "")
        return axis(self._field(field, "Q"), scale=self.alt.Scale(zero=zero), title=label)

    def _categories(self) -> Any:
        axis = self.alt.Axis(labelLimit=260)
        return self.alt.Y(self._field(self.chart.y, "N"), sort=None, title=None, axis=axis)

    def lines(self) -> Any:
        alt, chart = self.alt, self.chart
        numeric = all(isinstance(row[chart.fields.index(chart.x)], int | float) for row in chart.rows)
        how = {"scale": alt.Scale(nice=False)} if numeric else {"sort": None, "axis": alt.Axis(labelAngle=0)}
        x = alt.X(self._field(chart.x, "Q" if numeric else "O"), title=chart.x_title or chart.x, **how)
        title = chart.y_title or chart.y
        y = self._values(alt.Y, chart.y, title, zero=chart.zero)
        base = self.base.encode(x=x, color=self.colour).properties(height=260)
        layers = [base.mark_line().encode(y=y, strokeDash=self.dash)]
        points = base.transform_filter(f"datum.{self.names['point']}") if "point" in chart.fields else base
        if chart.low:
            low = self._values(alt.Y, chart.low, title, zero=chart.zero)
            layers.append(points.mark_rule(opacity=0.5).encode(y=low, y2=self.names[chart.high]))
        layers.append(points.mark_point(filled=True, size=40).encode(y=y, shape=self.shape, tooltip=self.tips))
        for rule in chart.rules:
            row = {"value": self._scaled(rule.value), "label": rule.label, self.names[chart.series]: rule.series}
            line = alt.Chart(alt.Data(values=[row])).encode(y="value:Q")
            text = line.mark_text(align="right", x=WIDTH, dy=-6, fontSize=10, color="#555555").encode(text="label:N")
            layers += [line.mark_rule(strokeDash=[5, 4]).encode(color=self.colour), text]
        if chart.diagonal:
            data = alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": self._scaled(1)}])
            layers.append(alt.Chart(data).mark_line(strokeDash=[4, 4], color="#777777").encode(x="x:Q", y="y:Q"))
        return self.combine(*layers)

    def dots(self) -> Any:
        alt, chart = self.alt, self.chart
        title = chart.x_title or chart.x
        base = self.base.encode(y=self._categories(), color=self.colour)
        spread = chart.series != chart.y and not chart.join
        if spread and len({row[chart.fields.index(chart.series)] for row in chart.rows}) > 1:
            base = base.encode(yOffset=alt.YOffset(self._field(chart.series, "N"), sort=None))
        x = self._values(alt.X, chart.x, title, zero=chart.zero)
        layers = [base.mark_point(filled=True, size=50).encode(x=x, shape=self.shape, tooltip=self.tips)]
        if chart.low:
            low = self._values(alt.X, chart.low, title, zero=chart.zero)
            layers.insert(0, base.mark_rule(opacity=0.5).encode(x=low, x2=self.names[chart.high]))
        return self.combine(*layers)

    def bars(self) -> Any:
        chart = self.chart
        # The axis counts in whole units to either side.
        whole = self.alt.Axis(tickMinStep=1, labelExpr="abs(datum.value)")
        x = self.alt.X(self._field(chart.x, "Q"), title=chart.x_title or chart.x, axis=whole)
        bars = self.base.mark_bar().encode(x=x, y=self._categories(), color=self.colour, tooltip=self.tips)
        return self.combine(bars)

    def columns(self) -> Any:
        alt, chart = self.alt, self.chart
        title = chart.x_title or chart.x
        x = alt.X(self._field(chart.x, "O"), sort=None, title=title, axis=alt.Axis(labelAngle=0))
        offset = alt.XOffset(self._field(chart.series, "N"), sort=None)
        y = self._values(alt.Y, chart.y, chart.y_title or chart.y, zero=True)
        bars = self.base.mark_bar().encode(x=x, xOffset=offset, y=y, color=self.colour, tooltip=self.tips)
        return self.combine(bars)

    def scatter(self) -> Any:
        alt, chart = self.alt, self.chart
        x = self._values(alt.X, chart.x, chart.x_title or chart.x, zero=False)
        y = self._values(alt.Y, chart.y, chart.y_title or chart.y, zero=True)
        base = self.base.encode(x=x, y=y).properties(height=320)
        names = base.mark_text(align="left", dx=6, fontSize=9).encode(text=self._field(chart.label, "N"))
        points = base.mark_point(filled=True, size=70).encode(color=self.colour, shape=self.shape, tooltip=self.tips)
        return self.combine(points, names)
