"""The cross-encoder with two heads: what a premise says of a hypothesis, and which words of it are not supported."""

from __future__ import annotations

from typing import Any

import torch
from transformers import BertForSequenceClassification


def working_type() -> torch.dtype:
    """The type that autocast computes in; float32 where it is off."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32


class TwoHeads(BertForSequenceClassification):  # type: ignore[misc]
    """A BERT encoder with three logits of the pair and one of each token: that its word is not supported.

    Tokens are read before the last layer. Of that layer only the first place is used, so only that one is computed.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.words = torch.nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> tuple[Any, Any]:
        states = self.bert.embeddings(input_ids=input_ids, token_type_ids=token_type_ids).to(working_type())
        hidden = (1.0 - attention_mask[:, None, None, :].to(states.dtype)) * -1e9
        *before, last = self.bert.encoder.layer
        for layer in before:
            states = _layer(layer, states, states, hidden)
        first = _layer(last, states[:, :1], states, hidden)
        return self.classifier(self.bert.pooler(first)), self.words(states).squeeze(-1)


def _layer(layer: Any, asking: Any, states: Any, hidden: Any) -> Any:
    attention = layer.attention.self

    def heads(projected: Any) -> Any:
        size = attention.attention_head_size
        return projected.view(*projected.shape[:2], -1, size).transpose(1, 2)

    query, key, value = heads(attention.query(asking)), heads(attention.key(states)), heads(attention.value(states))
    weights = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5 + hidden).softmax(-1)
    mixed = (weights @ value).transpose(1, 2).flatten(2)
    attended = layer.attention.output(mixed, asking)
    return layer.output(layer.intermediate(attended), attended)
