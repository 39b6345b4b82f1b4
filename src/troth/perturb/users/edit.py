"""Text edited with its annotation: spans move with the words that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from troth.core.records import Dialogue, Frame, Span, Turn


class Edit(NamedTuple):
    """Characters `start` to `end` of a text give way to `text`; start == end inserts."""

    start: int
    end: int
    text: str


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
    if all(len(edit.text) == edit.end - edit.start for edit in ordered):  # nothing moves
        return msgspec.structs.replace(turn, text=text)
    frames = tuple([_moved(frame, ordered) for frame in turn.frames])
    return msgspec.structs.replace(turn, text=text, frames=frames)


def _moved(frame: Frame, edits: Sequence[Edit]) -> Frame:
    if not frame.spans:
        return frame
    return msgspec.structs.replace(frame, spans=tuple(_span(span, edits) for span in frame.spans))


def _span(span: Span, edits: Sequence[Edit]) -> Span:
    start, end = span.start, span.exclusive_end
    if start < 0:  # it does not stand in this text
        return span
    shift_start = shift_end = 0
    for edit in edits:
        grown = len(edit.text) - (edit.end - edit.start)
        if (edit.start, edit.end) == (start, end) and start < end:
            shift_end += grown
        elif edit.end <= start:  # before it, or an insertion at its very start
            shift_start += grown
            shift_end += grown
        elif edit.start < end:
            raise ValueError(f"{edit} cuts into the span of {span.slot} at {start}-{end}")
    return msgspec.structs.replace(span, start=start + shift_start, exclusive_end=end + shift_end)


def spans(turn: Turn) -> list[tuple[int, int]]:
    """Where values stand in the text: what edits must leave whole."""
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
        found = context.find(old, at)
        if found >= 0:
            context = context[:found] + new + context[found + len(old) :]
            at = found + len(new)
    return context
