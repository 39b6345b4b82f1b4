"""`nli`: is the response entailed by its document, sentence by sentence?

From no paper, but the definition of faithfulness in section 3 of PMI-Faith's paper, applied with the project's
entailment model. A document may be longer than a model reads, and entailment models are trained on single sentences. So
the premises are the document's sentences, one by one and in windows of three, and the best window counts
(`windows:1+3`). Only the windows that share most with the sentence are asked about: the best sentence and the best
window of three (`evidence:1+1`, see `evidence.py`). A response is faithful only if all of it is supported: its value is
the *lowest* probability of entailment over its sentences (`sentences:min`; `mean` is more lenient). Questions and
courtesies claim nothing, and count only in a response that has nothing else (`courtesies.py`). The history is not read:
what a response leaves to it ("yes, it is") is entailed by no document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.core.text_cache import text_cache
from troth.grounding.evidence import best_passages, passages
from troth.grounding.metrics import Value, faithfulness, plain_texts
from troth.grounding.restating import restate_facts, unrestated
from troth.models import Nli, TextPair
from troth.models.protocols import Entailment, WordedEntailment
from troth.text.courtesies import NO_CLAIM, claims_nothing
from troth.text.sentences import join_windows, split_sentences

SIZES = (1, 3)
EVIDENCE = (1, 1)  # windows of each size that are asked about; more cost time and tell no more
PAIRS = 2048  # asked together: enough to fill batches of similar length, few enough to keep in memory

NLI = faithfulness(
    "nli", "Entailment", "entailment of the response by the document: its best window, the response's worst sentence",
    needs=("nli",), compute=lambda models: SentenceEntailment(models.entailment_model, evidence=EVIDENCE), top=1.0,
)  # fmt: skip


class SentenceSupport(NamedTuple):
    """A sentence of a response, the passages of the document that were asked about it, and the model's answers."""

    sentence: str
    passages: tuple[str, ...]
    answers: tuple[Entailment, ...]
    claims: bool = True  # False: a question or a courtesy beside sentences that claim something

    @property
    def best(self) -> int:
        """The index of the passage that entails the sentence most; of equals the first."""
        return max(range(len(self.answers)), key=lambda index: (self.answers[index].entailment, -index))

    @property
    def entailment(self) -> float:
        return self.answers[self.best].entailment

    @property
    def passage(self) -> str:
        return self.passages[self.best]

    @property
    def against(self) -> int:
        """The index of the passage that contradicts the sentence most; of equals the first."""
        return max(range(len(self.answers)), key=lambda index: (self.answers[index].contradiction, -index))

    @property
    def doubts(self) -> tuple[float, ...]:
        """The doubt of each word by the passage that supports it most; nothing from a model that judges no words."""
        rows = [answer.doubts for answer in self.answers if isinstance(answer, WordedEntailment)]
        return tuple(round(min(column) / 255, 3) for column in zip(*rows, strict=True))


@dataclass(frozen=True)
class SentenceEntailment:
    """Entailment of each sentence of the response by the best window of the document.

    `evidence`: how many windows of each size are asked about, chosen by the words they share with the sentence; None:
    all of them.
    """

    nli: Nli
    sizes: tuple[int, ...] = SIZES
    over: Literal["min", "mean"] = "min"
    metric: Metric = NLI
    evidence: tuple[int, ...] | None = None

    @property
    def recipe(self) -> dict[str, Any]:
        rules = {"nli": self.nli.name, "windows": self.sizes, "evidence": self.evidence}
        return rules | {"sentences": self.over, "judged": "claims", "values": "restated", "best": "window"}

    @property
    def remarks(self) -> list[str]:
        cut = self.nli.cut
        return [f"{cut} windows were longer than the model reads, and were cut"] if cut else []

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        best = ([claim.entailment for claim in supports if claim.claims] for supports in self.supports(items))
        return [min(values) if self.over == "min" else math.fsum(values) / len(values) for values in best]

    def supports(self, items: Sequence[Grounded]) -> Iterator[list[SentenceSupport]]:
        """For each response, each of its sentences with the passages that were asked about it."""
        items = plain_texts(items)
        sentences = [[" ".join(text.split()) for text in split_sentences(item.response)] for item in items]
        sizes = [self._number(item.document) * len(texts) for item, texts in zip(items, sentences, strict=True)]
        done = 0
        with bar(self.metric.name) as progress:
            for block in _blocks(sizes):
                yield from self._answers(
                    [[self._pairs(items[i].document, text) for text in sentences[i]] for i in block]
                )
                done += sum(sizes[i] for i in block)
                progress(done, sum(sizes))

    def explain(self, item: Grounded) -> list[str]:
        """Each sentence of a response with its entailment and the passage of the document that supports it best."""
        (supports,) = self.supports([item])
        return [
            f"{claim.entailment:.2f} {claim.sentence} ← {claim.passage}"
            if claim.claims
            else f"{NO_CLAIM}: {claim.sentence}"
            for claim in supports
        ]

    def _pairs(self, document: str, sentence: str) -> list[TextPair]:
        if self.evidence is None:
            return [(premise, sentence) for premise in _windows(document, self.sizes)]
        known, sizes = passages(document), zip(self.sizes, self.evidence, strict=True)
        return [(text, sentence) for text in best_passages(sentence, known, sizes)]

    def _number(self, document: str) -> int:
        """Number of windows that each sentence is checked against, about: a short document has fewer."""
        return len(_windows(document, self.sizes)) if self.evidence is None else sum(self.evidence)

    def _answers(self, questions: Sequence[list[list[TextPair]]]) -> Iterator[list[SentenceSupport]]:
        pairs = [pair for question in questions for group in question for pair in group]
        restated = [restate_facts(claim, passage) for passage, claim in pairs]
        asked = [(passage, own.text if own else claim) for (passage, claim), own in zip(pairs, restated, strict=True)]
        verdicts = iter(unrestated(restated, self.nli.probabilities(asked))) if asked else iter(())
        for question in questions:
            sentences = [group[0][1] for group in question]
            claims = [not claims_nothing(sentence) for sentence in sentences]
            yield [
                SentenceSupport(
                    sentence, tuple(premise for premise, _ in group), tuple(next(verdicts) for _ in group),
                    claim or not any(claims),
                )
                for sentence, claim, group in zip(sentences, claims, question, strict=True)
            ]  # fmt: skip


@text_cache
def _windows(document: str, sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Every window of a document of these sizes, each text once."""
    parts = split_sentences(document)
    return tuple(dict.fromkeys(text for size in sizes for text in join_windows(parts, size)))


def _blocks(sizes: Sequence[int]) -> Iterator[range]:
    """Ranges of items that have about PAIRS pairs together."""
    start = held = 0
    for end, size in enumerate(sizes, 1):
        held += size
        if held >= PAIRS or end == len(sizes):
            yield range(start, end)
            start, held = end, 0
