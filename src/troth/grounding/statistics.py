"""The size of data with documents, as in table 6 of PMI-Faith's paper: responses, documents, and mean lengths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from troth.core.names import Path, name_paths
from troth.core.records import Grounded
from troth.grounding.score import load


class GroundedStatistics(msgspec.Struct, frozen=True):
    """How much data there is, and how many words (by white space) documents, histories and responses have."""

    data: str
    responses: int
    documents: int  # distinct
    document_words: float  # mean over responses, as are the others
    history_words: float
    response_words: float


def statistics(*data: Path, format: str | None = None) -> list[GroundedStatistics]:
    """Counts of each data set, in any format of `ground`. No model is loaded and nothing is scored.

    >>> from troth.demo import path
    >>> statistics(path("documents/judged.jsonl"))[0].data
    'judged'
    """
    return [grounded_statistics(name, load([path], format).items) for name, path in name_paths(data, "file")]


def grounded_statistics(name: str, items: Sequence[Grounded]) -> GroundedStatistics:
    """Counts of responses with their documents."""
    return GroundedStatistics(
        name, len(items), len({item.document for item in items if item.document.strip()}),
        _mean(_count_words(item.document) for item in items),
        _mean(sum(map(_count_words, item.history)) for item in items),
        _mean(_count_words(item.response) for item in items),
    )  # fmt: skip


def _count_words(text: str) -> int:
    return len(text.split())


def _mean(counts: Iterable[int]) -> float:
    numbers = list(counts)
    return math.fsum(numbers) / len(numbers) if numbers else 0.0
