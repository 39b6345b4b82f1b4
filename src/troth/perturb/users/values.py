"""A dialogue's values: which are annotated, where they stand in its text, and whether they can still be found there."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

from troth.core.records import Dialogue, Turn

Key = tuple[str, str]  # service and slot
ValueSet = tuple[str, tuple[str, tuple[str, ...]]]  # service, and slot with the alternatives of its value
Place = tuple[int, int]  # where something begins and ends in a text

NO_VALUE = frozenset(("", "none", "not mentioned", "dontcare"))  # words for "nothing" and "anything"; said as no name


class AnnotatedValues(NamedTuple):
    """A dialogue's annotated values, each with its alternatives, once."""

    states: set[ValueSet]
    acts: set[ValueSet]

    def every(self) -> set[str]:
        """All values, in lower case."""
        every: set[str] = set()
        for held in self:
            for _, (_, values) in held:
                every.update(values)
        return {lowered(value) for value in every - NO_VALUE}

    def of(self, key: Key) -> set[str]:
        """The values of one slot."""
        return {
            value for held in self for service, (slot, values) in held if (service, slot) == key for value in values
        }


def annotated(dialogue: Dialogue) -> AnnotatedValues:
    """Every value in the dialogue's states and acts."""
    states: set[ValueSet] = set()
    acts: set[ValueSet] = set()
    for turn in dialogue.turns:
        for frame in turn.frames:
            if frame.state is not None:
                states.update(zip(repeat(frame.service), frame.state.slot_values.items()))
            for act in frame.acts:
                if act.values and act.slot != "intent" and act.slot:
                    acts.add((frame.service, (act.slot, act.values)))
    return AnnotatedValues(states, acts)


def occurrences(text: str, value: str) -> Iterator[Place]:
    """Every place of a value in a text, inside of words as well; they may overlap."""
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + 1)


def places(text: str, value: str) -> Iterator[Place]:
    """Where a value stands in a text in whole words; both in lower case. "Leeds" does so in "Leeds's"."""
    for start, end in occurrences(text, value):
        if not (_inside(text, start) or _inside(text, end)):
            yield start, end


def _inside(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def lowered(text: str) -> str:
    """Lower case with the same number of characters, so that places found in it are places in the text."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def begins_sentence(text: str, at: int, skipped: str = "") -> bool:
    """Whether a place begins a sentence; spaces and `skipped` characters before it do not count."""
    before = opening(text, at, skipped)
    return before == 0 or text[before - 1] in ".!?"


def opening(text: str, at: int, skipped: str = "") -> int:
    """Where the spaces and `skipped` characters right before a place begin."""
    while at and (text[at - 1].isspace() or text[at - 1] in skipped):
        at -= 1
    return at


class Shields:
    """Stretches of a text that edits must leave whole, to be asked in logarithmic time."""

    def __init__(self, stretches: Iterable[Place]) -> None:
        ordered = sorted(stretches)
        self.starts = [start for start, _ in ordered]
        self.reach = list(accumulate((end for _, end in ordered), max))  # how far those up to here reach

    def touch(self, start: int, end: int) -> bool:
        """Whether a stretch overlaps these characters; with start == end, whether one lies around that place."""
        before = bisect_left(self.starts, end)
        return before > 0 and self.reach[before - 1] > start


class Claims:
    """Stretches of a text that do not overlap, claimed one after the other."""

    def __init__(self) -> None:
        self.places: list[Place] = []

    def touch(self, start: int, end: int) -> bool:
        """Whether some of these characters are claimed."""
        at = bisect_left(self.places, end, key=lambda place: place[0])
        return at > 0 and self.places[at - 1][1] > start

    def add(self, start: int, end: int) -> bool:
        """Claims these characters, unless some of them are claimed already."""
        free = not self.touch(start, end)
        if free:
            insort(self.places, (start, end))
        return free


def shields(turn: Turn, values: set[str]) -> Shields:
    """What edits of a turn's text must leave whole: its spans, and wherever a value (in lower case) stands.

    A value counts inside of words, too: whoever looks for it by plain search must find it as before.
    """
    stretches = {(span.start, span.exclusive_end) for frame in turn.frames for span in frame.spans or ()}
    text = lowered(turn.text)
    for value in values:
        stretches.update(occurrences(text, value))
    return Shields(stretches)


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
    was, now = ([turn.text.lower() for turn in dialogue.turns] for dialogue in (before, after))
    missing = []
    for (value, other_value), index in first.items():
        at = _first(was, value)
        if at is not None:
            then = _first(now, other_value)
            if then is None or then > max(at, index):
                missing.append(value)
    return missing


def _first(texts: Sequence[str], value: str) -> int | None:
    """The first text that a value stands in."""
    low = value.lower()
    return next((index for index, text in enumerate(texts) if low in text), None)
