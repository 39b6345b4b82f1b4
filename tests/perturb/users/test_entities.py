"""Entities: one new name everywhere, and nothing else touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.perturb.conftest import Corpus, Make, check, corpus_of
from troth import readers
from troth.core.records import Act, Dialogue, Frame, ServiceCall, Span, State, Turn
from troth.perturb.users import Inventory, Twin, apply, inventory
from troth.perturb.users.entities import LOST, OVERLAP, UNSAID, Entities
from troth.text.normalize import is_named_entity


def named(dialogue: Dialogue, known: Inventory) -> set[str]:
    """The names in the dialogue's states and acts."""
    found = set()
    for turn in dialogue.turns:
        for frame in turn.frames:
            pairs = [*(frame.state.slot_values.items() if frame.state else ())]
            pairs += [(act.slot, act.values) for act in frame.acts]
            for slot, values in pairs:
                if is_named_entity(frame.service, slot) and f"{frame.service}.{slot}" not in known.categorical:
                    found.update(values)
    return found - {"dontcare"}


def test_laws_on_sgd(sgd: Corpus) -> None:
    changed = 0
    for before, made in zip(sgd.dialogues, sgd.perturbed("entities"), strict=True):
        after = made.dialogue
        check(before, after)
        assert not made.refused
        new = named(after, sgd.known) - named(before, sgd.known)
        assert not any(name.lower() in sgd.known.known for name in new)
        changed += bool(new)
        for index, (old, other) in enumerate(zip(before.turns, after.turns, strict=True)):
            assert (old.text != other.text) == (index in made.turns)
            assert len(old.text) == len(other.text)
    assert changed > 950


def test_laws_on_multiwoz(multiwoz: Corpus) -> None:
    refused = 0
    for before, made in zip(multiwoz.dialogues, multiwoz.perturbed("entities"), strict=True):
        check(before, made.dialogue)
        if made.refused:
            refused += 1
            assert made.dialogue == before
            assert made.refused.keys() <= {UNSAID, LOST}
    assert refused < 170  # values that the text spells otherwise


def test_other_values_stay(sgd: Corpus) -> None:
    for before, made in zip(sgd.dialogues, sgd.perturbed("entities"), strict=True):
        for old, new in zip(before.turns, made.dialogue.turns, strict=True):
            for frame, other in zip(old.frames, new.frames, strict=True):
                for act, made_act in zip(frame.acts, other.acts, strict=True):
                    if not is_named_entity(frame.service, act.slot):
                        assert act == made_act
                for span, moved in zip(frame.spans or (), other.spans or (), strict=True):
                    if not is_named_entity(frame.service, span.slot):
                        cut = new.text[moved.start : moved.exclusive_end]
                        assert cut == old.text[span.start : span.exclusive_end]


def one(before: Dialogue, *, seed: int = 0, **options: Any) -> Twin:
    return apply(Entities(**options), before, corpus_of([before]).known, seed=seed)


def scrambled(new: str, old: str) -> bool:
    return (
        new != old
        and sorted(new.lower()) == sorted(old.lower())
        and [c.isupper() for c in new] == [c.isupper() for c in old]
    )


def test_every_casing_and_the_possessive_have_the_same_new_name(make: Make) -> None:
    before = make(
        ("Play something by Shatta Wale.", {"artist": "Shatta Wale"}),
        ("Is SHATTA WALE'S new song fine?", {}),
        ("Yes, shatta wale is great, Shatta Wale's best.", {}),
    )
    first, second, third = (turn.text for turn in one(before).dialogue.turns)
    new = first.removeprefix("Play something by ").removesuffix(".")
    assert scrambled(new, "Shatta Wale")
    assert second == f"Is {new.upper()}'S new song fine?"
    assert third == f"Yes, {new.lower()} is great, {new}'s best."


