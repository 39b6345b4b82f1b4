"""Llama and its kin over one packed row, with less to do beside the matrix products than transformers' own modules.

On a processor a small model spends a fifth of its time on passes over memory: norms, rotations, activations. Here each
takes as few of them as it can, projections that read the same are one product, and the last layer is computed only for
the places that are asked for. Weights are those of the model, which goes on working: its projections become views of
the joined ones. Whether a model gives the same numbers this way is tried, see `packed.possible`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

LOGITS = 128  # positions whose logits are computed at a time

Attend = Callable[[Any, Any, Any], Any]  # query, key and value of (heads, tokens, size) to (tokens, heads · size)


class Layer(NamedTuple):
    before: Any  # gains of the two norms
    after: Any
    inward: Any  # query, key and value
    outward: Any
    gate: Any  # gate and up
    down: Any


class Rows:
    """A `LlamaForCausalLM` as functions of a row of tokens."""

    def __init__(self, model: Any) -> None:
        self.model = model
        config = model.config
        self.heads, self.shared = config.num_attention_heads, config.num_key_value_heads
        self.size = model.model.layers[0].self_attn.head_dim
        self.little = config.rms_norm_eps
        self.layers = [_layer(one) for one in model.model.layers]

    @staticmethod
    def fits(model: Any) -> bool:
        """Whether it is such a model: no biases, the usual activation."""
        config = model.config
        plain = not getattr(config, "attention_bias", False) and not getattr(config, "mlp_bias", False)
        return type(model).__name__ == "LlamaForCausalLM" and config.hidden_act == "silu" and plain

    def logits(self, ids: Any, places: Any, wanted: Any, attend: Attend) -> Iterator[Any]:
        """Logits at the wanted places of the row, some at a time, and all in one place; `attend` mixes values."""
        import torch

        inner = self.model.model
        states = inner.embed_tokens(ids)
        turns = [one[0, :, None, : self.size // 2] for one in inner.rotary_emb(states[None], places[None])]
        room = Room.of(len(ids), self.layers[0], states)
        for layer in self.layers[:-1]:
            self._layer(layer, states, turns, attend, room, None)
        states = self._layer(self.layers[-1], states, turns, attend, room, wanted)
        head = self.model.lm_head.weight.t()
        normed = self._norm(states, inner.norm.weight, room)
        logits = states.new_empty(min(LOGITS, len(normed)), head.shape[1])
        for part in normed.split(LOGITS):
            yield torch.mm(part, head, out=logits[: len(part)])

    def _layer(self, layer: Layer, states: Any, turns: Sequence[Any], attend: Attend, room: Room, wanted: Any) -> Any:
        """The states after a layer, in place; or at the wanted places alone."""
        import torch

        joined = torch.mm(self._norm(states, layer.before, room), layer.inward.t(), out=room.joined)
        joined = joined.view(len(states), self.heads + 2 * self.shared, self.size)
        _turn(joined[:, : self.heads + self.shared], turns, room.turned)
        query, key, value = joined.transpose(0, 1).split((self.heads, self.shared, self.shared))
        mixed = attend(query, key, value)
        if wanted is not None:
            states, mixed = states[wanted], mixed[wanted]
        states.addmm_(mixed, layer.outward.t())
        both = torch.mm(self._norm(states, layer.after, room), layer.gate.t(), out=room.both[: len(states)])
        gate, up = both.chunk(2, dim=-1)
        torch.nn.functional.silu(gate, inplace=True).mul_(up)
        return states.addmm_(gate, layer.down.t())

    def _norm(self, states: Any, gain: Any, room: Room) -> Any:
        import torch

        squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_().div_(states.shape[-1])
        return torch.mul(states, squares.add_(self.little).rsqrt_(), out=room.normed[: len(states)]).mul_(gain)


class Room(NamedTuple):
    """Memory that all layers use in turn: to ask for it anew each time costs more than to fill it."""

    normed: Any
    joined: Any
    turned: Any
    both: Any

    @classmethod
    def of(cls, tokens: int, layer: Layer, like: Any) -> Room:
        joined, both = len(layer.inward), len(layer.gate)
        return cls(*(like.new_empty(tokens, size) for size in (like.shape[-1], joined, joined // 2, both)))


def _turn(states: Any, turns: Sequence[Any], room: Any) -> None:
    """Rotary positions, in place: the first half of each head with the second."""
    import torch

    cosine, sine = turns
    first, second = states.chunk(2, dim=-1)
    kept = room.flatten()[: first.numel()].view(first.shape)
    torch.mul(first, cosine, out=kept).addcmul_(second, sine, value=-1)
    second.mul_(cosine).addcmul_(first, sine)
    first.copy_(kept)


def _layer(layer: Any) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    return Layer(
        layer.input_layernorm.weight,
        layer.post_attention_layernorm.weight,
        _joined([attention.q_proj, attention.k_proj, attention.v_proj]),
        attention.o_proj.weight,
        _joined([mlp.gate_proj, mlp.up_proj]),
        mlp.down_proj.weight,
    )


def _joined(projections: Sequence[Any]) -> Any:
    """Their weights as one matrix, of which each keeps its part."""
    import torch

    whole = torch.cat([one.weight.data for one in projections])
    at = 0
    for one in projections:
        one.weight.data = whole[at : at + len(one.weight)]
        at += len(one.weight)
    return whole
