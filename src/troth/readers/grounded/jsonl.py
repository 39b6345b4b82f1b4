"""troth's own JSON Lines: one response per line with its document, history and, if people judged it, a label.

    {"id": "a1", "document": "Crayons …", "history": ["Who makes crayons?"], "response": "Crayola does.", "label": 1}

`document` is a text or a list of passages; `id` is a text or a number. Keys other than these, `source` and `meta` are
errors; files with other names are read with a map (`mapped`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.decode import error_context, first_object, line_object, lines
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.grounded.mapped import identifier, passages
from troth.readers.plain import field, refuse_unknown_keys, sequence, text
from troth.readers.source import Document

FORMAT = Format(name="jsonl", about="troth's own JSON Lines: one response per line with its document")

KEYS = ("id", "document", "history", "response", "label", "source", "meta")


def detect(document: Document) -> bool:
    return document.starts(b"{") and {"document", "response"} <= first_object(document).keys()


def read(document: Document) -> Iterator[Grounded]:
    seen: dict[str, int] = {}
    for line, row in lines(document):
        with error_context(line=line):
            item = _record(row)
            if item.id in seen:
                raise UserError(f"duplicate id '{item.id}', already on line {seen[item.id]}", hint="ids must be unique")
            seen[item.id] = line
        yield item


def read_sound(document: Document, skipped: list[str]) -> Iterator[Grounded]:
    """Like `read`, but skips lines with an error, and appends the errors to `skipped`."""
    seen: set[str] = set()
    for number, line in enumerate(document.data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            with error_context(line=number, file=document.name):
                item = _record(line_object(document, line))
                if item.id in seen:
                    raise UserError(f"duplicate id '{item.id}'", hint="ids must be unique")
        except UserError as error:
            skipped.append(str(error))
            continue
        seen.add(item.id)
        yield item


def _record(row: dict[str, Any]) -> Grounded:
    refuse_unknown_keys(row, KEYS)
    return Grounded(
        id=identifier(field(row, "id")),
        document=passages(field(row, "document"), "'document'"),
        response=text(field(row, "response"), "'response'"),
        history=tuple(text(turn, "a turn of 'history'") for turn in sequence(row.get("history", []), "'history'")),
        label=labels.parse_label(row.get("label")),
        source=text(row.get("source", ""), "'source'"),
    )
