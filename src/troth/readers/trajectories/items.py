"""The records of a JSON document one at a time, whether it is a list, one per line, or a single object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.readers.decode import BROKEN, check_keys, decode, keys, where
from troth.readers.decode import KEY_END as COLON
from troth.readers.source import RIGHT_FILE, Document


def items(document: Document) -> Iterator[Any]:
    """Each entry of a list, each line, or the one object of a document, decoded as it is reached."""
    if is_lines(document):
        for number, line in enumerate(document.data.split(b"\n"), 1):
            if line.strip():
                with where(line=number):
                    yield _decoded(document, line)
    elif document.starts(b"["):
        entries = decode(document, list[msgspec.Raw])
        if not entries:
            raise UserError("no conversation in it", hint=RIGHT_FILE)
        for number, raw in enumerate(entries):
            with where(dialogue=f"#{number}"):
                yield _decoded(document, raw)
    else:
        yield _decoded(document, document.data)


def first(document: Document) -> Any:
    """The first entry of a document, or None where there is none: enough to recognise a format."""
    try:
        return next(items(document), None)
    except UserError:
        return None


def is_lines(document: Document) -> bool:
    """Whether a document has one JSON value per line: an object, or a list that is not all there is."""
    head = document.head
    try:
        msgspec.json.decode(head, type=msgspec.Raw)
    except BROKEN:
        return False
    return head[:1] == b"{" or (head[:1] == b"[" and len(document.data.strip()) > len(head.strip()))


def _decoded(document: Document, data: bytes | msgspec.Raw) -> Any:
    value = decode(document, object, data=data)
    if keys(value) != bytes(data).count(COLON):
        check_keys(Document(document.name, bytes(data)))
    return value
