"""`blend`: three views of faithfulness in one number, which ranks better than any of them.

    coverage + 0.05 · PMI-Faith + 0.3 · entailment

No paper's metric. Coverage asks whether the words of a response are the document's, PMI-Faith whether the document
makes it likely as it stands, entailment whether it follows. Coverage alone is blind to the document's words put
together wrongly; PMI-Faith, a mean, forgives a few words that are made up; the entailment model is small. The weights
were chosen on the dev data of BEGIN (docs/grounding.md) and are in the signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from troth.core.records import Grounded
from troth.grounding import entailment as entailed
from troth.grounding import metrics as grounded
from troth.grounding import pmi
from troth.grounding.metrics import Metric, Models, Progress, Unscored, Value

WEIGHTS = {"coverage": 1.0, "pmi_faith": 0.05, "nli": 0.3}
STEPS = 1000  # of the progress bar, for each part


@dataclass(frozen=True)
class Blend:
    """A sum of metrics with weights. What one of them cannot score is not scored, for its reason."""

    parts: tuple[tuple[float, Metric], ...]
    name: str = "blend"

    @property
    def recipe(self) -> str:
        weights = "+".join(f"{weight:g}*{part.name}" for weight, part in self.parts)
        return "|".join([f"of:{weights}", *(part.recipe for _, part in self.parts)])

    @property
    def remarks(self) -> Sequence[str]:
        return [remark for _, part in self.parts for remark in part.remarks]

    def score(self, items: Sequence[Grounded], *, progress: Progress | None = None) -> list[Value]:
        columns = []
        for number, (_, part) in enumerate(self.parts):
            columns.append(part.score(items, progress=self._step(progress, number)))
        return [self._sum(row) for row in zip(*columns, strict=True)]

    def _sum(self, row: Sequence[Value]) -> Value:
        total = 0.0
        for value, (weight, _) in zip(row, self.parts, strict=True):
            if isinstance(value, Unscored):
                return value
            total += weight * value
        return total

    def _step(self, progress: Progress | None, number: int) -> Progress | None:
        if progress is None:
            return None
        return lambda done, total: progress(number * STEPS + STEPS * done // max(1, total), STEPS * len(self.parts))


def blend(models: Models) -> Blend:
    """Coverage, PMI-Faith and entailment together: ranks better than each of them."""
    made: tuple[Metric, ...] = (grounded.coverage(models), pmi.pmi_faith(models), entailed.nli(models))
    return Blend(tuple((WEIGHTS[part.name], part) for part in made))
