"""Stems of words, and the word lists of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

from troth.text.facts import MONTHS, units
from troth.text.lexicon import load_table, word_set
from troth.text.words import stem, stem_words


@pytest.mark.parametrize(
    ("words", "stems"),
    [
        ("plays played playing", ["play"]),
        ("city cities", ["cit"]),
        ("use", ["use"]),
        ("large largely", ["larg", "large"]),
        ("car cart", ["car", "cart"]),
    ],
)
def test_stems(words: str, stems: list[str]) -> None:
    assert sorted(set(map(stem, words.split()))) == stems


def test_stems_of_a_text() -> None:
    assert stem_words("The cats' toys, 3 of them!") == ["the", "cat", "toy", "3", "of", "them"]


@pytest.mark.parametrize("name", load_table("words"))
def test_word_lists_are_in_lower_case(name: str) -> None:
    words = word_set(name)
    assert len(words) > 20
    assert all(word == word.lower() for word in words)


def test_months_are_not_names() -> None:
    assert word_set("not_names").issuperset(MONTHS)


def test_units() -> None:
    assert units()["hour"] == ("duration", 3600)
    assert units()["mile"].factor / units()["meter"].factor == 1609.344
    assert all(unit["spellings"].split()[0] == name for name, unit in load_table("units").items())


def test_no_file_is_read_at_import() -> None:
    code = """
import sys
from troth.text import facts, identifiers, lexicon, mwzeval, normalize, proper_names, sentences, words
assert lexicon.load_table.cache_info().misses == 0
assert facts._fact_pattern.cache_info().misses == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)
