"""Digests of inputs. Two runs with equal digests were scored against the same gold and schema."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from types import FunctionType

import msgspec

from troth.core.records import Schema

_BYTES = 16
_encode = msgspec.json.Encoder(order="deterministic").encode


def _encode_other(value: object) -> object:
    """Arrays by their content, functions by their name."""
    return value.__qualname__ if isinstance(value, FunctionType) else bytes(memoryview(value))  # type: ignore[arg-type]


_encode_arrays = msgspec.json.Encoder(order="deterministic", enc_hook=_encode_other).encode


class Digest:
    """A digest of records, in whatever order they come. Digests of two parts of a corpus can be joined."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, record: object) -> None:
        self.total += int.from_bytes(blake2b(_encode(record), digest_size=_BYTES).digest(), "big")

    def merge(self, other: Digest) -> None:
        self.total += other.total

    def __str__(self) -> str:
        return f"{self.total % 2 ** (8 * _BYTES):0{2 * _BYTES}x}"


def joined_digest(digests: Iterable[str]) -> str:
    """The digest of a corpus from the digests of its parts."""
    whole = Digest()
    whole.total = sum(int(one, 16) for one in digests)
    return str(whole)


def digest(records: Iterable[object]) -> str:
    """The digest of records, in any order."""
    made = Digest()
    for record in records:
        made.add(record)
    return str(made)


def ordered_digest(records: Iterable[object]) -> str:
    """The digest of records in their order, because training depends on it. Arrays count by their bytes."""
    whole = blake2b(digest_size=_BYTES)
    for record in records:
        whole.update(blake2b(_encode_arrays(record), digest_size=_BYTES).digest())
    return whole.hexdigest()


def schema_digest(schema: Schema | None) -> dict[str, str]:
    """`{"schema": …}`, or nothing without a schema."""
    return {} if schema is None else {"schema": digest(schema.values())}
