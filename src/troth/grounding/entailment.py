"""`nli`: is the response entailed by its document, sentence by sentence?

No paper's metric, but the definition of faithfulness in section 3 of PMI-Faith's paper taken at its word, with the
project's entailment model. A document may be longer than a model reads, and entailment models are trained on single
sentences; so premises are the document's sentences, one by one and in windows of three in a row, and the best window
wins (`windows:1+3`). The response is faithful only if all of it is supported: its value is the *lowest* probability of
entailment over its sentences (`sentences:min`); `mean` is the gentler choice. The history is not read: what a response
leaves to it ("yes, it is") is not entailed by any document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from troth.core.records import Grounded
from troth.grounding.metrics import Models, Progress, Value
from troth.grounding.sentences import sentences, windows
from troth.models import Nli, Pair

SIZES = (1, 3)
PAIRS = 2048  # asked together: enough to fill batches of like length, and few enough to hold


@dataclass(frozen=True)
class Entailed:
    nli: Nli
    sizes: tuple[int, ...] = SIZES
    over: Literal["min", "mean"] = "min"
    name: str = "nli"

    @property
    def recipe(self) -> str:
        sizes = "+".join(map(str, self.sizes))
        return f"nli:{self.nli.name}|windows:{sizes}|sentences:{self.over}|best:window"

    @property
    def remarks(self) -> list[str]:
        cut = self.nli.cut
        return [f"{cut} windows were longer than the model reads, and were cut"] if cut else []

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        known: dict[str, list[str]] = {}
        for item in items:
            if item.document not in known:
                known[item.document] = self._premises(item.document)
        said = [sentences(item.response) for item in items]
        sizes = [len(known[item.document]) * len(mine) for item, mine in zip(items, said, strict=True)]
        values: list[Value] = []
        for block in _blocks(sizes):
            values += self._answers(
                [[[(premise, one) for premise in known[items[i].document]] for one in said[i]] for i in block]
            )
            if progress is not None:
                progress(sum(sizes[: len(values)]), sum(sizes))
        return values

    def _premises(self, document: str) -> list[str]:
        parts = sentences(document)
        return list(dict.fromkeys(text for size in self.sizes for text in windows(parts, size)))

    def _answers(self, questions: Sequence[list[list[Pair]]]) -> list[Value]:
        pairs = [pair for question in questions for one in question for pair in one]
        verdicts = iter(self.nli.probabilities(pairs)) if pairs else iter(())
        made: list[Value] = []
        for question in questions:
            best = [max(next(verdicts).entailment for _ in one) for one in question]
            made.append(min(best) if self.over == "min" else math.fsum(best) / len(best))
        return made


def _blocks(sizes: Sequence[int]) -> Iterator[range]:
    """Items one after the other, as many as have about PAIRS pairs together."""
    start = held = 0
    for place, size in enumerate(sizes, 1):
        held += size
        if held >= PAIRS or place == len(sizes):
            yield range(start, place)
            start, held = place, 0


def nli(models: Models) -> Entailed:
    """Entailment of the response by the document: the best window of sentences, the worst sentence of the response."""
    return Entailed(models.nli)
