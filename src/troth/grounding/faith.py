"""`faith`: the probability that the document supports the response, by entailment, words and facts together.

From no paper. Each sentence of the response gets log odds of being supported: a weighted sum of

- the log odds of entailment by its best passage (`entailment.py`),
- the log odds of contradiction by the passage that contradicts it most, which count against it,
- the share of its words that the document has,
- the share of its facts (names, numbers, dates, times) that the document has where it speaks of the same (`facts.py`),
- whether the words around a fact are those around another one in the document (`places.py`).

The response has the mean of its sentences' log odds, mixed with the lowest, so that every sentence moves the value and
one wrong sentence is not hidden by many right ones; questions and courtesies have no part in it (`courtesies.py`). The
value is the probability of these log odds. Form and weights were chosen on labelled sets of different kinds by the
worst of them (`experiments/faith.py`), for the embedded entailment model and for `strong`; with another one the value
ranks, but is no probability.

A sentence that is not supported is either contradicted or merely absent: what the model says of it, also calibrated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from troth.core.metric import Metric
from troth.core.records import Grounded
from troth.grounding.claims import format_claim, judge_claim
from troth.grounding.doubts import doubted_words
from troth.grounding.entailment import EVIDENCE, SentenceEntailment, SentenceSupport
from troth.grounding.evidence import passages
from troth.grounding.facts import check_facts
from troth.grounding.metrics import Unscored, Value, faithfulness, plain_texts
from troth.grounding.places import misplaced_facts, rate_places
from troth.models import Nli
from troth.storage.explorer import ClaimSupport
from troth.text.courtesies import NO_CLAIM
from troth.text.words import stem_words

FLOOR = 1e-4  # of a probability before its log odds: beyond, a model's numbers say nothing more
NO_WORDS = "the document or the response has no words"
_WORD = re.compile(r"\w+")

FAITH: Metric = faithfulness(
    "faith", "Faith", "probability that the document supports the response, by entailment, words and facts",
    needs=("nli",), top=1.0,
    compute=lambda models: make_faith(models.entailment_model),
)  # fmt: skip


@dataclass(frozen=True)
class FaithWeights:
    """Weights of a sentence's log odds; `worst` is the share of the lowest sentence in a response."""

    bias: float = 0.953
    entailment: float = 0.247
    contradiction: float = 0.123
    words: float = 1.975
    facts: float = 0.247
    places: float = 0.988
    worst: float = 0.25
    # of the odds that a sentence that is not supported is contradicted, and not absent
    contradicted_bias: float = 0.587
    contradicted: float = 0.394


WEIGHTS = FaithWeights()
FITTED = {  # by the name of the model, without its revision; other models have the weights of the embedded one
    "strong": FaithWeights(0.073, 0.401, 0.401, 0.802, 0.401, 0.0, 0.5, 0.15, 0.38)
}


def make_faith(nli: Nli) -> FaithScore:
    """The metric with the weights that were fitted to an entailment model."""
    weights = FITTED.get(nli.name.partition("@")[0], WEIGHTS)
    return FaithScore(SentenceEntailment(nli, evidence=EVIDENCE, metric=FAITH), weights)


@dataclass(frozen=True)
class FaithScore:
    """Computes the metric, and the claims behind it sentence by sentence."""

    entailment: SentenceEntailment
    weights: FaithWeights = WEIGHTS
    metric: Metric = FAITH
    seen: dict[tuple[str, str], tuple[ClaimSupport, ...]] = field(default_factory=dict, compare=False)

    @property
    def recipe(self) -> Any:
        weights = {name: f"{value:g}" for name, value in asdict(self.weights).items() if "contradicted" not in name}
        rules = self.entailment.recipe
        return {name: rules[name] for name in ("nli", "windows", "evidence", "judged", "values")} | weights

    @property
    def remarks(self) -> Sequence[str]:
        return self.entailment.remarks

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        self.seen.clear()  # a service scores for months
        values: list[Value] = []
        items = plain_texts(items)
        for item, supports in zip(items, self.entailment.supports(items), strict=True):
            claims = self.seen[item.document, item.response] = self._claims(item, supports)
            odds = [claim.odds for claim in claims if claim.verdict != NO_CLAIM]
            values.append(combine_odds(odds, self.weights.worst) if odds else Unscored(NO_WORDS))
        return values

    def claims(self, item: Grounded) -> tuple[ClaimSupport, ...]:
        """The sentences of a response with their verdicts; cached for responses of the last call of `score`."""
        (item,) = plain_texts([item])
        if (known := self.seen.get((item.document, item.response))) is None:
            (supports,) = self.entailment.supports([item])
            known = self._claims(item, supports)
        return known

    def explain(self, item: Grounded) -> list[str]:
        """Each sentence with its verdict and passage, then its words that the document does not support."""
        (item,) = plain_texts([item])
        claims = self.claims(item)
        lines = [format_claim(claim) for claim in claims]
        statements = [claim.sentence for claim in claims if claim.verdict != NO_CLAIM]
        wrong = [fact for sentence in statements for fact in misplaced_facts(item.document, sentence)]
        lines += [f"out of place: {fact.text}; the document has {fact.other} there" for fact in wrong]
        doubted = [word.text for word in doubted_words(item.document, item.response, claims) if word.unsupported]
        return [*lines, f"words that the document does not support: {' '.join(doubted)}"] if doubted else lines

    def _claims(self, item: Grounded, supports: Sequence[SentenceSupport]) -> tuple[ClaimSupport, ...]:
        """The claims of a response; where it or its document is punctuation alone, nothing is claimed or supported."""
        worded = _WORD.search(item.document) and _WORD.search(item.response)
        return tuple(self._claim(item.document, support) for support in supports) if worded else ()

    def _claim(self, document: str, support: SentenceSupport) -> ClaimSupport:
        values, weights = compute_features(document, support), self.weights
        odds = weights.bias + sum(getattr(weights, name) * value for name, value in values.items())
        against = support.answers[support.against]
        apart = log_odds(against.contradiction) - log_odds(against.neutral)
        opposed = sigmoid(weights.contradicted_bias + weights.contradicted * apart)
        return judge_claim(support, odds, sigmoid(odds), opposed)


def compute_features(document: str, support: SentenceSupport) -> dict[str, float]:
    """The features of a sentence, by the names of their weights."""
    words = stem_words(support.sentence)
    known = passages(document)
    facts = check_facts(document, support.sentence)
    fits = [fact.fit for fact in rate_places(document, support.sentence)]
    return {
        "entailment": log_odds(support.entailment),
        "contradiction": -log_odds(support.answers[support.against].contradiction),
        "words": sum(word in known for word in words) / len(words) - 1 if words else 0.0,
        "facts": sum(fact.credit for fact in facts) / len(facts) - 1 if facts else 0.0,
        "places": min((0.0, *fits)),
    }


def combine_odds(odds: Sequence[float], worst: float) -> float:
    """The probability of a response from the log odds of its sentences."""
    return sigmoid(worst * min(odds) + (1 - worst) * math.fsum(odds) / len(odds))


def log_odds(probability: float) -> float:
    bounded = min(max(probability, FLOOR), 1 - FLOOR)
    return math.log(bounded / (1 - bounded))


def sigmoid(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))
