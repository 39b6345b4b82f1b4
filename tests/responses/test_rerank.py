"""The reranker: points for acts, ties by likelihood, reasons for everything."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.core.errors import UserError
from troth.core.progress import within
from troth.core.records import Act, Intent, Service, SlotSchema
from troth.core.signature import recipe_text
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.responses.rerank import Nbest, RerankRecipe, due_acts, rerank, rerank_all

YES, NEUTRAL = Entailment(0.9, 0.08, 0.02), Entailment(0.1, 0.7, 0.2)
HOTELS = Service(
    "Hotels_1",
    "Hotels",
    (
        SlotSchema("name", "Name of the hotel"),
        SlotSchema("stars", "Star rating", is_categorical=True, possible_values=("1", "2", "3", "4", "5")),
        SlotSchema("has_wifi", "Whether one can go online", is_categorical=True, possible_values=("True", "False")),
    ),
    (Intent("BookHotel", "Book a room"),),
)
SCHEMA = {"Hotels_1": HOTELS}
NAME, STARS, WIFI = (
    Act("OFFER", "name", ("Ritz",)),
    Act("INFORM", "stars", ("4",)),
    Act("INFORM", "has_wifi", ("True",)),
)


def said(premise: str, hypothesis: str) -> Entailment:
    """A reader that looks for the last word of the hypothesis, and knows what "wifi? Yes." asks for."""
    wanted = {"Name of the hotel is Ritz": "Ritz", "Star rating is 4": "4", "Whether one can go online? Yes.": "wifi"}
    return YES if wanted.get(hypothesis, "\0") in premise else NEUTRAL


def test_one_point_for_each_act_that_is_said() -> None:
    texts = ["The Ritz.", "The Ritz has 4 stars.", "It has 4 stars and wifi.", "The Ritz: 4 stars, with wifi."]
    choice = rerank(texts, {"Hotels_1": [NAME, STARS, WIFI]}, SCHEMA, FakeNli(said))
    assert [one.fidelity for one in choice.reasons] == [1, 2, 2, 3]
    assert (choice.response, choice.choice, choice.fidelity, choice.acts) == (texts[3], 3, 3, 3)
    assert choice.likeliest == 0


@pytest.mark.parametrize(
    ("scores", "chosen", "likeliest"),
    [(None, 1, 0), ((-9.0, -2.0, -1.0), 2, 2), ((-1.0, -2.0, -2.0), 1, 0), ((0.0, 0.0, 0.0), 1, 0)],
    ids=["none", "likelier", "equal", "all equal"],
)
def test_ties_go_to_the_likeliest_then_to_the_first(
    scores: tuple[float, ...] | None, chosen: int, likeliest: int
) -> None:
    texts = ["A hotel.", "The Ritz.", "Ritz it is."]
    choice = rerank(texts, {"Hotels_1": [NAME]}, SCHEMA, FakeNli(said), scores=scores)
    assert (choice.choice, choice.likeliest) == (chosen, likeliest)


def test_of_equal_points_the_one_closest_to_entailment() -> None:
    def model(premise: str, hypothesis: str) -> Entailment:
        near = 0.4 if "Ritz" in premise else 0.1
        return Entailment(near, 0.9 - near, 0.1)

    choice = rerank(["A hotel.", "Ritz?", "The Ritz."], {"Hotels_1": [NAME]}, SCHEMA, FakeNli(model))
    assert [one.fidelity for one in choice.reasons] == [0, 0, 0]
    assert choice.choice == 1  # the first of those that are equally close
    likely = rerank(["A hotel.", "Ritz?"], {"Hotels_1": [NAME]}, SCHEMA, FakeNli(model), scores=(-1.0, -2.0))
    assert likely.choice == 0  # likelihood comes first


def test_reasons_name_the_reference_and_its_probabilities() -> None:
    (candidate,) = rerank(["The Ritz."], {"Hotels_1": [NAME, WIFI]}, SCHEMA, FakeNli(said)).reasons
    name, wifi = candidate.acts
    assert (name.reference, name.faithful, name.context) == ("Name of the hotel is Ritz", True, False)
    assert (name.entailment, name.neutral, name.contradiction) == YES
    assert (wifi.faithful, wifi.entailed, wifi.entailment) == (False, False, 0.1)


def test_what_fails_alone_is_asked_in_its_context_on_request() -> None:
    """In context, "What about Ritz?" says that it has four stars; "Sure." adds nothing to its context."""
    nli = FakeNli(lambda premise, _: YES if "4 stars? Star rating. What" in premise else NEUTRAL)
    asked = "One with 4 stars?"
    alone = rerank(["What about Ritz?", "Sure."], {"Hotels_1": [STARS]}, SCHEMA, nli, previous=asked)
    assert [one.fidelity for one in alone.reasons] == [0, 0]  # the paper's reranker has no retry
    assert not any("4 stars" in premise for premise, _ in nli.asked)
    choice = rerank(["What about Ritz?", "Sure."], {"Hotels_1": [STARS]}, SCHEMA, nli, previous=asked, augment="retry")
    assert [one.fidelity for one in choice.reasons] == [1, 0]
    assert choice.reasons[0].acts[0].context
    assert ("One with 4 stars? Star rating. What about Ritz?", "Star rating is 4") in nli.asked
    gated = rerank(
        ["What about Ritz?"], {"Hotels_1": [STARS]}, SCHEMA, nli, previous=asked, gated=True, augment="retry"
    )
    assert gated.fidelity == 0
    assert (gated.reasons[0].acts[0].entailed, gated.reasons[0].acts[0].present) == (True, False)


def test_gated_does_not_look_for_yes_and_no() -> None:
    nli = FakeNli(lambda *_: YES)
    choice = rerank(["It does.", "Yes, 4 stars."], {"Hotels_1": [WIFI, STARS]}, SCHEMA, nli, gated=True)
    assert [one.fidelity for one in choice.reasons] == [1, 2]
    assert choice.choice == 1


def test_an_empty_candidate_is_true_to_nothing() -> None:
    choice = rerank(["", "Ritz."], {"Hotels_1": [NAME]}, SCHEMA, FakeNli(lambda *_: YES), scores=[0.0, -5.0])
    assert [one.fidelity for one in choice.reasons] == [0, 1]


def test_acts_without_words_are_passed_over() -> None:
    choice = rerank(["Fine.", "Good."], {"Hotels_1": [Act("SELECT")]}, SCHEMA, FakeNli(), scores=[-2.0, -1.0])
    assert (choice.choice, choice.acts, choice.fidelity) == (1, 0, 0)
    none = rerank(["Fine.", "Good."], {}, SCHEMA, FakeNli())
    assert (none.choice, none.acts) == (0, 0)


@pytest.mark.parametrize(
    ("candidates", "acts", "scores", "told"),
    [
        ([], {}, None, "no candidate to choose from"),
        (["a"], {}, [1.0, 2.0], "1 candidates and 2 scores"),
        (["a"], {}, [float("nan")], "a score is not a finite number"),
        (["a"], {}, [10**400], "a score is not a finite number"),
        (["a"], {"Hotel_1": [NAME]}, None, "service 'Hotel_1' is not in the schema (did you mean 'Hotels_1'?)"),
        (
            ["a"],
            {"Hotels_1": [Act("INFORM", "star", ("4",))]},
            None,
            "slot 'star' of act INFORM is not in the schema of",
        ),
    ],
)
def test_bad_input(candidates: list[str], acts: dict[str, list[Act]], scores: list[float] | None, told: str) -> None:
    with pytest.raises(UserError) as error:
        rerank(candidates, acts, SCHEMA, FakeNli(), scores=scores)
    assert str(error.value).startswith(told)


def test_many_turns_are_asked_at_once() -> None:
    calls: list[int] = []

    class Counting(FakeNli):
        def probabilities(self, pairs):  # type: ignore[no-untyped-def]
            calls.append(len(pairs))
            return super().probabilities(pairs)

    turns = [Nbest((f"The Ritz, room {n}.", "No."), due_acts({"Hotels_1": [NAME]}, SCHEMA)) for n in range(600)]
    steps: list[tuple[str, int, int]] = []
    nli = Counting(said)
    with within(lambda *step: steps.append(step)):
        choices = rerank_all(turns, nli)
    assert all(choice.choice == 0 for choice in choices)
    assert len(calls) == 3  # three chunks
    assert steps == [("reranking", 256, 600), ("reranking", 512, 600), ("reranking", 600, 600)]
    one_by_one = [rerank_all([turn], FakeNli(said))[0] for turn in turns[:5]]
    assert choices[:5] == one_by_one


@given(st.permutations(["The Ritz.", "The Ritz has 4 stars.", "4 stars and wifi at the Ritz.", "Hm."]), st.integers())
def test_order_of_candidates_and_acts_does_not_matter(texts: list[str], seed: int) -> None:
    acts = [NAME, STARS, WIFI]
    random.Random(seed).shuffle(acts)
    choice = rerank(texts, {"Hotels_1": acts}, SCHEMA, FakeNli(said))
    assert choice.response == "4 stars and wifi at the Ritz."
    assert choice.fidelity == max(one.fidelity for one in choice.reasons)


def test_recipe() -> None:
    def text(**changes: Any) -> str:
        options: dict[str, Any] = {"gated": False, "augment": "never"} | changes
        return recipe_text(RerankRecipe.for_model(FakeNli(), **options))

    assert text() == "rule:any|refs:b+4|augment:never|ties:likelihood+entailment|nli:fake-nli@1"
    assert text(gated=True, augment="retry").startswith("rule:any+present|refs:b+4|augment:retry|")
    assert text(descriptions="none").startswith("rule:any|refs:b+4|desc:none|augment:")
