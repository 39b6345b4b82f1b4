"""The fakes: always the same, and sensible enough to try things out with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth import models
from troth.models import Entailment, Request
from troth.models.fake import FakeLm, FakeNli, overlap


@pytest.mark.parametrize(
    ("premise", "hypothesis", "entailed"),
    [
        ("A table for two in Paris.", "table for two", True),
        ("A table for two in Paris.", "TABLE, in Paris!", True),
        ("A table for two in Paris.", "a table for four in London", False),
        ("A table for two.", "", False),
        ("", "a table", False),
    ],
)
def test_overlap(premise: str, hypothesis: str, entailed: bool) -> None:
    assert overlap(premise, hypothesis).entailed is entailed


@given(st.text(), st.text())
def test_probabilities_sum_to_one(premise: str, hypothesis: str) -> None:
    verdict = overlap(premise, hypothesis)
    assert sum(verdict) == pytest.approx(1)
    assert min(verdict) >= 0


def test_a_rule_decides_and_pairs_are_remembered() -> None:
    yes, no = Entailment(1.0, 0.0, 0.0), Entailment(0.0, 0.0, 1.0)
    model = FakeNli(lambda premise, hypothesis: yes if hypothesis in premise else no)
    pairs = [("abc", "b"), ("abc", "x"), ("abc", "b")]
    assert model.probabilities(pairs) == [yes, no, yes]
    assert model.asked == pairs
    assert model.cut == 0


def test_what_the_context_has_is_likelier() -> None:
    model = FakeLm()
    told, untold, alone, begun = model.logprobs(
        [("We have tea.", "tea is nice"), ("We have coffee.", "tea is nice"), ("", "tea is nice"),
         Request((), "tea is nice", bos=True)]
    )  # fmt: skip
    assert told.tokens == ("tea", " is", " nice")
    assert told.logprobs[0] is not None
    assert untold.logprobs[0] is not None
    assert told.logprobs[0] > untold.logprobs[0]
    assert alone.logprobs[0] is None
    assert begun.logprobs[0] is not None
    assert model.asked[0] == Request(("We have tea.",), "tea is nice")


@given(st.text())
def test_tokens_are_the_text(text: str) -> None:
    assert "".join(FakeLm().logprobs([("", text)])[0].tokens) == text


def test_generation() -> None:
    model = FakeLm()
    assert model.generate(["Say:\none two three"], max_tokens=2) == ["one two"]
    drawn = [model.generate(["a b c d e f g"], temperature=1.0, seed=seed)[0] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_by_name() -> None:
    assert isinstance(models.nli("fake"), FakeNli)
    assert isinstance(models.lm("fake"), FakeLm)


def test_by_its_name_it_keeps_no_list_of_what_it_was_asked() -> None:
    model = models.nli("fake")
    assert isinstance(model, FakeNli)
    assert model.probabilities([("a b", "a")]) == FakeNli().probabilities([("a b", "a")])
    assert model.asked == []
