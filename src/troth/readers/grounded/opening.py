"""What JSON data begins with: enough to tell a format by, decoded no further than that."""

from __future__ import annotations

from typing import Any

import msgspec

from troth.readers.decode import decode
from troth.readers.source import Document

Keys = dict[str, msgspec.Raw]


def opening(document: Document, *, strict: bool = False) -> Keys:
    """The first object: of the document, of its first line, or of its list; with values not decoded.

    Nothing where there is none. `strict` makes broken JSON an error.
    """
    data = document.data.lstrip()
    if data[:1] == b"{":
        line = data.partition(b"\n")[0]
        found = _decoded(line, Keys)
        return found if found is not None else _whole(document, Keys, strict) or {}
    if data[:1] == b"[":
        items = _whole(document, list[msgspec.Raw], strict)
        return (_decoded(bytes(items[0]), Keys) if items else None) or {}
    return {}


def value(keys: Keys, key: str, kind: Any) -> Any:
    """One of the values, if it is of that kind; else None."""
    return _decoded(bytes(keys[key]), kind) if key in keys else None


def _whole(document: Document, kind: Any, strict: bool) -> Any:
    return decode(document, kind) if strict else _decoded(document.data, kind)


def _decoded(data: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