def test_letters_move_across_the_words_of_a_name(make: Make) -> None:
    before = make(
        ("i found ask restaurant , is that ok ?", {"name": "ask restaurant"}),
        ("Is Ask Restaurant open, with ASK RESTAURANT'S menu?", {}),
        service="restaurant",
    )
    apart = 0
    for seed in range(20):
        made = one(before, seed=seed, scramble="name").dialogue
        new = made.turns[0].text.removeprefix("i found ").removesuffix(" , is that ok ?")
        assert sorted(new) == sorted("ask restaurant")
        assert new.split(" ") == new.split() != ["ask", "restaurant"]
        apart += sorted(map(len, new.split())) != [3, 10]
        state = made.turns[0].frames[0].state
        assert state is not None
        assert state.slot_values["name"] == (new,)
        assert made.turns[1].text == f"Is {new.title()} open, with {new.upper()}'S menu?"
        assert made == one(before, seed=seed, scramble="name").dialogue
        assert made != one(before, seed=seed, scramble="words").dialogue
    assert apart > 10  # the space moves, too


def test_a_mixed_name_inside_a_longer_one_and_what_is_no_letter(make: Make) -> None:
    before = make(
        ("A table at Andes Cafe.", {"restaurant_name": "Andes Cafe"}),
        ("Andes Cafe San Mateo, is that right?", {"restaurant_name": "Andes Cafe San Mateo"}),
        ("Or Joe's No. 9 Bar-Grill?", {"restaurant_name": "Joe's No. 9 Bar-Grill"}),
        service="Restaurants_2",
    )
    first, second, third = (turn.text for turn in one(before, scramble="name").dialogue.turns)
    cafe = first.removeprefix("A table at ").removesuffix(".")
    assert second.startswith(f"{cafe} ")
    assert not {"San", "Mateo,"} & set(second.split())
    assert [c for c in third if not c.isalpha() and c != " "] == ["'", ".", "9", "-", "?"]


def test_laws_of_mixed_names(sgd: Corpus) -> None:
    for before in sgd.dialogues[:200]:
        made = apply(Entities(scramble="name"), before, sgd.known, seed=3)
        check(before, made.dialogue)
        assert not made.refused
        new = named(made.dialogue, sgd.known) - named(before, sgd.known)
        assert not any(name.lower() in sgd.known.known for name in new)


def test_a_name_that_is_a_word_changes_only_where_it_is_meant(make: Make) -> None:
    before = make(
        ("I am happy to hear Happy please.", {"song_name": "Happy"}),
        ("Happy to help. I play Happy now, are you happy?", {"song_name": "Happy"}),
        ("So happy. Happy days!", {}),
    )
    frames = before.turns[1].frames[0]
    marked = msgspec.structs.replace(frames, spans=(Span("song_name", 22, 27),))  # the second one is annotated
    turns = (before.turns[0], msgspec.structs.replace(before.turns[1], frames=(marked,)), before.turns[2])
    before = msgspec.structs.replace(before, turns=turns)
    at = before.turns[0].text.index("Happy")
    new = one(before).dialogue.turns[0].text[at : at + 5]
    texts = [turn.text for turn in one(before).dialogue.turns]
    assert scrambled(new, "Happy")
    assert texts == [
        f"I am happy to hear {new} please.",
        f"Happy to help. I play {new} now, are you happy?",
        "So happy. Happy days!",
    ]


def test_a_name_inside_another_value_stays_there(make: Make) -> None:
    before = make(
        ("Take me to Paris.", {"destination": "Paris"}),
        ("It is at 3 Paris Road, Oakham.", {"street_address": "3 Paris Road, Oakham"}),
        ("Fine, to Paris.", {}),
        service="RideSharing_2",
    )
    texts = [turn.text for turn in one(before).dialogue.turns]
    assert "Paris" not in texts[0] + texts[2]
    assert texts[1] == "It is at 3 Paris Road, Oakham."


def test_another_value_inside_a_name_stays_readable(make: Make) -> None:
    before = make(("i want the ashley hotel", {"name": "ashley hotel", "type": "hotel"}), service="hotel", spans=False)
    made = one(before).dialogue.turns[0]
    state = made.frames[0].state
    assert state is not None
    assert made.text == f"i want the {state.slot_values['name'][0]}"
    assert made.text.endswith(" hotel")
    assert "ashley" not in made.text


