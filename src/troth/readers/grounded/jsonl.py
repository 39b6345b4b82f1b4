"""Our own JSONL: one response a line with its document, history and, where people judged it, a label.

    {"id": "a1", "document": "Crayons …", "history": ["Who makes crayons?"], "response": "Crayola does.", "label": 1}

`document` is a text, or a list of passages. Any other key than these, `source` and `meta` is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError, near
from troth.core.records import Grounded
from troth.readers.decode import lines, where
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.grounded.opening import opening
from troth.readers.plain import field, sequence, text
from troth.readers.source import Document

FORMAT = Format(name="jsonl", about="troth's own JSON Lines: one response per line with its document")

KEYS = ("id", "document", "history", "response", "label", "source", "meta")


def detect(document: Document) -> bool:
    return document.data.lstrip()[:1] == b"{" and {"document", "response"} <= opening(document).keys()


def read(document: Document) -> Iterator[Grounded]:
    seen: dict[str, int] = {}
    for line, row in lines(document):
        with where(line=line):
            item = _record(row)
            if item.id in seen:
                raise UserError(f"'{item.id}' stands on line {seen[item.id]} already", hint="ids must be unique")
            seen[item.id] = line
        yield item


def _record(row: dict[str, Any]) -> Grounded:
    for key in row:
        if key not in KEYS:
            raise UserError(f"key '{key}' is not known", hint=near(key, KEYS) or "known: " + ", ".join(KEYS))
    grounds = field(row, "document", "the object")
    passages = [text(part, "a part of 'document'") for part in grounds] if isinstance(grounds, list) else None
    said = sequence(row.get("history", []), "'history'")
    return Grounded(
        text(field(row, "id", "the object"), "'id'"),
        "\n\n".join(passages) if passages is not None else text(grounds, "'document'"),
        text(field(row, "response", "the object"), "'response'"),
        tuple(text(turn, "a turn of 'history'") for turn in said),
        labels.any_of(row.get("label")),
        text(row.get("source", ""), "'source'"),
    )
