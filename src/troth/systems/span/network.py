"""The network: the upper layers of an encoder read the turn, and queries of the schema attend to their output.

The lower layers of the encoder stay as they were pretrained, and the same encoder, whole and unchanged, makes the
vectors of the schema. So two trackers differ in their upper layers only.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from troth.systems.span.batches import PADDING, SYSTEM, USER
from troth.systems.span.decode import SCORES
from troth.systems.span.memory import FLAGS

FUSION = 2  # layers in which queries look at the turn
FORWARD = 768  # width of their feed-forward part
POINT = 64  # width in which a query points at tokens


class Outputs(NamedTuple):
    """The tensors of `decode.Answers`."""

    scores: Tensor
    places: Tensor
    carried: Tensor


def lower_states(encoder: Any, ids: Tensor, mask: Tensor, upper: int) -> Tensor:
    """The states after the layers that are not trained."""
    states = encoder.embeddings(input_ids=ids)
    for layer in encoder.encoder.layer[: max(0, len(encoder.encoder.layer) - upper)]:
        states = bert_layer(layer, states, mask)
    return states


def sentence(encoder: Any, ids: Tensor, mask: Tensor) -> Tensor:
    return mean_pool(lower_states(encoder, ids, mask, 0), mask)


def mean_pool(states: Tensor, mask: Tensor) -> Tensor:
    """The mean over the tokens of each text, at a mean length of one a dimension."""
    weights = mask[..., None].to(states.dtype)
    mean = (states * weights).sum(1) / weights.sum(1)
    return functional.normalize(mean, dim=-1) * mean.shape[-1] ** 0.5


def bert_layer(layer: Any, states: Tensor, mask: Tensor) -> Tensor:
    """One layer as BERT and its kin have it."""
    own = layer.attention.self
    heads = own.num_attention_heads
    mixed = attend(own.query(states), own.key(states), own.value(states), mask[:, None, None, :], heads)
    states = layer.attention.output(mixed, states)
    return layer.output(layer.intermediate(states), states)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, heads: int) -> Tensor:
    """Attention with `heads` heads; `mask` is true where one may look."""

    def split(states: Tensor) -> Tensor:
        return states.unflatten(-1, (heads, -1)).transpose(1, 2)

    query, key, value = (split(states.float()) for states in (query, key, value))
    with torch.autocast("cpu", enabled=False):  # its gradients are slow in bfloat16
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return mixed.transpose(1, 2).flatten(2)


class Fusion(nn.Module):  # type: ignore[misc]
    """Queries look at each other within their service, then at the tokens of the turn."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.own, self.other = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.keys = nn.Linear(width, 2 * width)
        self.own_out, self.other_out = nn.Linear(width, width), nn.Linear(width, width)
        self.forward_in, self.forward_out = nn.Linear(width, FORWARD), nn.Linear(FORWARD, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries: Tensor, words: Tensor, turn: Tensor, masks: tuple[Tensor, Tensor]) -> Tensor:
        first, second, third = self.norms
        query, key, value = self.own(first(queries)).chunk(3, dim=-1)
        queries = queries + self.dropout(self.own_out(attend(query, key, value, masks[0], self.heads)))
        key, value = self.keys(words)[turn].chunk(2, dim=-1)
        looked = attend(self.other(second(queries)), key, value, masks[1], self.heads)
        queries = queries + self.dropout(self.other_out(looked))
        return queries + self.dropout(self.forward_out(functional.gelu(self.forward_in(third(queries)))))


class SpanNetwork(nn.Module):  # type: ignore[misc]
    def __init__(self, encoder: Any, upper: int, dropout: float) -> None:
        super().__init__()
        width, heads = encoder.config.hidden_size, encoder.config.num_attention_heads
        layers = encoder.encoder.layer[max(0, len(encoder.encoder.layer) - upper) :]
        self.layers = nn.ModuleList(copy.deepcopy(layer).requires_grad_() for layer in layers)
        self.segment = nn.Embedding(USER + 1, width)
        self.vector, self.flag, self.kind = nn.Linear(width, width), nn.Linear(FLAGS, width), nn.Embedding(4, width)
        self.fusion = nn.ModuleList(Fusion(width, heads, dropout) for _ in range(FUSION))
        self.read, self.asked = nn.LayerNorm(width), nn.LayerNorm(width)
        self.scores = nn.Linear(width, SCORES)
        self.point_from, self.point_at = nn.Linear(width, 4 * POINT), nn.Linear(width, 4 * POINT)
        self.carry_from, self.carry_at = nn.Linear(width, POINT), nn.Linear(width, POINT)
        for table in (self.segment, self.kind):
            nn.init.normal_(table.weight, std=0.02)

    def read_words(self, states: Tensor, segments: Tensor) -> Tensor:
        """The tokens of turns as they are read, whatever the schema; `states` are those of `lower_states`."""
        states, mask = states + self.segment(segments), segments != PADDING
        for layer in self.layers:
            states = bert_layer(layer, states, mask)
        return self.read(states)

    def ask(self, words: Tensor, segments: Tensor, rows: tuple[Tensor, ...]) -> Outputs:
        """What the words answer to the queries of `rows`, the arrays of `Inputs` from `turn` on."""
        turn, vectors, kinds, flags, sources = rows
        mask = segments != PADDING
        queries = self.vector(vectors) + self.flag(flags) + self.kind(kinds.clamp(min=0))
        masks = ((kinds >= 0)[:, None, None, :], mask[turn][:, None, None, :])
        for layer in self.fusion:
            queries = layer(queries, words, turn, masks)
        queries = self.asked(queries)
        starts = self.point_from(queries).unflatten(-1, (4, POINT))
        ends = self.point_at(words).unflatten(-1, (4, POINT))[turn]
        places = torch.einsum("rqkp,rlkp->krql", starts, ends) / POINT**0.5
        allowed = torch.stack([segments == whose for whose in (USER, USER, SYSTEM, SYSTEM)])[:, turn, None, :]
        carried = self.carry_from(queries) @ self.carry_at(sources).transpose(1, 2) / POINT**0.5
        empty = (sources == 0).all(-1)[:, None, :]
        return Outputs(self.scores(queries), places.masked_fill(~allowed, -1e4), carried.masked_fill(empty, -1e4))
