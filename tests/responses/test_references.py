"""Appendix B, a row a rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.responses.build import STAYS
from troth.core.records import Act, Intent, Service, SlotSchema
from troth.responses import references
from troth.responses.references import candidates, slot_description

A = Act
RULES = {
    "one value": (A("INFORM", "place_name", ("Queens",)), ("Name of the hotel is Queens", "place name is Queens")),
    "two values": (
        A("OFFER", "place_name", ("Queens", "Kings")),
        ("Name of the hotel are Queens and Kings", "place name are Queens and Kings"),
    ),
    "three values": (A("OFFER", "phone", ("1", "2", "3")), ("phone are 1, 2 and 3",)),
    "categorical, not boolean": (A("CONFIRM", "area", ("North",)), ("Part of the town is North", "area is North")),
    "boolean, true, with neither has nor is": (
        A("INFORM", "kids_friendly", ("True",)),
        (
            "Whether the place is kids friendly? Yes.",
            "kids friendly? Yes.",
            "has kids friendly",
            "have kids friendly",
            "is kids friendly",
        ),
    ),
    "boolean, false, with neither has nor is": (
        A("INFORM", "kids_friendly", ("False",)),
        (
            "Whether the place is kids friendly? No.",
            "kids friendly? No.",
            "has not kids friendly",
            "have not kids friendly",
            "is not kids friendly",
        ),
    ),
    "boolean, true, has": (
        A("INFORM", "has_wifi", ("True",)),
        ("Whether there is wifi? Yes.", "has wifi? Yes.", "Does has wifi"),
    ),
    "boolean, false, has": (
        A("INFORM", "has_wifi", ("False",)),
        ("Whether there is wifi? No.", "has wifi? No.", "Does not has wifi"),
    ),
    "boolean, true, is": (
        A("OFFER", "is_unisex", ("True",)),
        ("Whether the salon is unisex? Yes.", "is unisex? Yes.", "is unisex"),
    ),
    "boolean, false, is": (
        A("OFFER", "is_unisex", ("False",)),
        ("Whether the salon is unisex? No.", "is unisex? No.", "is not unisex"),
    ),
    "request": (A("REQUEST", "area"), ("Request Part of the town", "Request area")),
    "request with values to choose from": (
        A("REQUEST", "area", ("North", "South")),
        ("Request Part of the town", "Request area"),
    ),
    "goodbye": (A("GOODBYE"), ("Have a good day.", "Bye bye.", "See you.")),
    "more": (A("REQ_MORE"), ("What else do you need?", "What else can I help you with?", "Is there anything else?")),
    # Ours, which the signature says.
    "count": (A("INFORM_COUNT", "count", ("3",)), ("The number of results found is 3", "count is 3")),
    "intent": (
        A("OFFER_INTENT", "intent", ("ReserveHotel",)),
        ("Offer to reserve rooms in a hotel", "Offer to reserve hotel"),
    ),
    "success": (A("NOTIFY_SUCCESS"), ("The request succeeded.", "It has been done.")),
    "failure": (A("NOTIFY_FAILURE"), ("The request failed.", "It could not be done.")),
    # What has no rule.
    "no slot": (A("AFFIRM"), ()),
    "no value": (A("INFORM", "area"), ()),
    # Where the appendix leaves something open.
    "contains is by word": (
        A("INFORM", "purchase_date", ("today",)),
        ("Day of purchase is today", "purchase date is today"),
    ),
    "without a description": (A("INFORM", "phone", ("555",)), ("phone is 555",)),
    "a boolean that is neither": (
        A("CONFIRM", "has_wifi", ("dontcare",)),
        ("Whether there is wifi is dontcare", "has wifi is dontcare"),
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str) -> None:
    act, expected = RULES[rule]
    assert candidates(act, STAYS) == expected


BOOLEANS = [
    # A name that contains "has", "have" or "is" inside a word does not contain them.
    ("purchased", "True", ("has purchased", "have purchased", "is purchased")),
    ("furnished", "True", ("has furnished", "have furnished", "is furnished")),
    ("furnished", "False", ("has not furnished", "have not furnished", "is not furnished")),
    ("shave", "False", ("has not shave", "have not shave", "is not shave")),
    ("rooms_have_wifi", "True", ("Does rooms have wifi",)),
    ("rooms_have_wifi", "False", ("Does not rooms have wifi",)),
    ("Has_Wifi", "True", ("Does Has Wifi",)),
    ("room_is_clean", "True", ("room is clean",)),
    ("is_where_it_is", "False", ("is not where it is",)),  # the first one alone
    ("this_is_new", "False", ("this is not new",)),
    ("has_seat_that_is_reserved", "True", ("Does has seat that is reserved",)),  # "has" comes first
    ("is_new_and_has_wifi", "False", ("Does not is new and has wifi",)),
]


@pytest.mark.parametrize(("name", "value", "expected"), BOOLEANS)
def test_booleans_by_the_words_of_their_names(name: str, value: str, expected: tuple[str, ...]) -> None:
    service = Service("S", slots=(SlotSchema(name, "", True, ("True", "False")),))
    answered = f"{name.replace('_', ' ')}? {'Yes' if value == 'True' else 'No'}."
    assert candidates(Act("INFORM", name, (value,)), service) == (answered, *expected)


TABLE_3 = [  # the paper's two examples, then what follows from them
    ("Flights_4", "is_nonstop", "False", "Whether the flight is a direct one",
     ("Whether the flight is a direct one? No.", "is nonstop? No.", "is not nonstop", "Flights is not non-stop")),
    ("Buses_3", "additional_luggage", "False", "Whether to carry excess baggage in the bus",
     ("Whether to carry excess baggage in the bus? No.", "additional luggage? No.",
      "Has no additional luggage", "Is not additional luggage", "Does not additional luggage")),
    ("Services_1", "is_unisex", "False", "", ("is unisex? No.", "is not unisex", "Services is not unisex")),
    ("Homes_2", "has_garage", "False", "", ("has garage? No.", "Does not has garage")),
    ("Hotels_9", "room_is_clean", "False", "", ("room is clean? No.", "room is not clean")),
]  # fmt: skip


@pytest.mark.parametrize(("service", "name", "value", "about", "expected"), TABLE_3)
def test_booleans_as_in_table_3(service: str, name: str, value: str, about: str, expected: tuple[str, ...]) -> None:
    known = Service(service, slots=(SlotSchema(name, about, True, ("True", "False")),))
    assert candidates(Act("INFORM", name, (value,)), known, "table3") == expected


@pytest.mark.parametrize("rule", [rule for rule, (act, _) in RULES.items() if act.values != ("False",)])
def test_table_3_has_the_other_sentences_of_appendix_b(rule: str) -> None:
    act, expected = RULES[rule]
    assert candidates(act, STAYS, "table3") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Name of the hotel.", "Name of the hotel"),
        ("What is its name?", "What is its name"),
        ("The name!", "The name"),
        (" The name ... ", "The name"),
        ("Price in U.S. dollars", "Price in U.S. dollars"),
    ],
)
def test_the_mark_at_the_end_of_a_description_is_dropped(text: str, expected: str) -> None:
    service = Service("S", slots=(SlotSchema("name", text),))
    assert candidates(Act("INFORM", "name", ("Queens",)), service)[0] == f"{expected} is Queens"
    assert candidates(Act("REQUEST", "name"), service)[0] == f"Request {expected}"
    assert slot_description(Act("INFORM", "name", ("Queens",)), service) == expected


def test_the_fingerprint_is_of_all_that_moves_references() -> None:
    slot, intent = SlotSchema("area", "Where", True, ("N", "S")), Intent("Find", "Find it")
    service = Service("S", "Anything", (slot, SlotSchema("name")), (intent,))
    made = {
        references.fingerprint({one.name: one})
        for one in (
            service,
            replace(service, name="T"),
            replace(service, slots=(replace(slot, name="region"), SlotSchema("name"))),
            replace(service, slots=(replace(slot, description="In which part"), SlotSchema("name"))),
            replace(service, slots=(replace(slot, possible_values=("N",)), SlotSchema("name"))),
            replace(service, slots=(replace(slot, is_categorical=False), SlotSchema("name"))),
            replace(service, slots=(slot,)),
            replace(service, intents=(replace(intent, description="Seek it"),)),
            replace(service, intents=(replace(intent, name="Seek"),)),
        )
    }
    assert len(made) == 9
    assert {len(one) for one in made} == {8}
    other = Service("A")
    both = [{"S": service, "A": other}, {"A": other, "S": replace(service, description="Not used")}]
    assert references.fingerprint(both[0]) == references.fingerprint(both[1])


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (A("INFORM", "place_name", ("x",)), "Name of the hotel"),
        (A("INFORM_COUNT", "count", ("2",)), "The number of results found"),
        (A("OFFER_INTENT", "intent", ("SearchHotel",)), ""),  # what the schema says of an intent would give it away
        (A("INFORM", "phone", ("1",)), ""),
        (A("GOODBYE"), ""),
    ],
)
def test_description(act: Act, expected: str) -> None:
    assert slot_description(act, STAYS) == expected


@given(
    st.sampled_from(["INFORM", "OFFER", "REQUEST", "CONFIRM", "OFFER_INTENT", "INFORM_COUNT", "GOODBYE", "ODD"]),
    st.sampled_from(["", "count", "intent", "nowhere", *(slot.name for slot in STAYS.slots)]),
    st.lists(st.text(max_size=5), max_size=3),
)
def test_any_act_gives_distinct_sentences(act: str, slot: str, values: list[str]) -> None:
    made = candidates(Act(act, slot, tuple(values)), STAYS)
    assert len(set(made)) == len(made)
    assert all(text.strip() for text in made)


def test_the_rules_have_a_name_for_the_signature() -> None:
    assert references.RULES == references.rules_name("b") == "b+4"
    assert references.rules_name("table3") == "table3+4"
