"""The first object of a JSON document: enough to recognise a format, and decoded no further."""

from __future__ import annotations

from typing import Any

import msgspec

from troth.readers.decode import BROKEN
from troth.readers.source import Document

Keys = dict[str, msgspec.Raw]


def opening(document: Document) -> Keys:
    """The first object of a document, of its first line, or of its list, with values not decoded; {} if none."""
    data = document.data.lstrip()
    if data[:1] == b"{":
        return _decoded(data.partition(b"\n")[0], Keys) or _decoded(data, Keys) or {}
    items = _decoded(data, list[msgspec.Raw]) if data[:1] == b"[" else None
    return (_decoded(bytes(items[0]), Keys) if items else None) or {}


def value(keys: Keys, key: str, kind: Any) -> Any:
    """One of the values, if it is of that kind; else None."""
    return _decoded(bytes(keys[key]), kind) if key in keys else None


def _decoded(data: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except BROKEN:
        return None
