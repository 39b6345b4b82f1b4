"""Edits texts with their annotation: spans move with their words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from troth.core.records import Dialogue, Frame, Span, Turn
from troth.perturb.users.values import TextSpan


class Edit(NamedTuple):
    """Replaces characters `start` to `end` of a text by `text`; inserts if start == end."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)


def edited(turn: Turn, edits: Sequence[Edit]) -> Turn:
    """A turn with edited text and moved spans.

    Edits must not overlap. An edit that covers a span exactly gives the span the new text; an insertion at the edge of
    a span stays outside of it; any other edit inside a span raises a ValueError.
    """
    ordered = sorted(edits)
    pieces: list[str] = []
    end = 0
    for edit in ordered:
        if edit.start < end or edit.end > len(turn.text):
            raise ValueError(f"edits overlap or leave the text: {edit}")
        pieces += [turn.text[end : edit.start], edit.text]
        end = edit.end
    text = "".join([*pieces, turn.text[end:]])
    if not any(edit.growth for edit in ordered):  # nothing moves
        return msgspec.structs.replace(turn, text=text)
    ends = [edit.end for edit in ordered]
    shifts = list(accumulate((edit.growth for edit in ordered), initial=0))

    def moved(span: Span) -> Span:
        start, end = span.start, span.exclusive_end
        if start < 0:  # it is not in this text
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


def spans(turn: Turn) -> list[TextSpan]:
    """The positions of values in the text, from the spans of all frames."""
    marked = (span for frame in turn.frames for span in frame.spans or ())
    return sorted((span.start, span.exclusive_end) for span in marked if span.start >= 0)


def update_contexts(before: Dialogue, after: Dialogue) -> Dialogue:
    """Updates the contexts of turns (all text before them, as in CheckDST's files) with the new texts."""
    if all(turn.context is None for turn in after.turns):
        return after
    texts: list[tuple[str, str]] = []
    turns = []
    for old, new in zip(before.turns, after.turns, strict=True):
        texts.append((old.text, new.text))
        context = None if new.context is None else _update_context(new.context, texts)
        turns.append(msgspec.structs.replace(new, context=context))
    return msgspec.structs.replace(after, turns=tuple(turns))


def _update_context(context: str, texts: Sequence[tuple[str, str]]) -> str:
    at = 0
    for old, new in texts:
        index = context.find(old, at)
        if index >= 0:
            context = context[:index] + new + context[index + len(old) :]
            at = index + len(new)
    return context
