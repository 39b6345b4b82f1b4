"""The first object of a JSON document, not decoded further: enough to recognise a format."""

from __future__ import annotations

from typing import Any

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.readers.source import Document

Keys = dict[str, msgspec.Raw]


def first_object(document: Document) -> Keys:
    """The first object of a document, of its first line, or of its list, with values not decoded; {} if none."""
    if document.starts(b"["):
        items = _decode(document.data, list[msgspec.Raw])
        return (_decode(bytes(items[0]), Keys) if items else None) or {}
    return _decode(document.head, Keys) or _decode(document.data, Keys) or {}


def _decode(data: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except DECODING_ERRORS:
        return None
