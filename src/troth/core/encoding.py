"""JSON of records that may hold groups, which are stored as their text."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from troth.core.groups import Group

T = TypeVar("T")


def encode_json(value: Any, *, deterministic: bool = False) -> bytes:
    """JSON of a value; `deterministic`: keys and sets sorted, so that equal values have equal bytes."""
    return msgspec.json.encode(value, enc_hook=_plain, order="deterministic" if deterministic else None)


def decode_json(data: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(data, type=kind, dec_hook=_group)


def _plain(value: Any) -> Any:
    if isinstance(value, Group):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")


def _group(kind: type, value: Any) -> Any:
    if kind is Group and isinstance(value, str):
        return Group.parse(value)
    raise NotImplementedError(f"{kind.__name__} has no JSON form")
