"""The forward pass of the cross-encoder, for training and for export: no more of the last layer than is read."""

from __future__ import annotations

from typing import Any


def first_only(model: Any, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
    """The same logits with less work: of the last layer only the first place is used, so only that one is computed."""
    states = model.bert.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
    hidden = (1.0 - attention_mask[:, None, None, :].to(states.dtype)) * -1e9
    *before, last = model.bert.encoder.layer
    for layer in before:
        states = _layer(layer, states, states, hidden)
    return model.classifier(model.bert.pooler(_layer(last, states[:, :1], states, hidden)))


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
