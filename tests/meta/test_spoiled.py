"""Spoiled responses: one act told wrongly, and surely so."""

from __future__ import annotations

import random

import pytest

from troth import demo, readers
from troth.core.records import Act, Service, SlotSchema
from troth.meta.trials.corrupt import KINDS, corrupt, flip_boolean
from troth.responses import sgsacc, tamper
from troth.responses.sgsacc import DueAct

BOOL = ("True", "False")
SERVICE = Service(
    "Trips_1",
    slots=(
        SlotSchema("hotel_name", "Name"),
        SlotSchema("seats", "Seats", True, ("1", "2", "3", "4")),
        *(
            SlotSchema(name, name, True, BOOL)
            for name in ("is_nonstop", "has_wifi", "pets_allowed", "add_insurance", "private_visibility", "has_garage")
        ),
    ),
)
POOL = {("Trips_1", "hotel_name"): [(("Ritz",), ("Ritz",)), (("Savoy",), ("Savoy",)), (("The Ritz",), ())]}


def due(slot: str, value: str) -> DueAct:
    return DueAct(Act("INFORM", slot, (value,)), SERVICE)


@pytest.mark.parametrize(
    ("slot", "value", "text", "after"),
    [
        ("is_nonstop", "True", "It is a direct flight at 4 pm.", "It is a connecting flight at 4 pm."),
        ("is_nonstop", "False", "It has a layover. It costs $5.", "It is direct. It costs $5."),
        ("has_wifi", "True", "Yes, it has wifi.", "No, it does not have wifi."),
        ("has_wifi", "False", "Unfortunately, they don't have any wifi.", "they have wifi."),
        ("has_wifi", "False", "There is no wifi, but a pool.", "There is wifi, but a pool."),
        ("pets_allowed", "True", "The number is 5 and pets are allowed.", "The number is 5 and pets are not allowed."),
        ("pets_allowed", "False", "No, pets are not allowed.", "Yes, pets are allowed."),
        ("add_insurance", "True", "You want 2 seats with insurance.", "You want 2 seats without insurance."),
        ("add_insurance", "False", "A car without insurance.", "A car with insurance."),
        ("add_insurance", "True", "It will include insurance.", "It will not include insurance."),
        ("private_visibility", "False", "It is a public payment.", "It is a private payment."),
        ("has_garage", "True", "It does have a garage.", "It does not have a garage."),
        # Nothing is sure here.
        ("has_garage", "True", "Yes, it does.", None),
        ("has_garage", "True", "It has no garage.", None),  # says the contrary already
        ("has_garage", "False", "It has a garage.", None),
        ("has_garage", "False", "No garage? No, no garage.", None),  # named twice
        ("seats", "2", "It has 2 seats.", None),
    ],
)
def test_yes_for_no(slot: str, value: str, text: str, after: str | None) -> None:
    assert flip_boolean(text, due(slot, value)) == after


@pytest.mark.parametrize(
    ("slot", "value", "text", "wrong", "missing"),
    [
        ("hotel_name", "Ritz", "The Ritz is fine.", "The Savoy is fine.", "is fine."),
        ("hotel_name", "ritz", "Ritz? RITZ it is.", "Savoy? Savoy it is.", "? it is."),
        ("hotel_name", "Ritz", "How about the Ritz? It is good.", "How about the Savoy? It is good.", "It is good."),
        ("hotel_name", "Ritz", "Is that Ritz fine for you?", "Is that Savoy fine for you?", "Is that fine for you?"),
        ("hotel_name", "Ritz", "A good one.", None, None),
        ("seats", "2", "At 2:30, for 2.", "At 2:30, for 3.", "At 2:30,."),
        ("seats", "2", "At 2:30.", None, None),
        ("seats", "2", "A table for two.", "A table for three.", "A table."),
        ("has_wifi", "True", "It has wifi.", None, None),
    ],
)
def test_values(slot: str, value: str, text: str, wrong: str | None, missing: str | None) -> None:
    made = corrupt(text, [due(slot, value)], POOL, random.Random(3))
    assert (made.get("value"), made.get("missing")) == (wrong, missing)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("The Ritz has seats for two people.", {"has seats for two people.", "The Ritz has seats people."}),
        ("Ritz for two. It is a good one.", {"for two. It is a good one.", "Ritz. It is a good one."}),  # not dropped
        ("How about the Ritz? It seats two.", {"It seats two.", "How about the Ritz?"}),
    ],
)
def test_one_value_is_missing_and_the_others_are_not(text: str, missing: set[str]) -> None:
    dues = [due("hotel_name", "Ritz"), due("seats", "2")]
    made = {corrupt(text, dues, POOL, random.Random(seed), ("missing",))["missing"] for seed in range(20)}
    assert made <= missing
    for copy in made:
        assert sum(tamper.has_values(*one, copy) for one in dues) == 1


def test_a_sentence_stays_that_tells_a_yes_or_no() -> None:
    dues = [due("hotel_name", "Ritz"), due("has_wifi", "True")]
    made = corrupt("Ritz, with wifi. It is good.", dues, POOL, random.Random(0), ("missing",))
    assert made == {"missing": ", with wifi. It is good."}


def test_no_copy_takes_another_acts_value_with_it() -> None:
    """Two acts have the value, which stands there once: to spoil one is to spoil both."""
    other = DueAct(Act("INFORM", "hotel_name", ("Ritz",), ("The Ritz",)), SERVICE)
    for seed in range(10):
        assert not corrupt("The Ritz is fine.", [due("hotel_name", "Ritz"), other], POOL, random.Random(seed))


def test_a_value_that_stays_in_another_form_is_not_tampered_with() -> None:
    act = Act("INFORM", "hotel_name", ("today",), ("Ritz",))
    assert "value" not in corrupt("today, that is Ritz", [DueAct(act, SERVICE)], POOL, random.Random(0))


def test_the_same_draws_give_the_same_copies() -> None:
    dues = [due("hotel_name", "Ritz"), due("seats", "2"), due("has_wifi", "True")]
    texts = [corrupt("The Ritz has wifi. 2 seats.", dues, POOL, random.Random(5)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0].keys() == set(KINDS)
    assert corrupt("The Ritz has wifi. 2 seats.", dues, POOL, random.Random(5), ("boolean",)) == {
        "boolean": "The Ritz does not have wifi. 2 seats."
    }


def test_copies_of_the_bundled_dialogues_lack_something() -> None:
    dialogues, schema = list(readers.gold(demo.path("gold"))), readers.schema(demo.path("gold"))
    pool, copies = tamper.collect_values(dialogues), 0
    for unit in (unit for dialogue in dialogues for unit in sgsacc.system_turns(dialogue, schema)):
        made = corrupt(unit.gold, unit.acts, pool, random.Random(0))
        for kind, text in made.items():
            copies += 1
            assert text != unit.gold
            if kind != "boolean":
                stood = [one for one in unit.acts if tamper.has_values(*one, unit.gold)]
                assert len({one.act for one in stood if not tamper.has_values(*one, text)}) == 1, (unit.gold, text)
    assert copies > 150