def test_longer_names_first_and_parts_agree(make: Make) -> None:
    before = make(
        ("A table at Andes Cafe in San Mateo.", {"restaurant_name": "Andes Cafe", "location": "San Mateo"}),
        ("Andes Cafe San Mateo, is that right?", {"restaurant_name": "Andes Cafe San Mateo"}),
        service="Restaurants_2",
    )
    first, second = (turn.text for turn in one(before).dialogue.turns)
    cafe, city = first.removeprefix("A table at ").removesuffix(".").split(" in ")
    assert second == f"{cafe} {city}, is that right?"


def test_all_annotation_follows() -> None:
    text = "Andes Cafe in SF"
    spans = (Span("restaurant_name", 0, 10), Span("location", 14, 16))
    state = State(
        "Find", (), {"restaurant_name": ("Andes Cafe",), "location": ("SF", "San Francisco"), "time": ("6 pm",)}
    )
    acts = (Act("OFFER", "location", ("SF",), ("San Francisco",)), Act("OFFER", "count", ("2",), ("2",)))
    call = ServiceCall("Find", {"location": "San Francisco", "time": "18:00", "seats": 2})
    results = ({"restaurant_name": "Andes Cafe", "rating": "4"}, {"restaurant_name": "Sino", "rating": "3"})
    user = Frame("Restaurants_2", state, spans, acts)
    system = Frame("Restaurants_2", None, (), acts, call, results)
    before = Dialogue("d", (Turn("USER", text, (user,)), Turn("SYSTEM", "Ok.", (system,))))
    after = one(before).dialogue
    cafe, city = after.turns[0].text.split(" in ")
    frame = after.turns[0].frames[0]
    assert frame.state is not None
    short, full = frame.state.slot_values["location"]
    assert (frame.state.slot_values["restaurant_name"], short) == ((cafe,), city)
    assert scrambled(cafe, "Andes Cafe")
    assert scrambled(full, "San Francisco")
    assert frame.state.slot_values["time"] == ("6 pm",)
    assert frame.acts == (Act("OFFER", "location", (short,), (full,)), acts[1])
    other = after.turns[1].frames[0]
    assert other.service_call == ServiceCall("Find", {"location": full, "time": "18:00", "seats": 2})
    # Sino is mentioned nowhere in the dialogue
    assert other.service_results == (
        {"restaurant_name": cafe, "rating": "4"},
        {"restaurant_name": "Sino", "rating": "3"},
    )


def test_values_of_spans_follow() -> None:
    span = Span("restaurant-name", 0, 4, ["Nuns", "nuns"])
    frame = Frame("restaurant", State("f", (), {"restaurant-name": ("Nuns", "nuns")}), (span,))
    after = one(Dialogue("d", (Turn("USER", "Nuns", (frame,)),))).dialogue.turns[0]
    marked = after.frames[0].spans
    assert marked is not None
    assert marked[0].value == [after.text, after.text.lower()]


def test_closed_lists_stay(make: Make) -> None:
    before = make(("To Leeds please.", {"destination": "Leeds"}), service="Buses_9")
    known = msgspec.structs.replace(corpus_of([before]).known, categorical=frozenset(("Buses_9.destination",)))
    assert apply("entities", before, known).dialogue == before


def test_slots_of_ones_own(make: Make) -> None:
    before = make(("Ring Ada about Leeds.", {"friend": "Ada", "city": "Leeds"}), service="Phone_1")
    texts = [one(before, slots=slots).dialogue.turns[0].text for slots in ((), ("friend",), ("Phone_1.friend", "city"))]
    assert [("Ada" in text, "Leeds" in text) for text in texts] == [(True, False), (False, True), (False, False)]


def test_names_of_ones_own(make: Make) -> None:
    before = make(
        ("A table at Andes Cafe.", {"restaurant_name": "Andes Cafe"}),
        ("At andes cafe? ANDES CAFE is full. Sino then, or Andes Cafe Two?", {"restaurant_name": "Sino"}),
        ("Sino.", {"restaurant_name": "Sino"}),
        service="Restaurants_2",
    )
    names = ("The Blue Door", "Sino", "Rook & Crow")
    first, second, third = (turn.text for turn in one(before, names=names).dialogue.turns)
    cafe, other = first.removeprefix("A table at ").removesuffix("."), third.removesuffix(".")
    assert {cafe, other} == {"The Blue Door", "Rook & Crow"}  # Sino is known already
    assert second == f"At {cafe.lower()}? {cafe.upper()} is full. {other} then, or {cafe} Two?"


