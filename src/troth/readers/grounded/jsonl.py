"""troth's own JSON Lines: one response per line with its document, history and, where people judged it, a label.

    {"id": "a1", "document": "Crayons …", "history": ["Who makes crayons?"], "response": "Crayola does.", "label": 1}

`document` is a text, or a list of passages. Any other key than these, `source` and `meta` is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.decode import lines, where
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.grounded.opening import opening
from troth.readers.plain import field, known_keys, sequence, text
from troth.readers.source import Document

FORMAT = Format(name="jsonl", about="troth's own JSON Lines: one response per line with its document")

KEYS = ("id", "document", "history", "response", "label", "source", "meta")


def detect(document: Document) -> bool:
    return document.starts(b"{") and {"document", "response"} <= opening(document).keys()


def read(document: Document) -> Iterator[Grounded]:
    seen: dict[str, int] = {}
    for line, row in lines(document):
        with where(line=line):
            item = _record(row)
            if item.id in seen:
                raise UserError(f"duplicate id '{item.id}', already on line {seen[item.id]}", hint="ids must be unique")
            seen[item.id] = line
        yield item


def _record(row: dict[str, Any]) -> Grounded:
    known_keys(row, KEYS)
    passages = field(row, "document")
    if isinstance(passages, list):
        passages = "\n\n".join(text(part, "a part of 'document'") for part in passages)
    return Grounded(
        id=text(field(row, "id"), "'id'"),
        document=text(passages, "'document'"),
        response=text(field(row, "response"), "'response'"),
        history=tuple(text(turn, "a turn of 'history'") for turn in sequence(row.get("history", []), "'history'")),
        label=labels.any_of(row.get("label")),
        source=text(row.get("source", ""), "'source'"),
    )
