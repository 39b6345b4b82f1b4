"""Slot error rate: which values count, and when one is there."""

from __future__ import annotations

import pytest

from troth.core.records import Act, Frame, Schema, Service, SlotSchema
from troth.responses import ser as slot_error

SCHEMA: Schema = {
    "A": Service("A", slots=(SlotSchema("name"), SlotSchema("area", is_categorical=True, possible_values=("N",)))),
    "B": Service("B", slots=(SlotSchema("name", is_categorical=True), SlotSchema("area"))),
}
SLOTS = slot_error.noncategorical_slots(SCHEMA)


def test_slots_are_told_by_service() -> None:
    assert {("A", "name"), ("B", "area")} == SLOTS


@pytest.mark.parametrize(
    ("service", "act", "expected"),
    [
        ("A", Act("OFFER", "name", ("Queens",)), ["Queens"]),
        ("A", Act("OFFER", "name", ("Queens", "Kings")), ["Queens", "Kings"]),
        ("A", Act("REQUEST", "name", ("Queens",)), ["Queens"]),
        ("A", Act("OFFER", "name", ("today",), ("2019-03-01",)), ["today"]),
        ("A", Act("REQUEST", "name"), []),
        ("A", Act("OFFER", "area", ("N",)), []),
        ("B", Act("OFFER", "name", ("Queens",)), []),
        ("A", Act("INFORM_COUNT", "count", ("2",)), []),
        ("C", Act("OFFER", "name", ("Queens",)), []),
        ("A", Act("GOODBYE"), []),
    ],
)
def test_what_must_be_said(service: str, act: Act, expected: list[str]) -> None:
    assert list(slot_error.due_values([Frame(service, acts=(act,))], SLOTS)) == expected


@pytest.mark.parametrize(
    ("values", "response", "missed"),
    [
        ([], "", []),
        (["Queens"], "", ["Queens"]),
        (["Queens"], "What about QUEENS?", []),
        (["Queens"], "What about it?", ["Queens"]),
        (["Queens", "Kings"], "Kings it is.", ["Queens"]),
        (["1"], "21", []),  # a substring is enough, by the public script
        (["Queens  Inn"], "Queens Inn", ["Queens  Inn"]),
    ],
)
def test_missed(values: list[str], response: str, missed: list[str]) -> None:
    assert slot_error.missing_values(values, response) == missed


def test_the_fingerprint_is_of_which_slots_are_categorical() -> None:
    made = slot_error.fingerprint(SLOTS)
    assert made == slot_error.fingerprint(frozenset(sorted(SLOTS, reverse=True)))
    assert len(made) == 8
    assert made != slot_error.fingerprint(SLOTS - {("A", "name")})
    assert made != slot_error.fingerprint(SLOTS - {("A", "name")} | {("An", "ame")})
