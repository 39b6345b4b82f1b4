"""Rows of text with a header: cells by the meaning of their column, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.decode import where
from troth.readers.grounded import labels

COLUMNS = {  # what we call it, and what it is called elsewhere: BEGIN of 2022, BEGIN of 2021, FaithDial's audit
    "id": ("id",),
    "document": ("document", "knowledge", "evidence"),
    "history": ("history", "message", "previous turn"),
    "response": ("response",),
    "label": ("label", "begin_label", "gold label", "begin"),
    "source": ("source", "data_source"),
    "model": ("model_name",),
}


def places(heading: Sequence[str]) -> dict[str, int]:
    """The position of each known kind of column; other columns are not read."""
    names = [name.strip().lower() for name in heading]
    at = {what: names.index(name) for what, known in COLUMNS.items() for name in reversed(known) if name in names}
    for what in ("document", "response"):
        if what not in at:
            raise UserError(f"line 1: no column '{what}'", hint="columns: " + ", ".join(COLUMNS))
    return at


def fits(heading: Sequence[str]) -> bool:
    """Whether a header has the columns that are needed."""
    names = {name.strip().lower() for name in heading}
    return "response" in names and not names.isdisjoint(COLUMNS["document"])


def records(lines: Iterator[tuple[int, Sequence[str]]], place: Mapping[str, int], width: int) -> Iterator[Grounded]:
    """One record per line; lines without any text are skipped. Where there is no id, the line's number is the id."""
    seen: dict[str, int] = {}
    for line, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        with where(line=line):
            if len(cells) != width:
                raise UserError(f"has {len(cells)} cells, not {width}", hint="is a quote or a tab out of place?")

            def cell(what: str, cells: Sequence[str] = cells) -> str:
                return cells[place[what]] if what in place else ""

            id = cell("id") or "/".join(filter(None, (cell("source"), cell("model"), str(line))))
            if id in seen:
                raise UserError(f"duplicate id '{id}', already on line {seen[id]}", hint="ids must be unique")
            seen[id] = line
            said = cell("history")
            yield Grounded(
                id=id,
                document=cell("document"),
                response=cell("response"),
                history=(said,) if said.strip() else (),
                label=labels.any_of(cell("label")),
                source=cell("source"),
            )
