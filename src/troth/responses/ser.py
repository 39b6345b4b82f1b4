"""Slot error rate: responses that leave out a value which they were to give word by word.

A value counts if its slot is non-categorical in the schema of its service, whatever the act; it is there if it stands
in the response as a substring, ignoring case. The values are those as said (`values`), not the canonical ones. Slots
that no schema declares (`count`, `intent`) are left aside. This is the rule of the public script, which finds a slot's
sort by service and slot, divides by *all* turns (`ser`) and has no second denominator: `ser_applicable` divides by the
turns in which there is a value to give.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from troth.core.records import Frame, Schema

Slots = frozenset[tuple[str, str]]  # service and slot


class Value(NamedTuple):
    service: str
    slot: str
    text: str


def noncategorical(schema: Schema) -> Slots:
    """The slots whose values are expected word by word."""
    return frozenset(
        (service.name, slot.name) for service in schema.values() for slot in service.slots if not slot.is_categorical
    )


def fingerprint(slots: Slots) -> str:
    """Short, of which slots these are: the only part of a schema that SER depends on."""
    return hashlib.sha256("\n".join(sorted(map("\t".join, slots))).encode()).hexdigest()[:8]


def due(frames: Iterable[Frame], slots: Slots) -> Iterator[Value]:
    """The values that a system turn with these acts must give; none: SER does not apply to it."""
    for frame in frames:
        for act in frame.acts:
            if (frame.service, act.slot) in slots:
                yield from (Value(frame.service, act.slot, value) for value in act.values)


def missed(values: Iterable[Value], response: str) -> list[Value]:
    """Those of the values that the response leaves out."""
    text = response.lower()
    return [value for value in values if value.text.lower() not in text]
