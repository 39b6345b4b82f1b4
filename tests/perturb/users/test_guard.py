"""The guard: what a paraphrase may not lose, and how spans follow."""

from __future__ import annotations

import msgspec
import pytest

from troth.core.records import Act, Frame, Span, State, Turn
from troth.perturb.users import guard


def turn(text: str, *values: str, told: dict[str, str] | None = None) -> Turn:
    """A user turn; each of `values` is a span at its next occurrence, `told` is the state."""
    spans, at = [], 0
    for number, value in enumerate(values):
        at = text.index(value, at)
        spans.append(Span(f"slot{number}", at, at + len(value)))
        at += len(value)
    state = State(slot_values={slot: (value,) for slot, value in (told or {}).items()})
    return Turn("USER", text, (Frame("Service_1", state, tuple(spans)),))


def judged(old: Turn, new: str) -> Turn | str:
    return guard.check_paraphrase(old, guard.find_protected(old), new)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (turn("Find a hotel in Paris.", "Paris"), "Look for a hotel.", guard.VALUE),
        (turn("Find a hotel in Paris.", "Paris"), "Look for a hotel in Parish.", guard.VALUE),
        (turn("I like Thai food.", told={"food": "thai"}), "I like Asian food.", guard.VALUE),
        (turn("I want to buy a house.", told={"intent": "buy"}), "I want to purchase a house.", guard.VALUE),
        (turn("A table for 2 please."), "A table for two please.", guard.NUMBER),
        (turn("A table for two."), "Could I have a table for three?", guard.NUMBER),
        (turn("A table for one."), "Could I have a table?", guard.NUMBER),
        (turn("Book it."), "Book 2 of it.", guard.NUMBER),
        (turn("At 5:30 pm."), "At 5:30 am.", guard.NUMBER),
        (turn("Is it open tomorrow?"), "Is it open today?", guard.TIME),
        (turn("Anything before lunch?"), "Anything after lunch?", guard.TIME),
        (turn("I spoke to Alice."), "I talked to her.", guard.NAME),
        (turn("I don't smoke."), "I smoke.", guard.NEGATION),
        (turn("I smoke."), "I never smoke, you know.", guard.NEGATION),
        (turn("No, thanks."), "Thanks a lot.", guard.NEGATION),
        (turn("Yes, book the table."), "Book a table.", guard.ANSWER),
        (turn("Book the table."), "Yes, reserve the table.", guard.ANSWER),
        (turn("I would like a room."), "It would like me a room.", guard.PERSON),
        (turn("What is their address?"), "What is his address?", guard.PERSON),
        (turn("A train from York to Leeds.", "York", "Leeds"), "A train to York from Leeds.", guard.ROLE),
        (turn("It should arrive by 10."), "It should arrive at 10.", guard.ROLE),
        (turn("I want a room."), "I want want a bed.", guard.GARBLED),
        (turn("I want a room."), "I need a *room.", guard.GARBLED),
        (turn("I want a room."), 'I need a "room.', guard.GARBLED),
        (turn("Okay."), "Sure, here is a paraphrase of your message, in other words: " * 3, guard.GARBLED),
        (turn("I want a room."), "i want a room!", guard.UNCHANGED),
    ],
)
def test_refused(old: Turn, new: str, reason: str) -> None:
    assert judged(old, new) == reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Yes, that works.", "Sounds good."),
        ("I want to go to Paris.", "I want to visit Paris."),
        ("From Leeds to York.", "To York from Leeds."),
        ("I don't need anything else.", "There is nothing else that I need."),
        ("Tell me about the other one.", "What about the other?"),  # "one" stands for a noun here
        ("Is it furnished?", "Could you tell me whether it is furnished?"),
    ],
)
def test_accepted(old: str, new: str) -> None:
    after = judged(turn(old), new)
    assert isinstance(after, Turn)
    assert after.text == new


def test_spans_follow_and_values_keep_their_letters() -> None:
    old = turn("I go from San Jose to NEW York on March 8th", "San Jose", "NEW York", "March 8th")
    after = judged(old, "On march 8th my trip is to new york from san jose")
    assert isinstance(after, Turn)
    assert after.text == "On March 8th my trip is to NEW York from San Jose"
    cut = {span.slot: after.text[span.start : span.exclusive_end] for span in after.frames[0].spans or ()}
    assert cut == {"slot0": "San Jose", "slot1": "NEW York", "slot2": "March 8th"}


def test_the_same_value_twice_goes_by_order() -> None:
    old = turn("I need 2 rooms for 2 nights", "2", "2")
    after = judged(old, "Could I have 2 rooms for 2 nights?")
    assert isinstance(after, Turn)
    assert [span.start for span in after.frames[0].spans or ()] == [13, 25]


def test_a_value_inside_another_is_not_taken_for_it() -> None:
    old = turn("From York to New York please", "York", "New York")
    after = judged(old, "Get me to New York from York")
    assert isinstance(after, Turn)
    assert [span.start for span in after.frames[0].spans or ()] == [24, 10]


def test_a_capital_word_stays_where_it_was() -> None:
    old = turn("The first one was better. One seat please")
    after = judged(old, "I liked the first one better. One seat only")
    assert isinstance(after, Turn)
    assert after.text == "I liked the first one better. One seat only"


def test_overlapping_spans_move_together() -> None:
    text = "A hotel in New York City"
    spans = (Span("city", 11, 24), Span("area", 15, 19))
    old = Turn("USER", text, (Frame("Service_1", None, spans),))
    after = judged(old, "In New York City, a hotel")
    assert isinstance(after, Turn)
    assert [after.text[s.start : s.exclusive_end] for s in after.frames[0].spans or ()] == ["New York City", "York"]


def test_acts_count_and_old_state_does_not() -> None:
    frame = Frame("Service_1", State(slot_values={"kind": ("rock",)}), (), (Act("INFORM", "place", ("the park",)),))
    old = Turn("USER", "Something like rock in the park", (frame,))
    lost = guard.check_paraphrase(old, guard.find_protected(old), "Some kind of rock outdoors")
    assert lost == guard.VALUE
    known = {"Service_1": {"kind": ("rock",)}}
    kept = guard.find_protected(old, known)
    assert [old.text[part.start : part.end] for part in kept] == ["the park"]


def test_input_stays_as_it_is() -> None:
    old = turn("I go to San Jose", "San Jose")
    before = msgspec.json.encode(old)
    judged(old, "San Jose is where I go")
    assert msgspec.json.encode(old) == before
