"""The records of a JSON document, one at a time; the document is a list, has one per line, or is a single object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.core.errors import UserError
from troth.readers.decode import KEY_END, check_keys, decode, error_context, keys
from troth.readers.source import RIGHT_FILE, Document


def items(document: Document) -> Iterator[Any]:
    """Each entry of a list, each line, or the only object of a document, decoded one at a time."""
    if is_lines(document):
        for number, line in enumerate(document.data.split(b"\n"), 1):
            if line.strip():
                with error_context(line=number):
                    yield _decode(document, line)
    elif document.starts(b"["):
        entries = decode(document, list[msgspec.Raw])
        if not entries:
            raise UserError("no conversation in it", hint=RIGHT_FILE)
        for number, raw in enumerate(entries):
            with error_context(dialogue=f"#{number}"):
                yield _decode(document, raw)
    else:
        yield _decode(document, document.data)


def first_item(document: Document) -> Any:
    """The first entry of a document, or None if there is none: enough to recognise a format."""
    try:
        return next(items(document), None)
    except UserError:
        return None


def is_lines(document: Document) -> bool:
    """Whether a document has one JSON value per line: an object, or a list that is not the whole document."""
    head = document.head
    try:
        msgspec.json.decode(head, type=msgspec.Raw)
    except DECODING_ERRORS:
        return False
    return head[:1] == b"{" or (head[:1] == b"[" and len(document.data.strip()) > len(head.strip()))


def _decode(document: Document, data: bytes | msgspec.Raw) -> Any:
    value = decode(document, object, data=data)
    if keys(value) != bytes(data).count(KEY_END):
        check_keys(Document(document.name, bytes(data)))
    return value
