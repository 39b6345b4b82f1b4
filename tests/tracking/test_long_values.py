"""Values as long as texts: compared in time that is in proportion to them, or refused with a reason."""

from __future__ import annotations

import pytest

from tests.limits import processor_limit
from troth.core.errors import UserError
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
