"""Normal forms of dialogue ids, slot names and values."""

from __future__ import annotations

import pytest

from troth.text import normalize


@pytest.mark.parametrize(
    ("id", "normal", "file"),
    [
        ("MUL0484.json", "mul0484", "MUL0484.json"),
        ("pmul0484", "pmul0484", "PMUL0484.json"),
        ("SSNG12", "ssng12", "SSNG12.json"),
        ("WOZ20664.JSON", "woz20664", "WOZ20664.json"),
        ("1_00042", "1_00042", "1_00042"),
        ("MUL0484x", "MUL0484x", "MUL0484x"),
    ],
)
def test_dialogue_ids(id: str, normal: str, file: str) -> None:
    assert normalize.dialogue_id(id) == normal
    assert normalize.multiwoz_file(id) == file


@pytest.mark.parametrize(
    ("domain", "slot", "expected"),
    [
        ("restaurant", "restaurant-book_people", "people"),
        ("restaurant", "restaurant-book people", "people"),
        ("restaurant", "restaurant-bookpeople", "people"),
        ("Hotel", "hotel-semi-Price Range", "pricerange"),
        ("train", "arriveBy", "arriveby"),
        ("train", "arrive", "arriveby"),
        ("train", "leave", "leaveat"),
        ("hotel", "book", "book"),
    ],
)
def test_slots_of_multiwoz(domain: str, slot: str, expected: str) -> None:
    assert normalize.multiwoz_slot(domain, slot) == expected


def test_named_entities() -> None:
    assert normalize.is_named_entity("hotel", "name")
    assert normalize.is_named_entity("train", "train-departure")
    assert not normalize.is_named_entity("hotel", "area")
    assert normalize.is_named_entity("Restaurants_2", "restaurant_name")
    assert not normalize.is_named_entity("Restaurants_2", "price_range")
    assert normalize.is_named_entity("Stays_1", "area", frozenset(["Stays_1.area"]))
    assert not normalize.is_named_entity("Stays_2", "area", frozenset(["Stays_1.area"]))
    assert not normalize.is_named_entity("hotel", "name", frozenset(["area"]))


@pytest.mark.parametrize(
    ("value", "expected"), [("centre", "center"), ("4-star", "4"), ("6-star", "6-star"), ("dontcare", None), ("x", "x")]
)
def test_values_of_checkdst(value: str, expected: str | None) -> None:
    assert normalize.checkdst_value(value) == expected


@pytest.mark.parametrize(("value", "empty"), [("", True), ("none", True), ("not mentioned", True), ("no", False)])
def test_empty_values(value: str, empty: bool) -> None:
    assert normalize.is_empty(value) is empty
