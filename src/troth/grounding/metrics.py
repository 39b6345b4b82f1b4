"""Metrics of grounded responses: one small protocol, a registry, and what holds for all of them.

A metric of others plugs in through the entry point group `troth.grounded_metrics`: a function from `Models` to a
`Metric`. To add one here takes a line in `METRICS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from troth import models as backends
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.registry import Registry
from troth.grounding import overlap as grounding
from troth.models import Lm, Nli

if TYPE_CHECKING:
    from troth.storage.cache import Store

METRICS = Registry(
    "metric of grounded responses",
    "troth.grounded_metrics",
    {
        "u_f1": "troth.grounding.metrics:u_f1",
        "bleu": "troth.grounding.metrics:bleu",
        "rouge_l": "troth.grounding.metrics:rouge_l",
        "coverage": "troth.grounding.metrics:coverage",
        "nli": "troth.grounding.entailment:nli",
        "pmi_faith": "troth.grounding.pmi:pmi_faith",
        "pmi_faith_sum": "troth.grounding.pmi:pmi_faith_sum",
        "pmi_faith_windows": "troth.grounding.pmi:pmi_faith_windows",
        "upmi_faith": "troth.grounding.pmi:upmi_faith",
        "blend": "troth.grounding.blend:blend",
        "bertscore": "troth.grounding.bertscore:bertscore",
        "faithcritic": "troth.grounding.critic:faithcritic",
        "faithcritic_soft": "troth.grounding.critic:faithcritic_soft",
        "q2": "troth.grounding.q2:q2",
    },
)

NO_DOCUMENT = "the document is empty"
NO_RESPONSE = "the response is empty"
NO_NUMBER = "the metric gives no finite number"

CHUNK = 256  # responses between two steps of the progress bar

Progress = Callable[[int, int], None]  # how much is done, and how much there is, in what the metric counts


class Unscored(NamedTuple):
    """In place of a number that does not exist: why."""

    reason: str


Value = float | Unscored


class Metric(Protocol):
    """Responses to numbers, the higher the more faithful."""

    @property
    def name(self) -> str: ...

    @property
    def recipe(self) -> str:
        """What moves its numbers, as parts of a signature: `stem:porter|…`, models with their revision."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """After scoring: what the user should know of it, such as how much a model did not get to read."""
        ...

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        """One value an item, in their order; a value does not depend on the other items.

        All items of a run come at once, so that a metric can put together what belongs together; it makes its own
        batches, and counts its progress in whatever takes it time. Items have a document and a response.
        """
        ...


class Models:
    """The models that metrics may ask, each opened once and only if one does."""

    def __init__(
        self,
        *,
        nli: str | Nli = "embedded",
        lm: str | Lm = "embedded",
        encoder: str = "embedded",
        critic: str = "hf:McGill-NLP/roberta-large-faithcritic",
        questions: str = "hf:mrm8488/t5-base-finetuned-question-generation-ap",
        answers: str = "hf:ktrapeznikov/albert-xlarge-v2-squad-v2",
        cache: str | None = backends.USUAL,
    ) -> None:
        self._nli, self._lm, self._cache = nli, lm, cache
        # For BERTScore, FaithCritic and Q²; the last three are the ones of the papers.
        self.encoder, self.critic, self.questions, self.answers = encoder, critic, questions, answers

    @cached_property
    def nli(self) -> Nli:
        return backends.nli(self._nli, cache=self._cache) if isinstance(self._nli, str) else self._nli

    @cached_property
    def lm(self) -> Lm:
        return backends.lm(self._lm, cache=self._cache) if isinstance(self._lm, str) else self._lm

    @cached_property
    def store(self) -> Store:
        """Where metrics keep what they computed with models that are no backends."""
        from troth.storage.cache import Store

        return Store.at(self._cache)


def metric(name: str, models: Models) -> Metric:
    made: Metric = METRICS.load(name)(models)
    return made


def metrics(names: Sequence[str], models: Models) -> list[Metric]:
    """The metrics of these names, each once, in their order."""
    wanted = list(dict.fromkeys(name.strip() for name in names))
    if not any(wanted):
        raise UserError("no metric is named", hint="for example --metrics u_f1,rouge_l")
    return [metric(name, models) for name in wanted]


def signature(metric: Metric) -> str:
    """Name and recipe: what two numbers must have in common to be compared."""
    return "|".join(filter(None, (metric.name.upper(), metric.recipe)))


def scored(metric: Metric, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
    """Every item's value. What has no document or no response has a reason, and NaN is never a value."""
    values: list[Value] = [_unscorable(item) or 0.0 for item in items]
    able = [place for place, value in enumerate(values) if not isinstance(value, Unscored)]
    found = metric.score([items[place] for place in able], progress=progress) if able else []
    if len(found) != len(able):
        raise ValueError(f"{metric.name} gave {len(found)} values for {len(able)} responses")
    for place, value in zip(able, found, strict=True):
        finite = isinstance(value, Unscored) or math.isfinite(value)
        values[place] = value if finite else Unscored(NO_NUMBER)
    return values


def _unscorable(item: Grounded) -> Unscored | None:
    if not item.document.strip():
        return Unscored(NO_DOCUMENT)
    return None if item.response.strip() else Unscored(NO_RESPONSE)


# -- overlap of words --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Overlap:
    """A metric that compares document and response, and asks no model."""

    name: str
    recipe: str
    compare: Callable[[str, str], float]
    remarks: tuple[str, ...] = ()

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        values: list[Value] = []
        for start in range(0, len(items), CHUNK):
            values += [self.compare(item.document, item.response) for item in items[start : start + CHUNK]]
            if progress is not None:
                progress(len(values), len(items))
        return values


def u_f1(_: Models) -> Overlap:
    """F1 of the words that response and document share, without stop words and punctuation."""
    return Overlap("u_f1", grounding.recipe("u_f1"), grounding.u_f1)


def bleu(_: Models) -> Overlap:
    """BLEU of the response against the document."""
    return Overlap("bleu", grounding.recipe("bleu"), grounding.bleu)


def rouge_l(_: Models) -> Overlap:
    """F1 of the longest common subsequence of response and document, over stemmed words."""
    return Overlap("rouge_l", grounding.recipe("rouge_l"), grounding.rouge_l)


def coverage(_: Models) -> Overlap:
    """Share of the response's words, stemmed, that stand in the document."""
    return Overlap("coverage", grounding.recipe("coverage"), grounding.coverage)
