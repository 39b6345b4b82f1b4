"""Graded responses: the values of each metric for each response of a system, and the scores and rows made of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from troth.core.metric import Metric
from troth.core.parts import NONE, Parts
from troth.core.records import Grounded
from troth.core.score import Score
from troth.grounding.calibration import Fitted, not_scored
from troth.grounding.metrics import FAITHFUL, Grader, Unscored, Value
from troth.grounding.spread import Gradings, in_blocks
from troth.stats import estimates
from troth.stats.estimates import Cell, Resampling
from troth.storage.explorer import ClaimSupport

if TYPE_CHECKING:
    import polars as pl


class Faithfulness(NamedTuple):
    """What a calibration says of a response."""

    faithful: bool
    probability: float


class Column(NamedTuple):
    """A metric with a number for each response; None where it has none."""

    metric: Metric
    recipe: Any
    numbers: Sequence[float | None]


@dataclass(frozen=True)
class MetricValues:
    """The values of one metric for the responses of a system, and the calibration that judges them."""

    metric: Metric
    recipe: Any
    values: Sequence[Value]
    fitted: Fitted | None = None
    claims: Sequence[Sequence[ClaimSupport]] | None = None  # of each response; None: the metric judges no sentences

    @cached_property
    def numbers(self) -> list[float | None]:
        return [None if isinstance(value, Unscored) else value for value in self.values]

    @cached_property
    def verdicts(self) -> list[Faithfulness | None]:
        """The calibration's verdict on each response; None where there is no number, or no calibration."""
        if self.fitted is None:
            return [None] * len(self.values)
        known = np.array([number for number in self.numbers if number is not None], dtype=np.float64)
        verdicts = zip(self.fitted.faithful(known).tolist(), self.fitted.probability(known).tolist(), strict=True)
        return [None if number is None else Faithfulness(*next(verdicts)) for number in self.numbers]

    def columns(self) -> Iterator[Column]:
        """The metric itself, and the share of responses that the calibration calls faithful."""
        yield Column(self.metric, self.recipe, self.numbers)
        if self.fitted is not None:
            numbers = [None if one is None else float(one.faithful) for one in self.verdicts]
            yield Column(FAITHFUL.on(self.metric.name), self.fitted.recipe(self.recipe), numbers)

    @cached_property
    def unscored(self) -> dict[str, int]:
        """How many responses have no value, by reason; the commonest reason first."""
        return dict(Counter(value.reason for value in self.values if isinstance(value, Unscored)).most_common())


@dataclass(frozen=True)
class GradedSystem:
    """The responses of one system with the values of each metric."""

    name: str
    items: Sequence[Grounded]
    metrics: Sequence[MetricValues]

    @cached_property
    def documents(self) -> list[str]:
        """The key of each response's document."""
        return [document_key(item) for item in self.items]

    @property
    def columns(self) -> list[Column]:
        return [column for metric in self.metrics for column in metric.columns()]

    def scores(self, how: Resampling) -> list[Score]:
        """The mean of each metric over all responses, and over those of each source and label."""
        return list(estimates.scores(self.name, self._cells(), sorted(set(self.documents) - {""}), how))

    def _cells(self) -> Iterator[Cell]:
        keys = [(document, NONE, item.id) for document, item in zip(self.documents, self.items, strict=True)]
        groups = _groups(self.items)
        for values in self.metrics:
            reason = next(iter(values.unscored), estimates.NOTHING)
            for metric, recipe, numbers in values.columns():
                for group, places in groups.items():
                    able = [(number, keys[place]) for place in places if (number := numbers[place]) is not None]
                    parts = Parts.of([(number, 1.0) for number, _ in able], [key for _, key in able])
                    yield Cell(metric, parts, recipe, group, reason)

    def counts(self) -> dict[str, int]:
        """How many responses and documents there are, and how many responses have no score, by metric and reason."""
        counts = {"responses": len(self.items), "documents": len(set(self.documents) - {""})}
        for one in self.metrics:
            counts |= {f"{one.metric.name}: {reason}": n for reason, n in sorted(one.unscored.items())}
        return counts

    def notes(self) -> list[str]:
        """What could not be scored, and why."""
        notes = []
        if not any(item.document.strip() for item in self.items):
            where = "docs/formats.md says where each format takes it from, and what Topical-Chat needs"
            notes.append(f"no response has a document; {where}")
        for one in self.metrics:
            notes += not_scored(one.metric.name, one.unscored, len(self.items) - sum(one.unscored.values()))
        return notes


def graded(
    systems: Mapping[str, Sequence[Grounded]],
    graders: Iterable[Grader],
    fitted: Mapping[str, Fitted] | None = None,
    *,
    by: Callable[[Grader, Sequence[Grounded]], Gradings] = in_blocks,
) -> list[GradedSystem]:
    """The responses of each system with the values of each grader, which gets all systems at once.

    `by`: what gives a grader's values; workers may have computed them, of the same blocks.
    """
    items = [item for own in systems.values() for item in own]
    metrics: dict[str, list[MetricValues]] = {name: [] for name in systems}
    for grader in graders:
        found = by(grader, items)
        begin = 0
        judge = (fitted or {}).get(grader.metric.name)
        for name, own in systems.items():
            mine = slice(begin, begin := begin + len(own))
            claims = None if found.claims is None else found.claims[mine]
            metrics[name].append(MetricValues(grader.metric, grader.recipe, found.values[mine], judge, claims))
    return [GradedSystem(name, own, metrics[name]) for name, own in systems.items()]


def document_key(item: Grounded) -> str:
    """A short name of the document, or of the conversation whose answers share what was seen.

    Empty for an empty document, which nothing can be scored on.
    """
    if not item.document.strip():
        return ""
    shared = f"conversation {item.conversation}" if item.conversation else item.document
    return hashlib.sha256(shared.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _groups(items: Sequence[Grounded]) -> dict[str, list[int]]:
    """Indexes of all responses, of those of each source, and of those with each label."""
    sources: dict[str, list[int]] = {}
    labels: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if item.source:
            sources.setdefault(f"source:{item.source}", []).append(place)
        if item.label is not None:
            labels.setdefault(f"label:{item.label}", []).append(place)
    return {"all": list(range(len(items))), **dict(sorted(sources.items())), **dict(sorted(labels.items()))}


def rows(systems: Iterable[GradedSystem]) -> pl.DataFrame:
    """One row per response and metric; `dialogue` is what intervals are over: the document."""
    import polars as pl

    lines = [
        (system.name, metric.name, document, item.id, item.source, item.label, number, 1.0)
        for system in systems
        for metric, _, numbers in system.columns
        for document, item, number in zip(system.documents, system.items, numbers, strict=True)
        if number is not None
    ]
    texts = dict.fromkeys(("system", "metric", "dialogue", "id", "source"), pl.String)
    return pl.DataFrame(lines, schema={**texts, "label": pl.Int64, "num": pl.Float64, "den": pl.Float64}, orient="row")
