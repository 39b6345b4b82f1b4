"""`faith`: sentences weighed, verdicts of three kinds, and what a run keeps of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from troth.core.records import Grounded
from troth.grounding.claims import format_claim, judge_claim
from troth.grounding.entailment import SentenceEntailment, SentenceSupport
from troth.grounding.faith import (
    FITTED,
    NO_WORDS,
    WEIGHTS,
    FaithScore,
    combine_odds,
    compute_features,
    log_odds,
    make_faith,
    sigmoid,
)
from troth.grounding.metrics import Unscored, default_metrics
from troth.models.batches import Cutting
from troth.models.protocols import Entailment, TextPair

DOCUMENT = "The premium plan has 50 seats. The free plan has five seats. Admins cannot reset passwords."


class Told(Cutting[TextPair]):
    """An entailment model that says what it is told of each hypothesis, about the premise that has a word of it."""

    name = "told@1"

    def __init__(self, answers: dict[str, Entailment]) -> None:
        super().__init__()
        self.answers = answers

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        return [self.answers[hypothesis] for _, hypothesis in pairs]


YES, NO, UNKNOWN = Entailment(0.98, 0.01, 0.01), Entailment(0.01, 0.01, 0.98), Entailment(0.01, 0.98, 0.01)


def grader(answers: dict[str, Entailment]) -> FaithScore:
    return FaithScore(SentenceEntailment(Told(answers)))


def test_weights_belong_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Told({})
    assert make_faith(model).weights == WEIGHTS
    monkeypatch.setattr(model, "name", "strong@5da45089", raising=False)
    assert make_faith(model).weights == FITTED["strong"] != WEIGHTS


def test_verdicts_of_three_kinds() -> None:
    said = {"The free plan has five seats.": YES, "Admins can reset passwords.": NO, "Elephants like bananas.": UNKNOWN}
    score = grader(said)
    item = Grounded("a", DOCUMENT, " ".join(said))
    (value,) = score.score([item])
    claims = score.claims(item)
    assert [one.verdict for one in claims] == ["supported", "contradicted", "absent"]
    assert [one.sentence for one in claims] == list(said)
    for one in claims:
        assert one.supported + one.contradicted + one.absent == pytest.approx(1)
        assert one.passage in DOCUMENT
    assert value == combine_odds([one.odds for one in claims], WEIGHTS.worst)
    assert score.explain(item)[0].startswith("supported 0.")
    assert score.explain(item)[-1] == "words that the document does not support: can Elephants like bananas."


@pytest.mark.parametrize(("document", "response"), [(".", "It is."), ("It is.", "..."), ("–", "– –")])
def test_without_words_nothing_is_supported(document: str, response: str) -> None:
    score, item = grader({response: YES}), Grounded("a", document, response)
    assert score.score([item]) == [Unscored(NO_WORDS)]
    assert score.claims(item) == ()


def test_every_sentence_moves_the_value() -> None:
    """The worst sentence stays, another one becomes wrong: a minimum would not see it."""
    first, second = "Elephants like bananas.", "The free plan has five seats."
    item = Grounded("a", DOCUMENT, f"{first} {second}")
    (better,) = grader({first: UNKNOWN, second: YES}).score([item])
    (worse,) = grader({first: UNKNOWN, second: UNKNOWN}).score([item])
    assert isinstance(better, float)
    assert isinstance(worse, float)
    assert worse < better


@pytest.mark.parametrize(
    ("odds", "worst", "expected"), [([0.0], 0.5, 0.5), ([2.0, -2.0], 0.0, 0.5), ([2.0, -2.0], 1.0, sigmoid(-2.0))]
)
def test_combined(odds: list[float], worst: float, expected: float) -> None:
    assert combine_odds(odds, worst) == pytest.approx(expected)


def test_log_odds_are_bounded_and_sigmoid_is_their_inverse() -> None:
    assert log_odds(0.0) == log_odds(1e-12) == pytest.approx(-log_odds(1.0))
    for probability in (0.01, 0.5, 0.99):
        assert sigmoid(log_odds(probability)) == pytest.approx(probability)
    assert (sigmoid(-1000.0), sigmoid(1000.0)) == (0.0, 1.0)


def test_features_of_a_sentence() -> None:
    support = SentenceSupport("The free plan has 80 elephants.", (DOCUMENT,), (UNKNOWN,))
    found = compute_features(DOCUMENT, support)
    assert found["words"] == pytest.approx(4 / 6 - 1)
    assert found["facts"] == -1.0
    assert found["entailment"] == log_odds(0.01)
    assert found["contradiction"] == -log_odds(0.01)
    assert compute_features("one", SentenceSupport("…", ("one",), (YES,)))["words"] == 0.0, "no word, no doubt"


def test_the_passage_is_the_one_that_decides() -> None:
    support = SentenceSupport("s", ("for", "against"), (Entailment(0.5, 0.4, 0.1), Entailment(0.1, 0.2, 0.7)))
    assert (judge_claim(support, 2.0, 0.9, 0.9).verdict, judge_claim(support, 2.0, 0.9, 0.9).passage) == (
        "supported",
        "for",
    )
    opposed = judge_claim(support, -2.0, 0.1, 0.9)
    assert (opposed.verdict, opposed.passage) == ("contradicted", "against")
    assert format_claim(opposed) == "contradicted 0.81 (supported 0.10, absent 0.09): s ← against"
    assert judge_claim(support, -2.0, 0.1, 0.1).verdict == "absent"


def test_defaults_are_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_metrics() == ("faith", "coverage", "facts")
    lacking = {"onnxruntime", "rouge_score"}
    monkeypatch.setattr("troth.grounding.metrics.find_spec", lambda name: None if name in lacking else object())
    assert default_metrics() == ("facts",)
