"""Kinds of values, values that mean the same, tampered acts, and the rule with no model."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.responses.build import AREA, CORPUS, COUNT, NAME, OTHER, STAYS, WIFI
from troth.core.records import Act
from troth.responses import tamper
from troth.responses.tamper import classify_act, contains_value, has_values, means_same, tamper_act


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (NAME, "name"),
        (WIFI, "boolean"),
        (AREA, "category"),
        (COUNT, "count"),
        (Act("INFORM", "stars", ("3",)), "number"),
        (Act("INFORM", "phone", ("020 7946-0000",)), "number"),
        (Act("INFORM", "price_per_night", ("$120",)), "price"),
        (Act("INFORM", "price_per_night", ("120",)), "price"),
        (Act("INFORM", "start_time", ("half past one",), ("13:30",)), "time"),
        (Act("INFORM", "purchase_date", ("today",), ("2019-03-01",)), "date"),
        (Act("OFFER_INTENT", "intent", ("ReserveHotel",)), "intent"),
        (Act("REQUEST", "area", ("North",)), "request"),
        (Act("GOODBYE"), "act"),
        (Act("INFORM", "area"), "act"),
    ],
)
def test_kind(act: Act, expected: str) -> None:
    assert classify_act(act, STAYS) == expected


@pytest.mark.parametrize(
    ("values", "act", "expected"),
    [
        ((("2",), ()), Act("INFORM", "stars", ("two",)), True),
        ((("today",), ("2019-03-01",)), Act("INFORM", "d", ("March 1st",), ("2019-03-01",)), True),
        ((("Santa Rosa",), ()), Act("INFORM", "c", ("Santa Rosa, CA",)), True),
        ((("NORTH ",), ()), AREA, True),
        ((("1",), ()), Act("INFORM", "n", ("10",)), False),
        ((("South",), ()), AREA, False),
    ],
)
def test_same(values: tamper.Values, act: Act, expected: bool) -> None:
    assert means_same(values, act) == expected


@pytest.mark.parametrize(
    ("value", "canonical", "text", "expected"),
    [
        ("2", (), "I found 2 of them.", True),
        ("2", (), "I found two of them.", True),
        ("two", (), "There are 2.", True),
        ("2", (), "I found 12 of them.", False),
        ("1", (), "At 1:30 pm.", False),
        ("30", (), "At 1:30 pm.", False),
        ("200", (), "It costs $1,200.", False),
        ("$1,200", (), "It costs $1,200.", True),
        ("4.5", (), "Rated 4.5.", True),
        ("4", (), "Rated 4.5.", False),
        ("1:30 pm", ("13:30",), "At 13:30, then.", True),
        ("Grand  Budapest", (), "The grand\nbudapest hotel", True),
        ("Grand", (), "Grandmother", False),
        ("a.b", (), "axb", False),
    ],
)
def test_stands(value: str, canonical: tuple[str, ...], text: str, expected: bool) -> None:
    assert contains_value(value, canonical, text) == expected


@pytest.mark.parametrize(
    ("act", "text", "expected"),
    [
        (NAME, "What about grand budapest?", True),
        (NAME, "What about it?", False),
        (Act("OFFER", "place_name", ("Queens", "Kings")), "Queens or Kings", True),
        (Act("OFFER", "place_name", ("Queens", "Kings")), "Queens", False),
        (WIFI, "", True),
        (Act("REQUEST", "area", ("North",)), "Where?", True),
        (Act("OFFER_INTENT", "intent", ("ReserveHotel",)), "Shall I book it?", True),
        (Act("CONFIRM", "place_name", ("None",)), "With no name.", True),
        (Act("CONFIRM", "place_name", ("None", "Queens")), "With no name.", False),
        (Act("INFORM", "start_time", ("noon",), ("12:00",)), "At 12:00.", True),
        (Act("INFORM", "start_time", ("noon", "one"), ("12:00",)), "At 12:00 or one.", False),  # which is whose?
    ],
)
def test_present(act: Act, text: str, expected: bool) -> None:
    assert has_values(act, STAYS, text) == expected


def test_the_pool_holds_what_systems_say() -> None:
    pool = tamper.collect_values(CORPUS)
    assert pool["Stays_1", "place_name"] == [(OTHER.values, OTHER.values), (NAME.values, NAME.values)]
    assert ("Stays_1", "phone") not in pool


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (NAME, {("Fawlty Towers",)}),
        (WIFI, {("False",)}),
        (AREA, {("South",), ("East",)}),
        (COUNT, {(str(n),) for n in range(1, 13) if n != 2}),
        (Act("OFFER_INTENT", "intent", ("ReserveHotel",)), {("SearchHotel",)}),
        (Act("REQUEST", "area"), set()),
        (Act("GOODBYE"), set()),
        (Act("INFORM", "phone", ("5",)), set()),
        (Act("CONFIRM", "has_wifi", ("dontcare",)), set()),
    ],
)
def test_tampered_with_every_other_value(act: Act, expected: set[tuple[str, ...]]) -> None:
    pool = tamper.collect_values(CORPUS)
    found = [tamper_act(act, STAYS, pool, random.Random(seed)) for seed in range(200)]
    assert {one.values for one in found if one is not None} == expected
    assert all(one is None or (one.act, one.slot) == (act.act, act.slot) for one in found)


def test_several_values_become_as_many() -> None:
    act = Act("OFFER", "place_name", ("Queens", "Kings"))
    pool: tamper.Pool = {("Stays_1", "place_name"): [((name,), ()) for name in "abcdefghij"] + [(("Inn", "Lodge"), ())]}
    found = {one.values for seed in range(50) if (one := tamper_act(act, STAYS, pool, random.Random(seed)))}
    assert found == {("Inn", "Lodge")}
    ones = {one.values for seed in range(200) if (one := tamper_act(NAME, STAYS, pool, random.Random(seed)))}
    assert ones == {(name,) for name in "abcdefghij"}


def test_a_large_pool_is_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    pool: tamper.Pool = {("Stays_1", "place_name"): [((f"Hotel {n}x",), ()) for n in range(5000)]}
    calls = 0

    def counting(values: tamper.Values, act: Act) -> bool:
        nonlocal calls
        calls += 1
        return means_same(values, act)

    monkeypatch.setattr(tamper, "means_same", counting)
    made = [tamper_act(NAME, STAYS, pool, random.Random(seed)) for seed in range(50)]
    assert len({one.values for one in made if one}) > 40
    assert calls < 100


@pytest.mark.parametrize("fitting", [0, 1, 2])
def test_the_few_values_that_will_do_are_found(fitting: int) -> None:
    left = [(("Queens",), ()), (("Kings",), ())][:fitting]
    pool: tamper.Pool = {("Stays_1", "place_name"): [((f"Grand Budapest {n}",), ()) for n in range(500)] + left}
    made = [tamper_act(NAME, STAYS, pool, random.Random(seed)) for seed in range(40)]
    assert {one.values for one in made if one} == {values for values, _ in left}


def test_what_the_turn_says_besides_is_not_taken() -> None:
    assert tamper_act(NAME, STAYS, tamper.collect_values(CORPUS), random.Random(0), acts=[NAME, OTHER]) is None


@given(st.sampled_from([NAME, OTHER, AREA, COUNT, WIFI]), st.integers(0, 1000))
def test_a_tampered_value_never_means_the_same(act: Act, seed: int) -> None:
    made = tamper_act(act, STAYS, tamper.collect_values(CORPUS), random.Random(seed))
    assert made is not None
    assert not means_same((made.values, made.canonical_values), act)
