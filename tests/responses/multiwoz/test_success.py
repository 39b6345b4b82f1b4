"""The parts of Inform and Success: query, active domains, offers and requests."""

from __future__ import annotations

import pytest
from fuzzywuzzy import fuzz

from tests.responses.multiwoz.build import DATABASE
from troth.responses.multiwoz.corpus import normalize_state
from troth.responses.multiwoz.database import VenueDatabase, partial_ratio
from troth.responses.multiwoz.success import DomainGoal, MultiwozTurn, estimate_domains, judge_dialogue
from troth.text.mwzeval import mwzeval_response, unknown_placeholders

WORLD = VenueDatabase(DATABASE)


@pytest.mark.parametrize(
    ("domain", "constraints", "ids"),
    [
        ("hotel", {}, "012"),
        ("hotel", {"area": "north"}, "02"),
        ("hotel", {"pricerange": "expensive"}, "2"),  # "?" fits anything
        ("hotel", {"area": "do n't care", "name": "birch"}, "1"),  # part of a name
        ("hotel", {"internet": "free"}, "012"),
        ("hotel", {"location": "here", "nonsense": "x"}, "012"),  # no columns
        ("restaurant", {"food": "american"}, "5"),
        ("restaurant", {"area": "nort"}, ""),  # only some columns are fuzzy
        ("taxi", {"leave": "09:00"}, ""),
        ("train", {"arrive": "9:00"}, ["TR1"]),
        ("train", {"leave": "after 08:30"}, ["TR2"]),
        ("train", {"leave": "whenever"}, ["TR1", "TR2"]),  # no time is midnight
        ("train", {"departure": "cambridge train station"}, ["TR1", "TR2"]),
    ],
)
def test_query(domain: str, constraints: dict[str, str], ids: list[str]) -> None:
    assert WORLD.query(domain, constraints) == frozenset(ids)


@pytest.mark.parametrize(
    ("one", "other"),
    [("", ""), ("", "a"), ("a", "a"), ("cityroomz", "city roomz"), ("the oven", "oven"), ("ely", "elsewhere"),
     ("saint johns college", "saint john's college"), ("hotel du vin and bistro", "du vin")],
)  # fmt: skip
def test_partial_ratio_is_that_of_fuzzywuzzy(one: str, other: str) -> None:
    assert partial_ratio(one, other) == fuzz.partial_ratio(one, other) or not one  # fuzzywuzzy: "" equals ""


def test_a_long_value_takes_no_time() -> None:
    assert partial_ratio("a" * 5000, "b" * 5000) == 0


def test_placeholders() -> None:
    text = "[Hotel_Name]s, [value_postcode], [train_id]-s, [ref]es and [hotel_foo] NAME"
    assert mwzeval_response(text) == "NAME, POST, TRAINID, REFERENCE and  name"
    assert unknown_placeholders(text) == ["hotel_foo"]


H, R = {"hotel": {"area": "x"}}, {"restaurant": {"area": "x"}}
BOTH = {**H, **R}
MORE = {"hotel": {"area": "x"}, "restaurant": {"area": "x", "food": "y"}}


@pytest.mark.parametrize(
    ("states", "domains"),
    [
        ([], []),
        ([{}, H, H], ["", "hotel", "hotel"]),
        ([H, BOTH, BOTH], ["hotel", "restaurant", "restaurant"]),
        ([BOTH, BOTH], ["hotel", "restaurant"]),  # two at once: the other one follows
        ([BOTH, BOTH, BOTH], ["hotel", "restaurant", "restaurant"]),
        ([MORE], ["restaurant"]),  # the one with most slots
        ([H, {"hotel": {"area": "z"}, **R}], ["hotel", "hotel"]),  # the current one changes too: it stays
        ([H, {}, H], ["hotel", "hotel", "hotel"]),
    ],
)
def test_estimated_domains(states: list[dict[str, dict[str, str]]], domains: list[str]) -> None:
    assert estimate_domains(states) == [(name,) if name else () for name in domains]


def turn(response: str, domain: str = "hotel", **slots: str) -> MultiwozTurn:
    return MultiwozTurn(mwzeval_response(response), normalize_state({domain: slots}), (domain,))


NORTH = DomainGoal({"area": "north"}, ("PHONE",))


@pytest.mark.parametrize(
    ("domain", "goal", "turns", "inform", "success"),
    [
        ("hotel", NORTH, [], False, False),
        ("hotel", NORTH, [turn("[name], [phone]", area="north")], True, True),
        ("hotel", NORTH, [turn("[name]", area="north")], True, False),
        ("hotel", NORTH, [turn("[phone]", area="north")], False, False),  # nothing is offered
        ("hotel", NORTH, [turn("[name], [phone]")], False, False),  # all hotels are meant
        ("hotel", NORTH, [turn("[name], [phone]", area="north", name="alder court")], True, True),
        # A later offer replaces the earlier one only if it leaves out one of those.
        ("hotel", NORTH, [turn("[name], [phone]", area="north"), turn("[name]")], True, True),
        ("hotel", NORTH, [turn("[name], [phone]"), turn("[name]", area="north")], True, True),
        ("hotel", NORTH, [turn("[name], [phone]", area="north"), turn("[name]", area="south")], False, False),
        ("hotel", NORTH, [turn("[name], [phone]", "restaurant", area="north")], False, False),  # another domain
        ("hotel", DomainGoal({"name": "x"}, ()), [], True, True),
        ("hotel", DomainGoal({"name": "x"}, ("REFERENCE",)), [turn("[reference]")], True, False),  # not booked yet
        ("hotel", DomainGoal({"name": "x"}, ("REFERENCE",)), [turn(""), turn("[reference]")], True, True),
        ("taxi", DomainGoal({}, ("PHONE",)), [turn("[taxi_phone]", "taxi")], True, True),
        ("train", DomainGoal({"arrive": "09:00"}, ()), [], True, True),  # no train is asked for, none offered
        ("train", DomainGoal({"arrive": "09:00"}, ("TRAINID",)), [], False, False),
        ("train", DomainGoal({"arrive": "09:00"}, ()), [turn("[trainid]", "train")], False, False),
        ("train", DomainGoal({"arrive": "09:00"}, ()), [turn("[name]", "train")], True, True),
    ],
)  # fmt: skip
def test_one_domain(domain: str, goal: DomainGoal, turns: list[MultiwozTurn], inform: bool, success: bool) -> None:
    outcome = judge_dialogue({domain: goal}, turns, [(), ("hotel",), ()], WORLD)[domain]
    assert (outcome.inform, outcome.success) == (inform, success)


def test_success_needs_inform_in_all_domains() -> None:
    goal = {"hotel": NORTH, "taxi": DomainGoal({}, ("PHONE",))}
    outcomes = judge_dialogue(goal, [turn("[phone]", "taxi")], [()], WORLD)
    assert [outcomes[name].inform for name in goal] == [False, True]
    assert not any(outcome.success for outcome in outcomes.values())
    assert outcomes["hotel"].missing == ("PHONE",)
    assert outcomes["taxi"].missing == ()
