"""What entailment models have in common: a pair becomes one row of tokens, a row becomes three probabilities.

A pair longer than the model reads loses the beginning of its premise: the utterance in question is at the end, after
what was said before. The hypothesis stays whole unless it leaves the premise less than a quarter of what the model
reads; then it loses its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from troth.models.batches import Cutting, Room, answered, by_length
from troth.models.protocols import Entailment, TextPair


class EncodedPair(NamedTuple):
    """A pair in tokens."""

    columns: dict[str, list[int]]  # `input_ids`, and whatever else the model takes
    cut: bool

    @property
    def tokens(self) -> int:
        return len(self.columns["input_ids"])


class CrossEncoder(Cutting[TextPair]):
    """An entailment model without its tokenizer (`encoded`) and its weights (`classified`)."""

    room: Room

    def encoded(self, pairs: Sequence[TextPair]) -> dict[TextPair, EncodedPair]:
        """Each distinct pair in tokens."""
        raise NotImplementedError

    def classified(self, batch: Sequence[EncodedPair]) -> list[Entailment]:
        """The model's answers for one batch."""
        raise NotImplementedError

    def lengths(self, items: Sequence[TextPair]) -> list[int]:
        encoded = self.encoded(items)
        return [encoded[pair].tokens for pair in items]

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        encoded = self.encoded(pairs)
        self.shortened.update(pair for pair, one in encoded.items() if one.cut)
        return answered(
            pairs,
            lambda asked: self.classified([encoded[pair] for pair in asked]),
            lambda asked: by_length([encoded[pair].tokens for pair in asked], self.room),
        )


def entailments(logits: Any, order: Sequence[int]) -> list[Entailment]:
    """Softmax in double precision; `order` gives the columns of entailment, neutral and contradiction."""
    values = np.asarray(logits, dtype=np.float64)[:, list(order)]
    exponents = np.exp(values - values.max(axis=1, keepdims=True))
    return [Entailment(*row) for row in (exponents / exponents.sum(axis=1, keepdims=True)).tolist()]
