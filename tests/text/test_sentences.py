"""The sentence splitter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.text.sentences import join_windows, locate_sentences, split_sentences


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("One.", ["One."]),
        ("no mark", ["no mark"]),
        ("One. Two! Three? four", ["One.", "Two!", "Three?", "four"]),
        ("tokenised text . and more .", ["tokenised text .", "and more ."]),
        ("Mr. Smith went to the U.S. in Jan. 1990. He left.", ["Mr. Smith went to the U.S. in Jan. 1990.", "He left."]),
        ("J. R. R. Tolkien of L.F. Rothschild.", ["J. R. R. Tolkien of L.F. Rothschild."]),
        ('He said "Hi!" Then he left.', ['He said "Hi!"', "Then he left."]),
        ("It costs 3.50 now.", ["It costs 3.50 now."]),
        ("Well... yes.", ["Well...", "yes."]),
        ("No! !! Yes.", ["No! !!", "Yes."]),
        ("!!!", ["!!!"]),
        ("A paragraph\n\nanother one", ["A paragraph", "another one"]),
        ("A list:\n- one\n- two", ["A list:", "- one", "- two"]),
        ("a line\nbroken anywhere", ["a line\nbroken anywhere"]),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert split_sentences(text) == parts


@given(st.text(alphabet="ab.!? \n-1\"')", max_size=60))
def test_nothing_is_lost(text: str) -> None:
    parts = split_sentences(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part.strip() == part and part for part in parts)


def test_windows() -> None:
    assert join_windows(["a", "b", "c", "d"], 3) == ["a b c", "b c d"]
    assert join_windows(["a", "b"], 3) == ["a b"]
    assert join_windows(["a", "b"], 1) == ["a", "b"]


@given(st.text(alphabet="ab.!? \n-1\"')", max_size=60))
def test_located_sentences_are_in_the_text_and_do_not_overlap(text: str) -> None:
    end = 0
    for start, sentence in locate_sentences(text):
        assert start >= end
        assert text[start : start + len(sentence)] == sentence
        end = start + len(sentence)


def test_location_of_repeated_sentences() -> None:
    assert list(locate_sentences(" Go. Go.\nYes.")) == [(1, "Go."), (5, "Go."), (9, "Yes.")]
