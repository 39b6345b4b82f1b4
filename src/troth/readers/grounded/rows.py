"""Rows of text with a heading: cells by what their column means, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.decode import where
from troth.readers.grounded import labels
from troth.readers.source import Document

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
    """Where each kind of cell stands; columns that mean nothing here are passed over."""
    names = [name.strip().lower() for name in heading]
    found = {what: names.index(name) for what, known in COLUMNS.items() for name in reversed(known) if name in names}
    for what in ("document", "response"):
        if what not in found:
            hint = "columns: " + ", ".join(COLUMNS)
            raise UserError(f"line 1: no column '{what}'", hint=hint)
    return found


def fits(heading: Sequence[str]) -> bool:
    names = {name.strip().lower() for name in heading}
    return "response" in names and not names.isdisjoint(COLUMNS["document"])


def records(lines: Iterator[tuple[int, Sequence[str]]], place: Mapping[str, int], width: int) -> Iterator[Grounded]:
    """One record a line. Lines without any text in them are passed over; without ids, lines are their own."""
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
                raise UserError(f"'{id}' stands on line {seen[id]} already", hint="ids must be unique; remove one")
            seen[id] = line
            said = cell("history")
            yield Grounded(
                id, cell("document"), cell("response"), (said,) if said.strip() else (),
                labels.any_of(cell("label")), cell("source"),
            )  # fmt: skip


def decoded(document: Document) -> str:
    try:
        return document.data.decode()
    except UnicodeDecodeError as error:
        line = document.data[: error.start].count(b"\n") + 1
        raise UserError(f"line {line}: not valid UTF-8", file=document.name, hint="save it as UTF-8") from error
