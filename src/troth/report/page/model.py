"""The elements of the page: cards, charts, tables, examples.

Everything the page shows is one of these records, encoded as JSON for the script in the page. A chart is its data, one
row per mark, with the names of the columns that say where the mark goes: the script draws it, `figures` draws the same
into files, and its CSV holds the rows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Cell = str | float | int | bool | None
MANY = 4  # systems: of more, charts are split into small ones


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One system's answer to a card's question."""

    system: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    signature: str
    sentence: str
    facts: list[str] = []  # what else a reader should know, a line each


class ContestMarks(msgspec.Struct, frozen=True, omit_defaults=True):
    """Comparison of systems: the marks that the script sets for the base that the reader selects."""

    systems: list[str]  # best first
    metrics: list[str]
    titles: list[str]  # of the metrics, as a sentence has them
    base: str  # to begin with
    tests: dict[str, int]  # by base: how many tests the section makes, for Holm's correction
    marks: dict[
        str, list[str]
    ]  # by base, for each metric: a letter a system, b(etter) w(orse) =(no difference) -(none)
    ranges: dict[
        str, list[tuple[float | None, float | None]]
    ] = {}  # by metric: of each pair's difference, later - earlier


class Card(msgspec.Struct, frozen=True, omit_defaults=True):
    question: str
    section: str
    metric: str
    key: str  # the metric's name
    contest: int  # place among the section's
    entries: list[Entry]
    about: str = ""  # short description of the figure
    percent: bool = True


class Text(msgspec.Struct, frozen=True, omit_defaults=True, tag="text", tag_field="block"):
    text: str
    strong: bool = False


class Heading(msgspec.Struct, frozen=True, tag="heading", tag_field="block"):
    text: str


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line across a chart for comparison, in the colour of a series."""

    value: float
    label: str
    series: str


class Chart(msgspec.Struct, frozen=True, omit_defaults=True, tag="chart", tag_field="block"):
    """`rows` under `fields`; x, y, series, low, high and label name fields."""

    id: str
    kind: Literal["lines", "dots", "bars", "columns", "scatter"]
    title: str
    fields: list[str]
    rows: list[list[Cell]]
    x: str
    y: str
    series: str
    low: str = ""
    high: str = ""
    label: str = ""
    note: str = ""
    x_title: str = ""
    y_title: str = ""
    percent: bool = False  # values are fractions, shown in percent
    plain: str = ""  # but for those of this field
    rules: list[Rule] = []
    join: bool = False  # dots of one category are joined by a line
    diagonal: bool = False
    zero: bool = False  # the axis of values begins at 0
    colours: dict[str, int] = {}  # a series' place in the palette, where it has a meaning
    left: str = ""  # the series whose bars go to the left of zero
    panel: str = ""  # the field that splits the chart into small ones, which share their scales
    wide: bool = False


class Grid(msgspec.Struct, frozen=True, omit_defaults=True, tag="grid", tag_field="block"):
    """A table: the first `labels` columns are words, the rest figures.

    `figures` has a row for each of `rows`, with value, low and high of each of its figures, unrounded: what CSV holds.
    """

    id: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    labels: int = 1
    notes: list[str] = []  # one per row: the meaning of the row's name
    note: str = ""
    figures: list[list[float | None]] = []
    best: list[tuple[int, int]] = []  # row, column: in bold
    contest: int = -1  # place among the section's
    places: list[list[tuple[int, int] | None]] = []  # for each figure, system and metric of the contest
    few: list[tuple[int, int, str]] = []  # row, column: an interval that rests on few dialogues, and why it is so


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run of words; `mark` is - or + where only one side has them."""

    text: str
    mark: str = ""


class Example(msgspec.Struct, frozen=True, omit_defaults=True):
    """A single unit worth looking at, with the turn that it leads to in the explorer."""

    tag: str
    place: str
    pieces: list[Piece]
    facts: list[str] = []
    dialogue: str = ""
    turn: str = ""
    set: str = ""
    system: str = ""
    group: str = ""  # what examples can be chosen by
    trial: str = ""  # of a trajectory; then `dialogue` is its task, and `turn` may be a message: m12
    beside: str = ""  # another trial of the task, to stand next to it


class Examples(msgspec.Struct, frozen=True, omit_defaults=True, tag="examples", tag_field="block"):
    title: str
    items: list[Example]
    note: str = ""
    total: int = 0  # how many there are, if not all are here


Block = Text | Heading | Chart | Grid | Examples


class Section(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    title: str
    lead: str
    blocks: list[Block]
    contests: list[ContestMarks] = []


class RunFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The arguments that reproduce the run."""

    name: str
    command: str
    arguments: dict[str, str]
    versions: dict[str, str]
    counts: dict[str, dict[str, int]]


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    title: str
    lead: list[str]
    systems: list[str]
    cards: list[Card]
    sections: list[Section]
    runs: list[RunFacts]
    version: str
    explorer: str = ""  # why there is none; empty if there is one
    palette: list[str] = []
