"""`blend`: three views of faithfulness in one number, which ranks better than each of them.

    coverage + 0.05 · PMI-Faith + 0.3 · entailment

From no paper. Coverage asks whether the words of a response are the document's, PMI-Faith whether the document makes
the response likely, entailment whether the response follows from it. Coverage alone does not see the document's words
put together wrongly; PMI-Faith, a mean, forgives a few invented words; the entailment model is small. The weights were
chosen on the dev data of BEGIN (docs/begin.md) and are in the signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from troth.core.metric import Metric
from troth.core.records import Grounded
from troth.grounding.entailment import NLI
from troth.grounding.metrics import Grader, Unscored, Value, faithfulness
from troth.grounding.overlap import COVERAGE
from troth.grounding.pmi import PMI_FAITH

WEIGHTS = ((1.0, COVERAGE), (0.05, PMI_FAITH), (0.3, NLI))
BLEND = faithfulness(
    "blend", "Blend", "coverage, PMI-Faith and entailment together, with weights chosen on BEGIN",
    needs=("text", "nli", "lm"),
    compute=lambda models: Blend(tuple((weight, metric.compute(models)) for weight, metric in WEIGHTS)),
)  # fmt: skip


@dataclass(frozen=True)
class Blend:
    """A weighted sum of other graders' values. What one of them cannot score is not scored, for the same reason."""

    parts: tuple[tuple[float, Grader], ...]
    metric: Metric = BLEND

    @property
    def recipe(self) -> Any:
        weights = "+".join(f"{weight:g}*{part.metric.name}" for weight, part in self.parts)
        return ({"of": weights}, *(part.recipe for _, part in self.parts))

    @property
    def remarks(self) -> Sequence[str]:
        return [remark for _, part in self.parts for remark in part.remarks]

    def score(self, items: Sequence[Grounded]) -> list[Value]:
        columns = [part.score(items) for _, part in self.parts]
        return [self._sum(row) for row in zip(*columns, strict=True)]

    def _sum(self, row: Sequence[Value]) -> Value:
        total = 0.0
        for value, (weight, _) in zip(row, self.parts, strict=True):
            if isinstance(value, Unscored):
                return value
            total += weight * value
        return total
