"""troth's own JSON Lines: one response per line with its document, history and, if people judged it, a label.

    {"id": "a1", "document": "Crayons …", "history": ["Who makes crayons?"], "response": "Crayola does.", "label": 1}

A JSON list of such objects is read, too. `document` is a text or a list of passages; `id` is a text or a number. Keys
other than these, `source` and `meta` are errors; files with other names are read with a map (`mapped`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.decode import first_object
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.grounded.mapped import identifier, json_rows, passages, read_rows
from troth.readers.plain import field, refuse_unknown_keys, sequence, text
from troth.readers.source import Document

FORMAT = Format(name="jsonl", about="troth's own JSON Lines: one response per line with its document")

KEYS = ("id", "document", "history", "response", "label", "source", "meta")


def detect(document: Document) -> bool:
    is_json = document.starts(b"{") or document.starts(b"[")
    return is_json and {"document", "response"} <= first_object(document).keys()


def read(document: Document) -> Iterator[Grounded]:
    return read_rows(document, json_rows(document), _record, None)


def read_sound(document: Document, skipped: list[str]) -> Iterator[Grounded]:
    """Like `read`, but skips rows with an error, and appends the errors to `skipped`."""
    return read_rows(document, json_rows(document), _record, skipped)


def _record(row: Any, _line: int) -> Grounded:
    if not isinstance(row, dict):
        raise UserError("is not an object {…}")
    refuse_unknown_keys(row, KEYS)
    return Grounded(
        id=identifier(field(row, "id")),
        document=passages(field(row, "document"), "'document'"),
        response=text(field(row, "response"), "'response'"),
        history=tuple(text(turn, "a turn of 'history'") for turn in sequence(row.get("history", []), "'history'")),
        label=labels.parse_label(row.get("label")),
        source=text(row.get("source", ""), "'source'"),
    )
