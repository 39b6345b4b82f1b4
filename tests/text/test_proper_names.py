"""Proper names of a text, by their capitals."""

from __future__ import annotations

import pytest

from troth.text.proper_names import find_names, name_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("crayola makes crayons", []),
        ("A HEADING IN CAPITALS", []),
        ("In May I met Alice Binney.", ["alice binney"]),
        ("The Wall was filmed in Poland.", ["wall", "poland"]),
        ("He read The Lord of the Rings by J.R.R. Tolkien.", ["the lord of the rings", "j.r.r. tolkien"]),
        ("However, it was the U.S. Army's idea. Maybe not.", ["u.s. army"]),
        ("Easton is small, but I like Easton.", ["easton", "easton"]),
        ("Chalk is white.", []),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert [fact.value for fact in find_names(text)] == expected


def test_a_word_that_begins_a_sentence_is_a_name_if_another_text_says_so() -> None:
    assert [fact.value for fact in find_names("Crayola makes crayons.", frozenset({"crayola"}))] == ["crayola"]


def test_words_of_names() -> None:
    assert name_words("In May I met Alice Binney's son at the Louvre.") == {"alice", "binney", "louvre"}
