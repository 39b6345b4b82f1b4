"""Wrong values that differ from gold in their writing only."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.tracking.build import SCHEMA, dialogue
from troth.tracking.near_misses import difference, lines
from troth.tracking.profiles import PROFILES
from troth.tracking.scorer import Scorer


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ("18:00", "18 : 00", "spaces are ignored"),
        ("North", "north", "letter case is ignored"),
        ("rosa's bed", "rosas bed", "punctuation and accents are ignored"),
        ("Zoë", "zoe", "punctuation and accents are ignored"),
        ("junction theatre", "the junction theatre", "a leading 'the' or 'a' is ignored"),
        ("2 people", "two people", "numbers are written as digits"),
        ("18:00", "6pm", "times are written as HH:MM"),
        ("18:30", "1830", "punctuation and accents are ignored"),
        ("09:05", "9:05", "times are written as HH:MM"),
        ("north", "south", None),
        ("alder", "", None),
        ("6", "6pm", None),
    ],
)
def test_smallest_difference(gold: str, pred: str, expected: str | None) -> None:
    assert difference((gold,), pred) == expected


def test_any_of_golds_values_explains() -> None:
    assert difference(("6 pm", "Six"), "six") == "letter case is ignored"
    assert difference(("6 pm", "six"), "six") == "any of gold's values counts"


def test_counted_by_slot_in_every_turn_and_merged() -> None:
    profile = PROFILES["sgd-exact"]
    one, other = Scorer(profile, SCHEMA), Scorer(profile, SCHEMA)
    gold = dialogue([{"Stays_1": {"name": "Alder Court", "nights": "2"}}] * 3)
    pred = dialogue([{"Stays_1": {"name": "AlderCourt", "nights": "5"}}] * 3)
    for scorer in (one, other):
        scorer.add(gold, pred)
        scorer.add(gold, None)
    one.merge(other)
    assert one.near_misses == {("Stays_1.name", "spaces are ignored"): 6}
    assert list(lines(one.near_misses)) == ["6 wrong Stays_1.name values equal gold if spaces are ignored"]
    assert not list(lines(Counter({("a.b", "spaces are ignored"): 4})))
