"""The records of a JSON document, one at a time; the document is a list, has one per line, or is a single object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.core.errors import UserError
from troth.readers.decode import KEY_END, check_keys, decode, error_context, keys
from troth.readers.source import RIGHT_FILE, Document


def items(document: Document) -> Iterator[Any]:
    """Each entry of a list, each line, or the only object of a document, decoded one at a time.

    A line that is not JSON is an error, or is skipped, as the document says.
    """
    if is_lines(document):
        for number, line in enumerate(BytesIO(document.data), 1):  # one at a time: formats look at the first alone
            if line.strip():
                with skipping(document), error_context(line=number):
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


@contextmanager
def skipping(document: Document) -> Iterator[None]:
    """Records an error in a row of a document that is read without its broken rows; else lets it pass."""
    try:
        yield
    except UserError as error:
        if document.skipped is None:
            raise
        document.skipped.append(error.line())


def first_item(document: Document) -> Any:
    """The first entry of a document that is JSON, or None if there is none: enough to recognise a format."""
    try:
        return next(items(msgspec.structs.replace(document, skipped=[])), None)
    except UserError:
        return None


def is_lines(document: Document) -> bool:
    """Whether a document has one JSON value per line: an object, or a list that is not the whole document."""
    head, _, rest = document.data.lstrip().partition(b"\n")
    following = rest.lstrip().partition(b"\n")[0]
    if not _is_json(head):  # the first line may be the broken one
        return head[:1] == b"{" == following[:1] and _is_json(following)
    return head[:1] == b"{" or (head[:1] == b"[" and len(document.data.strip()) > len(head.strip()))


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except DECODING_ERRORS:
        return False
    return True


def _decode(document: Document, data: bytes | msgspec.Raw) -> Any:
    value = decode(document, object, data=data)
    if keys(value) != bytes(data).count(KEY_END):
        check_keys(Document(document.name, bytes(data)))
    return value
