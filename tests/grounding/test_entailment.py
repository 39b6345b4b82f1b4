"""Entailment over sentences: what the model is asked, and what counts of its answers."""

from __future__ import annotations

import pytest

from troth.core.progress import within
from troth.core.records import Grounded
from troth.core.signature import recipe_text
from troth.grounding import entailment
from troth.grounding.entailment import SentenceEntailment
from troth.models import Entailment
from troth.models.fake import FakeNli

RULES = "judged:claims|values:restated|best:window"


def rule(premise: str, hypothesis: str) -> Entailment:
    """Certain of what stands in the premise; half sure of "Partly."; else nearly sure that it is not so."""
    sure = 0.9 if hypothesis in premise else 0.5 if hypothesis == "Partly." else 0.1
    return Entailment(sure, 1 - sure, 0.0)


@pytest.mark.parametrize(
    ("response", "least", "mean"),
    [
        ("B.", 0.9, 0.9),
        ("Z.", 0.1, 0.1),
        ("B. Z.", 0.1, 0.5),
        ("A. Partly. Z.", 0.1, 0.5),
        ("A. Partly. B.", 0.5, 2.3 / 3),
    ],
)
def test_the_best_window_and_the_worst_sentence(response: str, least: float, mean: float) -> None:
    # Single letters are initials to the splitter; these are not.
    document = "AA. BB. CC. DD."
    said = response.replace("A.", "AA.").replace("B.", "BB.").replace("Z.", "ZZ.")
    item = Grounded("x", document, said)
    assert SentenceEntailment(FakeNli(rule)).score([item]) == [pytest.approx(least)]
    assert SentenceEntailment(FakeNli(rule), over="mean").score([item]) == [pytest.approx(mean)]


def test_what_is_asked() -> None:
    model = FakeNli(rule)
    SentenceEntailment(model).score([Grounded("x", "AA. BB. CC. DD.", "EE. FF.")])
    premises = ["AA.", "BB.", "CC.", "DD.", "AA. BB. CC.", "BB. CC. DD."]
    assert model.asked == [(premise, said) for said in ("EE.", "FF.") for premise in premises]
    model = FakeNli(rule)
    SentenceEntailment(model).score([Grounded("x", "AA.", "EE.")])
    assert model.asked == [("AA.", "EE.")], "the same window is asked once"


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [Grounded(str(n), f"Word{n} is. Other{n % 3} was. Third.", f"Word{n % 4} is. Third.") for n in range(20)]
    whole = SentenceEntailment(FakeNli()).score(items)
    for size in (1, 7, 50):
        monkeypatch.setattr(entailment, "PAIRS", size)
        seen: list[tuple[str, int, int]] = []
        with within(lambda *step, seen=seen: seen.append(step)):
            assert SentenceEntailment(FakeNli()).score(items) == whole
        assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})
        assert seen[-1][1] == seen[-1][2]


def test_recipe_names_everything_that_moves_it() -> None:
    one, other = SentenceEntailment(FakeNli()), SentenceEntailment(FakeNli(), sizes=(2,), over="mean")
    assert recipe_text(one.recipe) == f"nli:fake-nli@1|windows:1+3|sentences:min|{RULES}"
    assert recipe_text(other.recipe) == f"nli:fake-nli@1|windows:2|sentences:mean|{RULES}"


def test_cut_windows_are_told() -> None:
    model = FakeNli()
    metric = SentenceEntailment(model)
    assert metric.remarks == []
    model.shortened.add(("a", "b"))
    assert metric.remarks == ["1 windows were longer than the model reads, and were cut"]


LONG = " ".join(f"Sentence number {n} speaks of topic{n} alone." for n in range(40)) + " The rope is 310 metres long."


def test_a_long_document_is_asked_about_where_it_shares_most_with_the_sentence() -> None:
    model = FakeNli(rule)
    grader = SentenceEntailment(model, evidence=(2, 1))
    (value,) = grader.score([Grounded("x", LONG, "The rope is 310 metres long.")])
    assert value == pytest.approx(0.9)
    assert len(model.asked) == 3
    assert model.asked[0][0] == "The rope is 310 metres long."
    assert recipe_text(grader.recipe) == f"nli:fake-nli@1|windows:1+3|evidence:2+1|sentences:min|{RULES}"


def test_texts_of_a_short_document_are_asked_about_once() -> None:
    model = FakeNli(rule)
    SentenceEntailment(model, evidence=(2, 1)).score([Grounded("x", "AA.", "EE. FF.")])
    assert model.asked == [("AA.", "EE."), ("AA.", "FF.")]


def test_twenty_thousand_words() -> None:
    document = " ".join(f"Clause {n} is about matter{n} and nothing else at all here." for n in range(2_000))
    model = FakeNli(rule)
    grader = SentenceEntailment(model, evidence=(2, 1))
    items = [Grounded(str(n), document, f"Clause {n} is about matter{n}.") for n in range(3)]
    grader.score(items)
    assert len(model.asked) == 9
    assert all(f"matter{n} " in model.asked[3 * n][0] for n in range(3))


def test_each_sentence_is_explained_with_its_best_passage() -> None:
    lines = SentenceEntailment(FakeNli(rule)).explain(Grounded("x", "AA. BB. CC. DD.", "BB. ZZ."))
    assert lines == ["0.90 BB. ← BB.", "0.10 ZZ. ← AA."]
