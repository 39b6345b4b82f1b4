"""Text edited with its spans: a table, and the law that spans keep what they cut out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.core.records import Dialogue, Frame, Span, Turn
from troth.perturb.users.edit import Edit, edited, spans, update_contexts


def turn(text: str, *marked: tuple[int, int]) -> Turn:
    return Turn("USER", text, (Frame("S", spans=tuple(Span("slot", start, end) for start, end in marked)),))


def cut(made: Turn) -> list[str]:
    return [made.text[start:end] for start, end in spans(made)]


@pytest.mark.parametrize(
    ("text", "marked", "edits", "expected", "values"),
    [
        ("to Leeds", [(3, 8)], [], "to Leeds", ["Leeds"]),
        ("to Leeds", [(3, 8)], [Edit(0, 0, "uh ")], "uh to Leeds", ["Leeds"]),
        ("to Leeds", [(3, 8)], [Edit(3, 3, "York no ")], "to York no Leeds", ["Leeds"]),
        ("to Leeds now", [(3, 8)], [Edit(8, 8, " please")], "to Leeds please now", ["Leeds"]),
        ("to Leeds", [(3, 8)], [Edit(3, 8, "Bath")], "to Bath", ["Bath"]),
        ("to Leeds", [(3, 8)], [Edit(3, 8, "Sedel")], "to Sedel", ["Sedel"]),
        ("Leeds, York!", [(0, 5), (7, 11)], [Edit(5, 6, ""), Edit(11, 12, "")], "Leeds York", ["Leeds", "York"]),
        ("a b c", [(2, 3)], [Edit(4, 5, "see"), Edit(0, 1, "an")], "an b see", ["b"]),
        ("Leeds", [(0, 5), (0, 5)], [Edit(0, 5, "Bath")], "Bath", ["Bath", "Bath"]),
    ],
)
def test_edited(text: str, marked: list[tuple[int, int]], edits: list[Edit], expected: str, values: list[str]) -> None:
    before = turn(text, *marked)
    after = edited(before, edits)
    assert (after.text, cut(after)) == (expected, values)
    assert before == turn(text, *marked)


@pytest.mark.parametrize(
    "edits", [[Edit(0, 2, "x"), Edit(1, 3, "y")], [Edit(0, 99, "x")], [Edit(4, 5, "xx")], [Edit(2, 6, "x")]]
)
def test_edits_that_cannot_be_made_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match=r"overlap|cuts into"):
        edited(turn("to Leeds", (3, 8)), edits)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Turn, list[Edit], list[str]]:
    """A text in pieces, some of them values; edits of what lies between, and of some values as a whole."""
    pieces = draw(st.lists(st.tuples(st.booleans(), st.text(min_size=1, max_size=6)), max_size=8))
    text, marked, edits, expected = "", [], [], []
    for is_value, piece in pieces:
        start = len(text)
        text += piece
        new = draw(st.none() | st.text(max_size=6))
        if is_value:
            marked.append((start, len(text)))
            expected.append(piece if new is None else new)
            if new is not None:
                edits.append(Edit(start, len(text), new))
        elif new is not None:
            at = draw(st.integers(start, len(text)))
            edits.append(Edit(at, draw(st.integers(at, len(text))), new))
    places = [(edit.start, edit.end) for edit in edits]
    if len(set(places)) < len(places) or any(b[0] < a[1] for a, b in pairwise(places)):
        edits, expected = [], [text[start:end] for start, end in marked]
    return turn(text, *marked), draw(st.permutations(edits)), expected


@given(cases())
def test_spans_cut_out_their_values_after_any_edits(case: tuple[Turn, list[Edit], list[str]]) -> None:
    before, edits, expected = case
    after = edited(before, edits)
    made = [after.text[s.start : s.exclusive_end] for frame in after.frames for s in frame.spans or ()]
    assert made == expected
    assert len(after.text) == len(before.text) + sum(len(e.text) - (e.end - e.start) for e in edits)


def test_contexts_follow_the_turns() -> None:
    before = Dialogue(
        "d",
        (
            Turn("USER", "to leeds", context="<user> to leeds"),
            Turn("SYSTEM", "when ?"),
            Turn("USER", "now", context="<user> to leeds <system> when ? <user> now"),
        ),
    )
    texts = ("uh to leeds", "when ?", "now now")
    after = Dialogue(
        "d", tuple(Turn(t.speaker, text, context=t.context) for t, text in zip(before.turns, texts, strict=True))
    )
    made = update_contexts(before, after)
    assert [t.context for t in made.turns] == [
        "<user> uh to leeds",
        None,
        "<user> uh to leeds <system> when ? <user> now now",
    ]
