"""Values as long as texts: compared in time that is in proportion to them, or refused with a reason."""

from __future__ import annotations

import time

import pytest

import troth
from tests.limits import processor_limit
from troth.core.errors import UserError
from troth.core.records import Dialogue, Frame, State, Turn
from troth.tracking import matching, near_misses


@pytest.mark.parametrize("name", sorted(matching.MATCHERS.keys() - {"exact"}))
def test_values_that_are_too_long_to_match(name: str) -> None:
    match = matching.MATCHERS[name]
    refused = r"a value has \d+,\d+ letters, which is too long for (fuzzy|partial) matching"
    with processor_limit():
        with pytest.raises(UserError, match=refused):
            match("word " * 80_000, "other " * 80_000)
        assert match("word " * 80_000, "word " * 80_000) == 1.0
        assert match("word " * 100, "word " * 101) > 0.9


@pytest.mark.parametrize("text", ["1" + " " * 5000 + "x", " " * 9000 + "1" + " " * 9000, "1:" * 5000, "a" * 100_000])
def test_near_misses_of_long_values(text: str) -> None:
    """The pattern of times took minutes for some hundred spaces."""
    with processor_limit():
        near_misses.difference(("7:30 pm", text + "!"), text)


@pytest.mark.parametrize("text", ["7:30 pm", "7.30  p.m.", "at 19:30", "around   7 : 30 p m", "19h30"])
def test_times_are_still_known(text: str) -> None:
    assert near_misses.difference(("19:30",), text) == "times are written as HH:MM"


def test_scores_by_slot_take_time_in_proportion_to_the_slots() -> None:
    """Eight times the slots take less than 24 times as long; with the square it would be 64 times."""

    def seconds(count: int) -> float:
        frames = [
            Frame("A_1", State(slot_values={f"s{first + number}": (str(number),) for number in range(500)}))
            for first in range(0, count, 500)
        ]
        gold = [Dialogue(f"d{n}", (Turn("USER", "x", (frame,)),), ("A_1",)) for n, frame in enumerate(frames)]
        begin = time.process_time()
        result = troth.dst(gold=gold, pred=gold, by="slot", metrics="aga", resamples=10)
        assert len(result.scores) == count + 1
        return time.process_time() - begin

    assert any(seconds(16_000) < 0.5 + 24 * seconds(2_000) for _ in range(3))
