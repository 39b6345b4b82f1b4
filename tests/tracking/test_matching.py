"""Matchers against the libraries that the public scripts use."""

from __future__ import annotations

import difflib
import string

import pytest
from fuzzywuzzy import fuzz as fuzzywuzzy
from fuzzywuzzy.StringMatcher import StringMatcher
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz as rapidfuzz

from troth.tracking import matching

# What values look like, and what they should not: accents, other scripts, punctuation, blanks.
TEXT = st.text(alphabet=string.ascii_letters + string.digits + " .,:'-_&éßŁ…中\n", max_size=24)


def public(gold: str, pred: str, matcher: object, monkeypatch: pytest.MonkeyPatch) -> float:
    """The public SGD script's `fuzzy_string_match`, with fuzzywuzzy bound to one of its two back ends."""
    with monkeypatch.context() as patch:
        patch.setattr(fuzzywuzzy, "SequenceMatcher", matcher)
        return float(fuzzywuzzy.token_sort_ratio(gold, pred) / 100.0)


@pytest.fixture(scope="module")
def patch() -> pytest.MonkeyPatch:
    return pytest.MonkeyPatch()


@settings(max_examples=400, deadline=None)
@given(gold=TEXT, pred=TEXT)
def test_fuzzy_indel_is_fuzzywuzzy_with_levenshtein(patch: pytest.MonkeyPatch, gold: str, pred: str) -> None:
    assert matching.fuzzy_indel(gold, pred) == public(gold, pred, StringMatcher, patch)


@settings(max_examples=400, deadline=None)
@given(gold=TEXT, pred=TEXT)
def test_fuzzy_difflib_is_fuzzywuzzy_without_levenshtein(patch: pytest.MonkeyPatch, gold: str, pred: str) -> None:
    assert matching.fuzzy_difflib(gold, pred) == public(gold, pred, difflib.SequenceMatcher, patch)


@settings(max_examples=600, deadline=None)
@given(gold=TEXT, pred=TEXT)
def test_partial_ratio_is_fuzzywuzzys(patch: pytest.MonkeyPatch, gold: str, pred: str) -> None:
    with patch.context() as bound:
        bound.setattr(fuzzywuzzy, "SequenceMatcher", StringMatcher)
        assert matching.partial_ratio(gold, pred) == fuzzywuzzy.partial_ratio(gold, pred)
    assert matching.partial_95("ian hong house", "lan hong house") == 0.0


def test_every_ratio_is_rounded_as_fuzzywuzzy_rounds_it(patch: pytest.MonkeyPatch) -> None:
    """Halves decide: 12.5 percent is 12 or 13 by the last bit of the ratio, so every fraction is tried."""
    for length in range(1, 41):
        for same in range(length + 1):
            gold, pred = "a" * length, "a" * same + "b" * (length - same)
            assert matching.fuzzy_indel(gold, pred) == public(gold, pred, StringMatcher, patch), (length, same)
            shorter = "a" * same
            assert matching.fuzzy_indel(gold, shorter) == public(gold, shorter, StringMatcher, patch), (length, same)


@pytest.mark.parametrize(
    ("gold", "pred", "fuzzy", "partial", "exact"),
    [
        ("", "", 1.0, 1.0, 1.0),
        ("", "thai", 0.0, 0.0, 0.0),
        ("thai", "thai", 1.0, 1.0, 1.0),
        ("Thai", "thai", 1.0, 0.0, 0.0),
        ("thai", "xyz", 0.0, 0.0, 0.0),
        ("11:30 am", "am 11 30", 1.0, 0.0, 0.0),
        ("cafe uno", "cafe", 0.67, 1.0, 0.0),
        ("Zoë", "Zo", 1.0, 1.0, 0.0),  # Latin-1 letters are dropped,
        ("Łodź", "łodz", 0.75, 0.0, 0.0),  # and those beyond are kept
        ("half past 6", "6:30", 0.13, 0.0, 0.0),
    ],
)
def test_table(gold: str, pred: str, fuzzy: float, partial: float, exact: float) -> None:
    found = [matching.MATCHERS[name](gold, pred) for name in ("fuzzy-indel", "fuzzy-difflib", "partial-95", "exact")]
    assert found == [fuzzy, fuzzy, partial, exact]
    assert matching.fuzzy_raw(gold, pred) == rapidfuzz.token_sort_ratio(gold, pred) / 100


@given(gold=TEXT, pred=TEXT)
def test_scores_lie_between_0_and_1_and_equal_values_score_1(gold: str, pred: str) -> None:
    for name, match in matching.MATCHERS.items():
        assert 0.0 <= match(gold, pred) <= 1.0, name
        assert match(gold, gold) == 1.0 or name == "fuzzy-raw"
