"""`nli`: is the response entailed by its document, sentence by sentence?

From no paper, but the definition of faithfulness in section 3 of PMI-Faith's paper, applied with the project's
entailment model. A document may be longer than a model reads, and entailment models are trained on single sentences. So
the premises are the document's sentences, one by one and in windows of three, and the best window counts
(`windows:1+3`). A response is faithful only if all of it is supported: its value is the *lowest* probability of
entailment over its sentences (`sentences:min`; `mean` is more lenient). The history is not read: what a response leaves
to it ("yes, it is") is entailed by no document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from troth.core.metric import Metric
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.grounding.metrics import Value, faithfulness
from troth.grounding.sentences import sentences, windows
from troth.models import Nli, TextPair

SIZES = (1, 3)
PAIRS = 2048  # asked together: enough to fill batches of similar length, few enough to keep in memory

NLI = faithfulness(
    "nli", "Entailment", "entailment of the response by the document: its best window, the response's worst sentence",
    needs=("nli",), compute=lambda models: SentenceEntailment(models.entailment_model), top=1.0,
)  # fmt: skip


@dataclass(frozen=True)
class SentenceEntailment:
    """Entailment of each sentence of the response by the best window of the document."""

    nli: Nli
    sizes: tuple[int, ...] = SIZES
    over: Literal["min", "mean"] = "min"
    metric: Metric = NLI

    @property
    def recipe(self) -> dict[str, Any]:
        return {"nli": self.nli.name, "windows": self.sizes, "sentences": self.over, "best": "window"}

    @property
    def remarks(self) -> list[str]:
        cut = self.nli.cut
        return [f"{cut} windows were longer than the model reads, and were cut"] if cut else []

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        premises = {document: self._premises(document) for document in dict.fromkeys(item.document for item in items)}
        said = [sentences(item.response) for item in items]
        sizes = [len(premises[item.document]) * len(mine) for item, mine in zip(items, said, strict=True)]
        values: list[Value] = []
        with bar(self.metric.name) as progress:
            for block in _blocks(sizes):
                values += self._answers(
                    [[[(premise, one) for premise in premises[items[i].document]] for one in said[i]] for i in block]
                )
                progress(sum(sizes[: len(values)]), sum(sizes))
        return values

    def _premises(self, document: str) -> list[str]:
        parts = sentences(document)
        return list(dict.fromkeys(text for size in self.sizes for text in windows(parts, size)))

    def _answers(self, questions: Sequence[list[list[TextPair]]]) -> list[Value]:
        pairs = [pair for question in questions for one in question for pair in one]
        verdicts = iter(self.nli.probabilities(pairs)) if pairs else iter(())
        values: list[Value] = []
        for question in questions:
            best = [max(next(verdicts).entailment for _ in one) for one in question]
            values.append(min(best) if self.over == "min" else math.fsum(best) / len(best))
        return values


def _blocks(sizes: Sequence[int]) -> Iterator[range]:
    """Ranges of items that have about PAIRS pairs together."""
    start = held = 0
    for place, size in enumerate(sizes, 1):
        held += size
        if held >= PAIRS or place == len(sizes):
            yield range(start, place)
            start, held = place, 0
