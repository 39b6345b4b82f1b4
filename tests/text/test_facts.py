"""Facts of a text in a normal form."""

from __future__ import annotations

import pytest

from troth.text.facts import agree, find_facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("nothing to check, one of many", []),
        ("Two trams and twenty-five buses", [("number", "2", ""), ("number", "25", "")]),
        ("one hundred and five people", [("number", "105", "people")]),
        ("one hour", [("number", "1", "hour")]),
        ("1,250.00 km or 50km", [("number", "1250", "kilometer"), ("number", "50", "kilometer")]),
        ("3.5 million", [("number", "3500000", "")]),
        ("$12m, 5 euros, three million dollars",
         [("money", "12000000", "dollar"), ("money", "5", "euro"), ("money", "3000000", "dollar")]),
        ("20%, 20 per cent", [("number", "20", "percent"), ("number", "20", "percent")]),
        ("5pm, 17:00, 7:30 AM, 7:30",
         [("time", "05:00p", ""), ("time", "05:00p", ""), ("time", "07:30a", ""), ("time", "07:30", "")]),
        ("March 1st, 20 May 2024, 2019-03-01",
         [("date", "*-03-01", ""), ("date", "2024-05-20", ""), ("date", "2019-03-01", "")]),
        ("in 1994, March 2019, the 1930s, '90s, the 19th century, on Monday",
         [("date", "1994-*-*", ""), ("date", "2019-03-*", ""), ("date", "1930s", ""), ("date", "1990s", ""),
          ("date", "century 19", ""), ("date", "monday", "")]),
        ("2,000 years, 1500 people", [("number", "2000", "year"), ("number", "1500", "people")]),
        ("version v1.2.3, room 101a, 25:99", []),
    ],
)  # fmt: skip
def test_facts(text: str, expected: list[tuple[str, str, str]]) -> None:
    facts = find_facts(text)
    assert [(fact.kind, fact.value, fact.unit) for fact in facts] == expected
    assert all(text[fact.start : fact.end].strip() == text[fact.start : fact.end] != "" for fact in facts)


@pytest.mark.parametrize(
    ("said", "known", "same"),
    [
        ("two", "2", True), ("1,000", "1000", True), ("1,000", "100", False), ("5pm", "17:00", True),
        ("5:00", "17:00", True), ("5am", "17:00", False), ("March 1st", "2019-03-01", True),
        ("March 1, 2019", "March 1", False), ("March 2nd", "2019-03-01", False), ("2019", "March 1, 2019", True),
        ("90 minutes", "1.5 hours", True), ("two weeks", "14 days", True), ("50 km", "50 miles", False),
        ("50 km", "50", True), ("$5", "5 dollars", True), ("$5", "5 euros", False), ("2000 pages", "2000", True),
    ],
)  # fmt: skip
def test_facts_agree_where_nothing_is_added(said: str, known: str, same: bool) -> None:
    assert agree(find_facts(said)[0], find_facts(known)[0]) is same


@pytest.mark.parametrize(
    "text", ["ſeptember 5", "uſ$5", "5 mıllion", f"{'7' * 5000} million", f"{'7' * 400} million years"]
)
def test_odd_letters_and_endless_numbers_are_read(text: str) -> None:
    assert len(find_facts(text)) <= 2


def test_words_of_numbers_that_go_on_and_on_are_no_number() -> None:
    assert find_facts("twenty one hundred " * 2600) == ()
