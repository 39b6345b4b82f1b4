"""Text edited with its annotation: spans move with the words that they stand for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from troth.core.records import Dialogue, Frame, Span, Turn
from troth.perturb.users.values import Place


class Edit(NamedTuple):
    """Characters `start` to `end` of a text give way to `text`; start == end inserts."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)


def edited(turn: Turn, edits: Sequence[Edit]) -> Turn:
    """A turn with its text edited and its spans moved.

    Edits must not overlap each other. An edit that covers a span exactly gives the span the new text; an insertion at
    a span's edge stays outside of it; an edit that cuts into a span otherwise is the caller's mistake.
    """
    ordered = sorted(edits)
    pieces: list[str] = []
    at = 0
    for edit in ordered:
        if edit.start < at or edit.end > len(turn.text):
            raise ValueError(f"edits overlap or leave the text: {edit}")
        pieces += [turn.text[at : edit.start], edit.text]
        at = edit.end
    text = "".join([*pieces, turn.text[at:]])
    if not any(edit.growth for edit in ordered):  # nothing moves
        return msgspec.structs.replace(turn, text=text)
    ends = [edit.end for edit in ordered]
    shifts = list(accumulate((edit.growth for edit in ordered), initial=0))

    def moved(span: Span) -> Span:
        start, end = span.start, span.exclusive_end
        if start < 0:  # it does not stand in this text
            return span
        before = bisect_right(ends, start)  # edits before it, and insertions at its very start
        growth = 0
        if before < len(ordered) and ordered[before].start < end:
            edit = ordered[before]
            if (edit.start, edit.end) != (start, end):
                raise ValueError(f"{edit} cuts into the span of {span.slot} at {start}-{end}")
            growth = edit.growth
        shift = shifts[before]
        return msgspec.structs.replace(span, start=start + shift, exclusive_end=end + shift + growth)

    def frame(old: Frame) -> Frame:
        return msgspec.structs.replace(old, spans=tuple(map(moved, old.spans))) if old.spans else old

    return msgspec.structs.replace(turn, text=text, frames=tuple(map(frame, turn.frames)))


def spans(turn: Turn) -> list[Place]:
    """Where values stand in the text, by the spans of all frames."""
    return sorted(
        (span.start, span.exclusive_end) for frame in turn.frames for span in frame.spans or () if span.start >= 0
    )


def with_contexts(before: Dialogue, after: Dialogue) -> Dialogue:
    """Where turns carry all that was said before them (CheckDST's files), the new words stand there, too."""
    if all(turn.context is None for turn in after.turns):
        return after
    said: list[tuple[str, str]] = []
    turns = []
    for old, new in zip(before.turns, after.turns, strict=True):
        said.append((old.text, new.text))
        turns.append(new if new.context is None else msgspec.structs.replace(new, context=_said(new.context, said)))
    return msgspec.structs.replace(after, turns=tuple(turns))


def _said(context: str, said: Sequence[tuple[str, str]]) -> str:
    at = 0
    for old, new in said:
        place = context.find(old, at)
        if place >= 0:
            context = context[:place] + new + context[place + len(old) :]
            at = place + len(new)
    return context
