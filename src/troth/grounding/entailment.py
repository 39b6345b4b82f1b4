"""`nli`: is the response entailed by its document, sentence by sentence?

From no paper, but the definition of faithfulness in section 3 of PMI-Faith's paper, applied with the project's
entailment model. A document may be longer than a model reads, and entailment models are trained on single sentences. So
the premises are the document's sentences, one by one and in windows of three, and the best window counts
(`windows:1+3`). In a long document only the windows that share most with the sentence are asked about: the two best
sentences and the best window of three (`evidence:2+1`, see `evidence.py`). A response is faithful only if all of it is
supported: its value is the *lowest* probability of entailment over its sentences (`sentences:min`; `mean` is more
lenient). The history is not read: what a response leaves to it ("yes, it is") is entailed by no document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.grounding.evidence import chosen, passages
from troth.grounding.metrics import Value, faithfulness
from troth.grounding.sentences import sentences, windows
from troth.models import Nli, TextPair

SIZES = (1, 3)
EVIDENCE = (2, 1)  # windows of each size that are asked about
FEW = 6  # windows of a document: up to so many, all are asked about
KEPT = 64  # documents whose windows are kept: responses to one document follow each other
PAIRS = 2048  # asked together: enough to fill batches of similar length, few enough to keep in memory

NLI = faithfulness(
    "nli", "Entailment", "entailment of the response by the document: its best window, the response's worst sentence",
    needs=("nli",), compute=lambda models: SentenceEntailment(models.entailment_model, evidence=EVIDENCE), top=1.0,
)  # fmt: skip


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
        return rules | {"sentences": self.over, "best": "window"}

    @property
    def remarks(self) -> list[str]:
        cut = self.nli.cut
        return [f"{cut} windows were longer than the model reads, and were cut"] if cut else []

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        said = [sentences(item.response) for item in items]
        sizes = [self._number(item.document) * len(mine) for item, mine in zip(items, said, strict=True)]
        values: list[Value] = []
        with bar(self.metric.name) as progress:
            for block in _blocks(sizes):
                values += self._answers([[self._pairs(items[i].document, one) for one in said[i]] for i in block])
                progress(sum(sizes[: len(values)]), sum(sizes))
        return values

    def explain(self, item: Grounded) -> list[str]:
        """Each sentence of a response with its entailment and the passage of the document that supports it best."""
        lines = []
        for sentence in sentences(item.response):
            pairs = self._pairs(item.document, sentence)
            best, premise = max(
                ((verdict.entailment, -place) for place, verdict in enumerate(self.nli.probabilities(pairs))),
                default=(0.0, 0),
            )
            lines.append(f"{best:.2f} {sentence} ← {pairs[-premise][0]}")
        return lines

    def _pairs(self, document: str, sentence: str) -> list[TextPair]:
        every = _windows(document, self.sizes)
        if self.evidence is None or len(every) <= FEW:
            return [(premise, sentence) for premise in every]
        known, sizes = passages(document), zip(self.sizes, self.evidence, strict=True)
        return [(text, sentence) for text in chosen(sentence, known, sizes)]

    def _number(self, document: str) -> int:
        """How many windows each sentence is asked about."""
        every = len(_windows(document, self.sizes))
        return every if self.evidence is None or every <= FEW else sum(self.evidence)

    def _answers(self, questions: Sequence[list[list[TextPair]]]) -> list[Value]:
        pairs = [pair for question in questions for one in question for pair in one]
        verdicts = iter(self.nli.probabilities(pairs)) if pairs else iter(())
        values: list[Value] = []
        for question in questions:
            best = [max(next(verdicts).entailment for _ in one) for one in question]
            values.append(min(best) if self.over == "min" else math.fsum(best) / len(best))
        return values


@lru_cache(maxsize=KEPT)
def _windows(document: str, sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Every window of a document of these sizes, each text once."""
    parts = sentences(document)
    return tuple(dict.fromkeys(text for size in sizes for text in windows(parts, size)))


def _blocks(sizes: Sequence[int]) -> Iterator[range]:
    """Ranges of items that have about PAIRS pairs together."""
    start = held = 0
    for place, size in enumerate(sizes, 1):
        held += size
        if held >= PAIRS or place == len(sizes):
            yield range(start, place)
            start, held = place, 0
