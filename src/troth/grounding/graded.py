"""Graded responses: the values of each metric for each response of a system, and the cells made of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.parts import NONE, Ints, Parts, Units
from troth.core.records import Grounded
from troth.core.result import UnscoredCount
from troth.grounding.calibration import Fitted, unscored_notes
from troth.grounding.metrics import FAITHFUL, Grader, Unscored, Value
from troth.grounding.spread import Gradings, grade_in_blocks
from troth.stats import estimates
from troth.stats.estimates import Cell, SystemCells
from troth.storage.explorer import ClaimSupport


class Faithfulness(NamedTuple):
    """Verdict of a calibration on one response."""

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
            numbers = [None if verdict is None else float(verdict.faithful) for verdict in self.verdicts]
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

    def system_cells(self) -> SystemCells:
        """Each metric over all responses, and over those of each source and label."""
        return SystemCells(
            self.name, self.cells(), sorted(set(self.documents) - {""}), self.counts(), unscored=self.unscored()
        )

    @cached_property
    def units(self) -> Units:
        keys = [(document, NONE, item.id) for document, item in zip(self.documents, self.items, strict=True)]
        units = Parts.from_fractions([(0.0, 0.0)] * len(keys), keys, item_column="id").units
        # Ids need not be unique; the code of an item is its position, so that no two responses are taken for one.
        ids, codes = [item.id for item in self.items], np.arange(len(keys), dtype=np.int64)
        sources = np.array([item.source for item in self.items], dtype=object)
        labels = np.array([item.label for item in self.items], dtype=object)
        return replace(units, items=ids, item=codes, further={"source": sources, "label": labels})

    def cells(self) -> Iterator[Cell]:
        groups = _split(self.items)
        for values in self.metrics:
            reason = next(iter(values.unscored), estimates.NOTHING)
            for metric, recipe, numbers in values.columns():
                scored = np.array([number is not None for number in numbers], dtype=bool)
                value = np.array([0.0 if number is None else number for number in numbers], dtype=np.float64)
                parts = Parts(value, scored.astype(np.float64), self.units)
                for group, members in groups.items():
                    yield Cell(metric, parts.take(members[scored[members]]), recipe, group, reason)

    def counts(self) -> dict[str, int]:
        """Number of responses and of documents."""
        return {"responses": len(self.items), "documents": len(set(self.documents) - {""})}

    def unscored(self) -> list[UnscoredCount]:
        """How many responses have no score, by metric and reason."""
        return [
            UnscoredCount(self.name, values.metric.name, reason, count)
            for values in self.metrics
            for reason, count in sorted(values.unscored.items())
        ]

    def notes(self) -> list[str]:
        """Notes on responses that could not be scored."""
        notes = []
        if not any(item.document.strip() for item in self.items):
            where = "docs/formats.md says where each format takes it from, and what Topical-Chat needs"
            notes.append(f"no response has a document; {where}")
        for entry in self.metrics:
            notes += unscored_notes(entry.metric.name, entry.unscored, len(self.items) - sum(entry.unscored.values()))
        return notes


def grade_systems(
    systems: Mapping[str, Sequence[Grounded]],
    graders: Iterable[Grader],
    fitted: Mapping[str, Fitted] | None = None,
    *,
    by: Callable[[Grader, Sequence[Grounded]], Gradings] = grade_in_blocks,
) -> list[GradedSystem]:
    """The responses of each system with the values of each grader, which gets all systems at once.

    `by`: the function that gives the gradings of a grader; workers may have computed them from the same blocks.
    """
    items = [item for responses in systems.values() for item in responses]
    metrics: dict[str, list[MetricValues]] = {name: [] for name in systems}
    for grader in graders:
        gradings = by(grader, items)
        begin = 0
        judge = (fitted or {}).get(grader.metric.name)
        for name, responses in systems.items():
            part = slice(begin, begin := begin + len(responses))
            claims = None if gradings.claims is None else gradings.claims[part]
            metrics[name].append(MetricValues(grader.metric, grader.recipe, gradings.values[part], judge, claims))
    return [GradedSystem(name, responses, metrics[name]) for name, responses in systems.items()]


def document_key(item: Grounded) -> str:
    """A short name of the document, or of the conversation whose answers share what was seen.

    Empty for an empty document, which nothing can be scored on.
    """
    if not item.document.strip():
        return ""
    shared = f"conversation {item.conversation}" if item.conversation else item.document
    return hashlib.sha256(shared.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _split(items: Sequence[Grounded]) -> dict[Group, Ints]:
    """Indexes of all responses, of those of each source, and of those with each label."""
    sources: dict[Group, list[int]] = {}
    labels: dict[Group, list[int]] = {}
    for index, item in enumerate(items):
        if item.source:
            sources.setdefault(Group("source", item.source), []).append(index)
        if item.label is not None:
            labels.setdefault(Group("label", str(item.label)), []).append(index)
    groups = {ALL: list(range(len(items))), **dict(sorted(sources.items())), **dict(sorted(labels.items()))}
    return {group: np.array(members, dtype=np.int64) for group, members in groups.items()}