def test_too_few_names_are_eked_out_by_scrambling(make: Make) -> None:
    before = make(("From Leeds to Bristol.", {"from": "Leeds", "to": "Bristol"}), service="Trains_1")
    made = one(before, names=("Ely",)).dialogue.turns[0]
    values = made.frames[0].state.slot_values  # type: ignore[union-attr]
    new = {values["from"][0], values["to"][0]}
    assert "Ely" in new
    assert made.text == f"From {values['from'][0]} to {values['to'][0]}."


def test_refused_where_the_text_says_it_otherwise(make: Make) -> None:
    before = make(("to saint john 's college", {"destination": "saint johns college"}), service="taxi", spans=False)
    made = one(before)
    assert (made.dialogue, made.refused) == (before, {UNSAID: 1})


def test_refused_where_spans_overlap() -> None:
    spans = (Span("city", 3, 12), Span("city", 7, 12))
    frame = Frame("Weather_1", State("f", (), {"city": ("New Delhi", "Delhi")}), spans)
    before = Dialogue("d", (Turn("USER", "in New Delhi", (frame,)),))
    assert one(before).refused == {OVERLAP: 1}


@pytest.mark.parametrize(
    "word", ["A", "LA", "oo", "SFO", "1917", "O'Hare", "École", "İstanbul", "ß", "Straße", "x" * 50]
)
def test_odd_names(make: Make, word: str) -> None:
    before = make((f"To {word}.", {"city": word}), service="Weather_1")
    made = one(before).dialogue
    check(before, made)
    new = made.turns[0].text.removeprefix("To ").removesuffix(".")
    assert len(new) == len(word)
    assert (new == word) == (word in ("A", "1917", "ß", "İstanbul"))


def test_dontcare_is_no_name(make: Make) -> None:
    before = make(("Any dontcare will do.", {"city": "dontcare"}), service="Weather_1")
    assert one(before).dialogue == before


def test_seed_decides(bundled: Corpus) -> None:
    first, again, other = (bundled.perturbed("entities", seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_name_has_one_new_name_in_acts_calls_and_results(shared: Path) -> None:
    """Canonical forms, too: a result may come before the act that mentions it."""
    folder = shared / "data/sgd/dev"
    items = [d for d in readers.read(str(folder / "dialogues_001.json")) if isinstance(d, Dialogue)]
    items += [d for d in readers.read(str(folder / "dialogues_005.json")) if isinstance(d, Dialogue)]
    known = inventory(items, readers.schema(str(folder / "schema.json")))
    mixed = 0
    for dialogue in items:
        after = apply("entities", dialogue, known).dialogue
        pairs: dict[tuple[str, str, str], set[str]] = {}
        for old, new in zip(dialogue.turns, after.turns, strict=True):
            for was, now in zip(old.frames, new.frames, strict=True):
                for one, other in zip(was.acts, now.acts, strict=True):
                    for a, b in zip(one.canonical_values, other.canonical_values, strict=True):
                        pairs.setdefault((was.service, one.slot, a), set()).add(b)
                for row, changed in zip(was.service_results or (), now.service_results or (), strict=True):
                    for slot, value in row.items():
                        pairs.setdefault((was.service, slot, str(value)), set()).add(str(changed[slot]))
        mixed += sum(len(found) > 1 for found in pairs.values())
    assert mixed == 0


@pytest.mark.parametrize(("start", "end"), [(-1, -1), (0, 999), (5, 2)])
def test_spans_that_do_not_fit_the_text_are_no_crash(start: int, end: int) -> None:
    frame = Frame("Hotels_1", State(slot_values={"hotel_name": ("Alder",)}), (Span("hotel_name", start, end),))
    dialogue = Dialogue("d", (Turn("USER", "the Alder, please", (frame,)),))
    changed = apply("entities", dialogue, inventory([dialogue]))
    assert changed.refused or "Alder" not in changed.dialogue.turns[0].text
