"""The records of a JSON document one at a time, whether it is a list, one per line, or a single object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.readers.decode import BROKEN, check_keys, decode, keys, lines, where
from troth.readers.decode import KEY_END as COLON
from troth.readers.source import RIGHT_FILE, Document


def items(document: Document) -> Iterator[Any]:
    """Each entry of a list, each line, or the one object of a document, decoded as it is reached."""
    if document.starts(b"["):
        entries = decode(document, list[msgspec.Raw])
        if not entries:
            raise UserError("no conversation in it", hint=RIGHT_FILE)
        for number, raw in enumerate(entries):
            with where(dialogue=f"#{number}"):
                yield _decoded(document, raw)
    elif is_lines(document):
        for line, row in lines(document):
            with where(line=line):
                yield row
    else:
        yield _decoded(document, document.data)


def first(document: Document) -> Any:
    """The first entry of a document, or None where there is none: enough to recognise a format."""
    try:
        return next(items(document), None)
    except UserError:
        return None


def is_lines(document: Document) -> bool:
    """Whether a document has one JSON value per line."""
    try:
        msgspec.json.decode(document.head, type=msgspec.Raw)
    except BROKEN:
        return False
    return document.starts(b"{")


def _decoded(document: Document, data: bytes | msgspec.Raw) -> Any:
    value = decode(document, object, data=data)
    if keys(value) != bytes(data).count(COLON):
        check_keys(Document(document.name, bytes(data)))
    return value
