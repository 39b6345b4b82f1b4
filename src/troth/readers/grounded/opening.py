"""The first object of a JSON document: enough to recognise a format, and decoded no further."""

from __future__ import annotations

from typing import Any

import msgspec

from troth.readers.decode import BROKEN
from troth.readers.source import Document

Keys = dict[str, msgspec.Raw]


def opening(document: Document) -> Keys:
    """The first object of a document, of its first line, or of its list, with values not decoded; {} if none."""
    if document.starts(b"["):
        items = _decoded(document.data, list[msgspec.Raw])
        return (_decoded(bytes(items[0]), Keys) if items else None) or {}
    return _decoded(document.head, Keys) or _decoded(document.data, Keys) or {}


def _decoded(data: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except BROKEN:
        return None
