"""Values of a dialogue: annotations, positions in the text, and values that were lost by a change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

from troth.core.records import Dialogue, Turn

Key = tuple[str, str]  # service and slot
ValueSet = tuple[str, tuple[str, tuple[str, ...]]]  # service, and slot with the alternatives of its value
TextSpan = tuple[int, int]  # start and end in a text

NO_VALUE = frozenset(("", "none", "not mentioned", "dontcare"))  # "nothing" and "anything", which are not names


class AnnotatedValues(NamedTuple):
    """A dialogue's annotated values, each with its alternatives, once."""

    states: set[ValueSet]
    acts: set[ValueSet]

    def all_values(self) -> set[str]:
        """All values, in lower case."""
        every = {value for held in self for _, (_, values) in held for value in values}
        return {to_lower(value) for value in every - NO_VALUE}

    def values_of(self, key: Key) -> set[str]:
        """The values of one slot."""
        return {value for held in self for service, (slot, every) in held if (service, slot) == key for value in every}


def annotated_values(dialogue: Dialogue) -> AnnotatedValues:
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


def find_all(text: str, value: str) -> Iterator[TextSpan]:
    """All occurrences of a value in a text, also inside words; they may overlap."""
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + 1)


def find_words(text: str, value: str) -> Iterator[TextSpan]:
    """Occurrences of a value in whole words; text and value in lower case. "Leeds" occurs in "Leeds's"."""
    for start, end in find_all(text, value):
        if not (_is_inside_word(text, start) or _is_inside_word(text, end)):
            yield start, end


def _is_inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def to_lower(text: str) -> str:
    """Lower case with the same number of characters, so that positions in it are positions in the text."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def begins_sentence(text: str, at: int, skipped: str = "") -> bool:
    """Whether a position is the start of a sentence, ignoring spaces and `skipped` characters before it."""
    before = skip_back(text, at, skipped)
    return before == 0 or text[before - 1] in ".!?"


def skip_back(text: str, at: int, skipped: str) -> int:
    """The start of the spaces and `skipped` characters directly before a position."""
    while at and (text[at - 1].isspace() or text[at - 1] in skipped):
        at -= 1
    return at


class Shields:
    """Stretches of a text that edits must not change; queries take logarithmic time."""

    def __init__(self, stretches: Iterable[TextSpan]) -> None:
        ordered = sorted(stretches)
        self.starts = [start for start, _ in ordered]
        self.reach = list(accumulate((end for _, end in ordered), max))  # largest end so far

    def touch(self, start: int, end: int) -> bool:
        """Whether a stretch overlaps these characters; with start == end, whether one surrounds that position."""
        before = bisect_left(self.starts, end)
        return before > 0 and self.reach[before - 1] > start


class Claims:
    """Stretches of a text that do not overlap, claimed one after the other."""

    def __init__(self) -> None:
        self.spans: list[TextSpan] = []

    def touch(self, start: int, end: int) -> bool:
        """Whether any of these characters is claimed."""
        at = bisect_left(self.spans, end, key=lambda span: span[0])
        return at > 0 and self.spans[at - 1][1] > start

    def add(self, start: int, end: int) -> bool:
        """Claims these characters, unless any of them is already claimed."""
        free = not self.touch(start, end)
        if free:
            insort(self.spans, (start, end))
        return free


def protected_ranges(turn: Turn, values: set[str]) -> Shields:
    """The stretches of a turn's text that edits must not change: its spans, and all occurrences of values (lower case).

    A value also counts inside words, so that a plain text search finds it as before.
    """
    stretches = {(span.start, span.exclusive_end) for frame in turn.frames for span in frame.spans or ()}
    text = to_lower(turn.text)
    for value in values:
        stretches.update(find_all(text, value))
    return Shields(stretches)


def lost_values(before: Dialogue, after: Dialogue) -> list[str]:
    """State values that were in the text so far before a change, ignoring case, and no longer are."""
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
    """The index of the first text with a value."""
    low = value.lower()
    return next((index for index, text in enumerate(texts) if low in text), None)
