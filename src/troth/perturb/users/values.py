"""A dialogue's values: which are annotated, where they stand in its text, and whether they can still be found there."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, repeat
from typing import NamedTuple

from troth.core.records import Dialogue, Turn

Key = tuple[str, str]  # service and slot
Held = tuple[str, tuple[str, tuple[str, ...]]]  # service, and slot with the alternatives of its value

NO_VALUE = frozenset(("", "none", "not mentioned", "dontcare"))  # words for "nothing" and "anything"; said as no name

# Ordinary words that are names of songs, films and people as well. A name made of nothing else is taken for a name only
# where it is annotated, or written as one in the middle of a sentence.
COMMON = frozenset(
    re.findall(
        r"\S+",
        """
    a about after again airport all also am an and any are area around as ask at away back bar be because bed been
    before best better big book booking both break bus but by cab call can cancel car centre center change cheap
    check church cinema city club college colors come could day days dinner do does done down drive each east easy
    eat else end enough entertainment even evening ever every everything family fast few find fine first flight food
    for free friday friend friends from garden get girl give go going gone good great group guesthouse had happy has
    have he hello help her here hers hey hi him his hold home hope hotel hour house how i if in is it its just keep
    kind know large last late later leave left let like limbo little live local long look lost love lunch made make
    man many may maybe me meet mind monday money more morning most move movie mr much museum music must my name near
    need never new next nice night no none noon north not nothing now number of off ok okay old on once one only
    open or other our out over park part party people perfect phone place play please pool pub question quick quiet
    rain ready really rent rest restaurant ride right road room safe same saturday say school search see send set
    she show side since small so some someone something song soon sorry south star start station stay still stop
    stories street such sunday super sure table take taxi tell thank thanks that the their them then there these
    they thing things think this those three thursday ticket time to today together tomorrow tonight too town train
    travel true try tuesday two until up us use very visit wait walk want was watch water way we weather wednesday
    week well were west what when where which while who why will with without wonderful work world would yeah year
    yes yesterday yet you young your
""",
    )
)


class Told(NamedTuple):
    """A dialogue's annotated values, each with its alternatives, once."""

    states: set[Held]
    acts: set[Held]

    def every(self) -> set[str]:
        """All values, in lower-case."""
        found: set[str] = set()
        for held in self:
            for _, (_, values) in held:
                found.update(values)
        return {lowered(value) for value in found - NO_VALUE}

    def of(self, key: Key) -> set[str]:
        return {
            value for held in self for service, (slot, values) in held if (service, slot) == key for value in values
        }


def told(dialogue: Dialogue) -> Told:
    """Every value that the dialogue's states and acts hold."""
    states: set[Held] = set()
    acts: set[Held] = set()
    for turn in dialogue.turns:
        for frame in turn.frames:
            if frame.state is not None:
                states.update(zip(repeat(frame.service), frame.state.slot_values.items()))
            for act in frame.acts:
                if act.values and act.slot != "intent" and act.slot:
                    acts.add((frame.service, (act.slot, act.values)))
    return Told(states, acts)


def places(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Where a value stands in a text in whole words; both in lower-case."""
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if whole(text, at, end):
            yield at, end
        at = text.find(value, at + 1)


def whole(text: str, start: int, end: int) -> bool:
    """Whether a piece of a text begins and ends where words do; "Leeds" does so in "Leeds's"."""
    return not (
        (start > 0 and _within(text[start - 1], text[start])) or (end < len(text) and _within(text[end - 1], text[end]))
    )


def _within(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum()


def lowered(text: str) -> str:
    """Lower-case with the same number of characters, so that places found in it are places in the text."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def shields(turn: Turn, values: set[str]) -> list[tuple[int, int]]:
    """Stretches of a turn's text that edits must leave whole: its spans, and wherever a value stands (in lower-case).

    A value counts inside of words, too: whoever looks for it by plain search must find it as before.
    """
    found = {(span.start, span.exclusive_end) for frame in turn.frames for span in frame.spans or ()}
    text = lowered(turn.text)
    for value in values:
        if value in text:
            at = text.find(value)
            while at >= 0:
                found.add((at, at + len(value)))
                at = text.find(value, at + 1)
    return sorted(found)


def lost(before: Dialogue, after: Dialogue) -> list[str]:
    """State values that the text so far held before, ignoring case, and does not hold any more."""
    first: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, ...]] = set()
    for index, (old, new) in enumerate(zip(before.turns, after.turns, strict=True)):
        for frame, other in zip(old.frames, new.frames, strict=True):
            if frame.state is None or other.state is None:
                continue
            for slot, values in frame.state.slot_values.items():
                if values not in seen:
                    seen.add(values)
                    for pair in zip(values, other.state.slot_values[slot], strict=False):
                        first.setdefault(pair, index)
    was, now = Said(before), Said(after)
    missing = []
    for (value, other_value), index in first.items():
        at = was.turn(value)
        if at is not None:
            then = now.turn(other_value)
            if then is None or then > max(at, index):
                missing.append(value)
    return missing


class Said:
    """All that was said, to be searched at once."""

    def __init__(self, dialogue: Dialogue) -> None:
        texts = [turn.text.lower() for turn in dialogue.turns]
        self.text = "\n".join(texts)
        self.lengths = [len(text) + 1 for text in texts]

    def turn(self, value: str) -> int | None:
        """The first turn that a value stands in."""
        at = self.text.find(value.lower())
        return None if at < 0 else bisect_right(self.ends, at)

    @cached_property
    def ends(self) -> list[int]:
        return list(accumulate(self.lengths))
