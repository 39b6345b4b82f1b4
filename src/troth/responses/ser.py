"""Slot error rate: responses that leave out a value which they must give word by word.

A value counts if its slot is non-categorical in the schema of its service, whatever the act; it is there if it is a
substring of the response, ignoring case. The values are those as said (`values`), not the canonical ones. Slots that no
schema declares (`count`, `intent`) are left aside. This is the rule of the public script, which looks a slot up by
service and slot, divides by *all* turns (`ser`) and has no second denominator: `ser_applicable` divides by the turns in
which there is a value to give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from troth.core import groups
from troth.core.records import Act, Frame, Schema

Slots = frozenset[tuple[str, str]]  # service and slot


def noncategorical_slots(schema: Schema) -> Slots:
    """The slots whose values must be in the response verbatim."""
    return frozenset(
        (service.name, slot.name) for service in schema.values() for slot in service.slots if not slot.is_categorical
    )


def fingerprint(slots: Slots) -> str:
    """A short hash of these slots: the only part of a schema that SER depends on."""
    return groups.fingerprint(map("\t".join, slots))


def expected_values(act: Act, service: str, slots: Slots) -> tuple[str, ...]:
    """The values of one act that a response must give."""
    return act.values if (service, act.slot) in slots else ()


def due_values(frames: Iterable[Frame], slots: Slots) -> Iterator[str]:
    """The values that a system turn with these acts must give; none: SER does not apply to it."""
    return (value for frame in frames for act in frame.acts for value in expected_values(act, frame.service, slots))


def missing_values(values: Iterable[str], response: str) -> list[str]:
    text = response.lower()
    return [value for value in values if value.lower() not in text]
