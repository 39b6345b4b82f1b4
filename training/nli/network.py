"""The cross-encoder for training and export: no more of the last layer than is read, and a second head for words."""

from __future__ import annotations

from typing import Any

import torch
from transformers import BertForSequenceClassification

LAYERS, INNER = 3, 128  # layers that the second head reads, and its width


def first_only(model: Any, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
    """The same logits with less work: of the last layer only the first place is used, so only that one is computed."""
    return read_layers(model, input_ids, attention_mask, token_type_ids)[1]


def read_layers(model: Any, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> tuple[Any, Any]:
    """The states that the second head reads, of the layers before the last, and the logits of the pair."""
    states = [model.bert.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)]
    hidden = (1.0 - attention_mask[:, None, None, :].to(states[0].dtype)) * -1e9
    *before, last = model.bert.encoder.layer
    for layer in before:
        states.append(_layer(layer, states[-1], states[-1], hidden))
    first = _layer(last, states[-1][:, :1], states[-1], hidden)
    return torch.cat(states[-LAYERS:], -1), model.classifier(model.bert.pooler(first))


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


class TwoHeads(BertForSequenceClassification):  # type: ignore[misc]
    """The classifier with a second head: a logit of each token that its word is not supported.

    It reads the states of the layers before the last, `LAYERS` of them, which are computed anyway.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.doubts = torch.nn.Sequential(
            torch.nn.Linear(LAYERS * size, INNER), torch.nn.GELU(), torch.nn.Linear(INNER, 1)
        )
        self.post_init()

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> tuple[Any, Any]:
        states, logits = read_layers(self, input_ids, attention_mask, token_type_ids)
        return logits, self.doubts(states).squeeze(-1)
