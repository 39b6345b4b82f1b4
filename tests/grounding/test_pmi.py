"""PMI-Faith: what the language model is asked, what is made of its answers, word by word; and the authors' values."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth import models as backends
from troth.core.progress import within
from troth.core.records import Grounded
from troth.core.signature import identity
from troth.grounding import pmi
from troth.grounding.metrics import Models, Unscored, grade, make_graders
from troth.grounding.pmi import PmiFaith, Token, measure, split_windows
from troth.grounding.words import WordLikelihood, measure_words
from troth.models import Continuation, Request
from troth.models import catalog as models
from troth.models.fake import FakeLm
from troth.readers import grounded as readers

CRAYONS = Grounded("1", "Crayola makes crayons and chalk.", "they make chalk", ("Hi there", "What do they make"))


class Answering(FakeLm):
    """A language model that says what it is told to, by the number of pieces in the context."""

    def __init__(self, *answers: tuple[float | None, ...], dropped: int = 0) -> None:
        super().__init__()
        self.answers, self.dropped = answers, dropped

    def logprobs(self, requests):  # type: ignore[no-untyped-def]
        self.asked += requests
        tokens = ("Agent", ":", " a", " b", ".")
        return [
            Continuation(tokens, self.answers[len(one.context)], self.dropped if len(one.context) > 1 else 0)
            for one in requests
        ]


ALONE = (-2.0, -1.0, -3.0, -4.0, -5.0)
GIVEN = (-1.0, -1.0, -0.5, -4.0, -1.0)


# -- what is asked -----------------------------------------------------------------------------------------------------


def test_the_pieces_of_the_prompt() -> None:
    asked = pmi.build_requests(CRAYONS)
    said = "Agent: they make chalk."
    assert asked.given == (
        Request(("Document: Crayola makes crayons and chalk.\n\n", "Hi there\nWhat do they make.\n"), said, shorten=0),
    )
    assert asked.alone == Request(("Hi there\nWhat do they make.\n",), said, shorten=-1)


def test_without_the_history() -> None:
    asked = pmi.build_requests(CRAYONS, conditional=False)
    assert asked.given[0].context == ("Document: Crayola makes crayons and chalk.\n\n",)
    assert asked.alone.context == ()


def test_no_history_is_a_full_stop() -> None:
    assert pmi.build_requests(Grounded("1", "d", "r")).alone.context == (".\n",)


def test_braces_in_a_text_are_text() -> None:
    item = Grounded("1", "{d} {0}", "{r}", ("{h}",))
    assert pmi.build_requests(item).given[0] == Request(("Document: {d} {0}\n\n", "{h}.\n"), "Agent: {r}.", shorten=0)


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("a b c", 3, ["a b c"]),
        ("a b c", 9, ["a b c"]),
        ("", 2, [""]),
        ("a b c d", 2, ["a b", "b c", "c d"]),
        ("a  b\nc d e", 4, ["a  b\nc d", "b\nc d e"]),
        ("a b c d e f g", 4, ["a b c d", "c d e f", "d e f g"]),
        ("a b c", 1, ["a", "b", "c"]),
    ],
)
def test_windows(text: str, words: int, expected: list[str]) -> None:
    assert split_windows(text, words) == expected


@given(st.lists(st.text("xyz", min_size=1), max_size=30), st.integers(1, 8))
def test_windows_cover_the_text(parts: list[str], words: int) -> None:
    made = split_windows(" ".join(parts), words)
    assert all(len(one.split()) <= words for one in made)
    numbered = split_windows(" ".join(map(str, range(len(parts)))), words)
    assert sorted({int(word) for one in numbered for word in one.split()}) == list(range(len(parts)))


# -- what is made of it ------------------------------------------------------------------------------------------------


def test_the_mean_and_the_sum_by_hand() -> None:
    lm = Answering((), ALONE, GIVEN)
    (mean,) = measure([CRAYONS], lm)
    assert (mean.given, mean.alone, mean.value) == (-1.5, -3.0, 1.5)
    (total,) = measure([CRAYONS], lm, norm="sum")
    assert (total.given, total.alone, total.value) == (-7.5, -15.0, 7.5)
    assert mean.tokens[2] == Token(" a", -0.5, -3.0)
    assert mean.tokens[2].ratio == 2.5


def test_without_a_context_the_first_token_is_not_scored() -> None:
    (made,) = measure([CRAYONS], Answering((None, *ALONE[1:]), GIVEN), conditional=False)
    assert (made.given, made.alone) == (-1.5, -13 / 4)
    assert made.tokens[0] == Token("Agent", -1.0, None)
    assert made.tokens[0].ratio is None


@pytest.mark.parametrize(
    ("given", "alone", "reason"),
    [
        ((*GIVEN[:4], None), ALONE, pmi.NO_ROOM),
        ((None, *GIVEN[1:]), ALONE, pmi.NO_ROOM),
        ((None,) * 5, ALONE, pmi.NO_ROOM),
        (GIVEN, (*ALONE[:4], None), pmi.TOO_LONG),
        (GIVEN, (None,) * 5, pmi.TOO_LONG),
        ((None,) * 5, (None,) * 5, pmi.TOO_LONG),
    ],
)
def test_a_text_beyond_the_models_reach_has_a_reason(given: tuple[float], alone: tuple[float], reason: str) -> None:
    (made,) = measure([CRAYONS], Answering((), alone, given))
    assert (made.value, made.reason) == (None, reason)


def test_a_server_may_cut_the_same_text_into_other_tokens() -> None:
    """Then the means stand, and no token has a ratio."""
    given = Continuation(("Agent", ": a", "."), (-1.0, -0.5, -1.5))
    alone = Continuation(("Agent: ", "a", " ", "."), (-1.0, -2.0, -3.0, -2.0))
    made = pmi._faith(given, alone, "mean", 0)
    assert (made.given, made.alone, made.value) == (-1.0, -2.0, 1.0)
    assert [token.ratio for token in made.tokens] == [None] * 3


def test_what_is_no_number_has_a_reason() -> None:
    metric = PmiFaith(Answering((), (-math.inf, *ALONE[1:]), (-math.inf, *GIVEN[1:])))
    assert grade(metric, [CRAYONS]) == [Unscored(pmi.NO_NUMBER)]


def test_shortened_documents_are_counted() -> None:
    metric = PmiFaith(Answering((), ALONE, GIVEN, dropped=7), window=128)
    assert metric.score([CRAYONS]) == [1.5]
    assert metric.remarks == ["longer than the language model reads, and cut at the end: 1 document"]
    assert PmiFaith(Answering((), ALONE, GIVEN)).remarks == []


def test_a_document_that_cannot_be_read_to_its_end_has_no_number() -> None:
    metric = PmiFaith(Answering((), ALONE, GIVEN, dropped=7))
    assert metric.score([CRAYONS]) == [Unscored(pmi.CUT)]
    assert metric.remarks == []


def test_the_best_window_wins() -> None:
    item = Grounded("1", "nothing of it here but then chalk stands there", "chalk", ("what",))
    (made,) = measure([item], FakeLm(), window=3)
    assert made.window > 0
    (whole,) = measure([item], FakeLm())
    assert made.value == pytest.approx(whole.value)
    (first,) = measure([Grounded("1", split_windows(item.document, 3)[0], "chalk", ("what",))], FakeLm())
    assert made.value is not None
    assert first.value is not None
    assert made.value > first.value


def test_items_of_one_document_are_asked_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pmi, "CHUNK", 2)
    items = [Grounded(str(n), f"document {n % 2}", f"response {n}", ("h",)) for n in range(6)]
    lm = FakeLm()
    steps: list[tuple[str, int, int]] = []
    with within(lambda *step: steps.append(step)):
        made = measure(items, lm)
    documents = [one.context[0] for one in lm.asked if len(one.context) == 2]
    assert documents == ["Document: document 0\n\n"] * 3 + ["Document: document 1\n\n"] * 3
    assert [one.value for one in made] == [measure([item], FakeLm())[0].value for item in items]
    assert len(steps) == 2
    assert steps[0][1] < steps[1][1] == steps[1][2]


@given(st.permutations(range(8)))
def test_order_changes_nothing(order: list[int]) -> None:
    items = [Grounded(str(n), f"the {n % 3} cats", f"{n} cats", (f"how many {n % 2}",)) for n in range(8)]
    plain = PmiFaith(FakeLm()).score(items)
    assert PmiFaith(FakeLm()).score([items[n] for n in order]) == [plain[n] for n in order]


# -- words -------------------------------------------------------------------------------------------------------------


def faith(*tokens: tuple[str, float | None, float | None]) -> pmi.Faith:
    return pmi.Faith(0.0, 0.0, 0.0, tuple(Token(*one) for one in tokens))


def test_words_are_tokens_put_together() -> None:
    made = measure_words(
        "the cray ola.",
        faith(
            ("Agent", -1.0, -1.0), (":", -1.0, -1.0), (" the", -0.1, -0.1), (" cr", -1.0, -5.0), ("ay", -1.0, -2.0),
            (" o", -3.0, -3.0), ("la", -1.0, -1.0), ("..", -1.0, -1.0),
        ),
    )  # fmt: skip
    assert made == [("the", -0.1, 0.0), ("cray", -2.0, 5.0), ("ola.", -5.0, 0.0)]


def test_a_character_of_several_tokens_is_counted_whole() -> None:
    tokens = (("Agent:", 0.0, 0.0), (" \N{ROCKET}", -1.0, -2.0), ("", -2.0, -4.0), (" a", 0.0, 0.0), (".", 0.0, 0.0))
    rocket, _ = measure_words("\N{ROCKET} a", faith(*tokens))
    assert (rocket.given, rocket.ratio) == (-3.0, 3.0)


def test_a_word_without_a_number_has_none() -> None:
    (word,) = measure_words("x", faith(("Agent: x.", -9.0, None)))
    assert word == WordLikelihood("x", None, None)


@given(st.text(max_size=40))
def test_words_of_any_response(response: str) -> None:
    item = Grounded("1", "a document", response, ("h",))
    (made,) = measure([item], FakeLm())
    assert [word.text for word in measure_words(response, made)] == response.split()


# -- the registry ------------------------------------------------------------------------------------------------------


def test_recipes() -> None:
    opened = Models(lm=FakeLm(), cache=None)
    names = ("pmi_faith", "pmi_faith_sum", "pmi_faith_windows", "upmi_faith")
    assert [identity(grader.metric, grader.recipe) for grader in make_graders(names, opened)] == [
        "PMI_FAITH|lm:fake-lm@1|prompt:authors|norm:mean|window:none",
        "PMI_FAITH_SUM|lm:fake-lm@1|prompt:authors|norm:sum|window:none",
        "PMI_FAITH_WINDOWS|lm:fake-lm@1|prompt:authors|norm:mean|window:128-words-best",
        "UPMI_FAITH|lm:fake-lm@1|prompt:authors|norm:mean|window:none",
    ]


# -- the authors' values -----------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_authors_values_in_any_order(shared: Path) -> None:
    """48 rows of BEGIN, by the authors' code; then some of them in another order, so that batches differ."""
    if not (models.find("smollm2-135m-instruct").folder / models.MANIFEST).is_file():
        pytest.skip("needs the embedded language model: troth models fetch smollm2-135m-instruct")
    golden = json.loads((shared / "golden/pmi_wow_dev48.json").read_text())
    items = list(readers.read(str(shared / "data/begin/wow/begin_dev_wow.tsv")))[:48]
    order = list(range(48))
    random.Random(0).shuffle(order)
    for chosen in (order, [40, 3, 11, 27]):
        lm = backends.lm("embedded", cache=None)
        found = dict(zip(chosen, measure([items[n] for n in chosen], lm), strict=True))
        upmi = dict(zip(chosen, PmiFaith(lm, conditional=False).score([items[n] for n in chosen]), strict=True))
        for row in (golden["rows"][n] for n in chosen):
            made = found[row["row"]]
            expected = (row["pmi"], row["logprob_dh"], row["logprob_h"])
            assert (made.value, made.given, made.alone) == pytest.approx(expected, abs=golden["tolerance"])
            assert upmi[row["row"]] == pytest.approx(row["upmi"], abs=golden["tolerance"])
