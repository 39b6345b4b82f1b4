"""Llamas over one packed row, with fewer passes over memory than transformers' own modules.

On a CPU a small model spends a fifth of its time on passes over memory: norms, rotations, activations. Here each takes
as few as possible, projections that read the same states are one product, and the last layer is computed only for the
positions that are asked for. The weights are the model's own, which keeps working: its projections become views of the
joined ones. Whether a model gives the same numbers this way is tested, see `packed.reader`.

With `int8`, weights and states are rounded to 255 steps before they are multiplied, each row of either by its own
scale: faster, and not the same numbers (docs/pmi.md says by how much). Logits are computed in float32 even so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

LOGITS = 128  # positions whose logits are computed at a time
BLOCK = 256  # rows that are rounded and multiplied at a time, so that they stay in the processor's cache

Attend = Callable[[Any, Any, Any], Any]  # query, key and value of (heads, tokens, size) to (tokens, heads · size)


class Exact:
    """A matrix of weights that rows of states are multiplied by, in the weights' own numbers."""

    def __init__(self, weight: Any) -> None:
        self.turned, self.width = weight.t(), len(weight)

    def into(self, out: Any, states: Any) -> Any:
        """The product, written over `out`."""
        return torch.mm(states, self.turned, out=out)

    def add(self, out: Any, states: Any) -> Any:
        """The product, added to `out`."""
        return out.addmm_(states, self.turned)


class Rounded(Exact):
    """The same in integers of eight bits."""

    def __init__(self, weight: Any) -> None:
        self.scale, self.width = weight.abs().amax(dim=1) / 127, len(weight)
        self.turned = (weight / self.scale[:, None]).round().to(torch.int8).t()

    def into(self, out: Any, states: Any) -> Any:
        for part, product in self._blocks(states):
            out[part].copy_(product)
        return out

    def add(self, out: Any, states: Any) -> Any:
        for part, product in self._blocks(states):
            out[part].add_(product)
        return out

    def _blocks(self, states: Any) -> Iterator[tuple[slice, Any]]:
        for start in range(0, len(states), BLOCK):
            own = states[start : start + BLOCK]
            scale = own.abs().amax(dim=1, keepdim=True).div_(127).clamp_(min=torch.finfo(own.dtype).tiny)
            whole = torch._int_mm(torch.div(own, scale).round_().to(torch.int8), self.turned)
            yield slice(start, start + BLOCK), whole.to(own.dtype).mul_(scale).mul_(self.scale)


class _Layer(NamedTuple):
    before: Any  # gains of the two norms
    after: Any
    inward: Exact  # query, key and value
    outward: Exact
    gate: Exact  # gate and up
    down: Exact


class _Memory(NamedTuple):
    """Memory that all layers use in turn: allocating it each time costs more than filling it."""

    normed: Any
    joined: Any
    turned: Any
    both: Any


class LlamaRows:
    """A `LlamaForCausalLM` as functions of a row of tokens."""

    def __init__(self, model: Any, *, int8: bool = False) -> None:
        self.model = model
        config = model.config
        self.heads, self.shared = config.num_attention_heads, config.num_key_value_heads
        self.size = model.model.layers[0].self_attn.head_dim
        self.epsilon = config.rms_norm_eps
        self.layers = [_layer(layer, Rounded if int8 else Exact) for layer in model.model.layers]

    @staticmethod
    def fits(model: Any) -> bool:
        """Whether it is such a model: no biases, the usual activation."""
        config = model.config
        plain = not getattr(config, "attention_bias", False) and not getattr(config, "mlp_bias", False)
        return type(model).__name__ == "LlamaForCausalLM" and config.hidden_act == "silu" and plain

    def logits(self, ids: Any, positions: Any, wanted: Any, attend: Attend) -> Iterator[Any]:
        """Logits at the wanted positions of the row, in parts that share one buffer; `attend` mixes values."""
        inner = self.model.model
        states = inner.embed_tokens(ids)
        turns = [part[0, :, None, : self.size // 2] for part in inner.rotary_emb(states[None], positions[None])]
        joined, both = self.layers[0].inward.width, self.layers[0].gate.width
        memory = _Memory(*(states.new_empty(len(ids), size) for size in (states.shape[-1], joined, joined // 2, both)))
        for layer in self.layers[:-1]:
            self._layer(layer, states, turns, attend, memory, None)
        states = self._layer(self.layers[-1], states, turns, attend, memory, wanted)
        head = self.model.lm_head.weight.t()
        normed = self._norm(states, inner.norm.weight, memory)
        logits = states.new_empty(min(LOGITS, len(normed)), head.shape[1])
        for part in normed.split(LOGITS):
            yield torch.mm(part, head, out=logits[: len(part)])

    def _layer(
        self, layer: _Layer, states: Any, turns: Sequence[Any], attend: Attend, memory: _Memory, wanted: Any
    ) -> Any:
        """The states after a layer, in place, or at the wanted positions alone."""
        joined = layer.inward.into(memory.joined, self._norm(states, layer.before, memory))
        joined = joined.view(len(states), self.heads + 2 * self.shared, self.size)
        _turn(joined[:, : self.heads + self.shared], turns, memory.turned)
        query, key, value = joined.transpose(0, 1).split((self.heads, self.shared, self.shared))
        mixed = attend(query, key, value)
        if wanted is not None:
            states, mixed = states[wanted], mixed[wanted]
        layer.outward.add(states, mixed)
        both = layer.gate.into(memory.both[: len(states)], self._norm(states, layer.after, memory))
        gate, up = both.chunk(2, dim=-1)
        torch.nn.functional.silu(gate, inplace=True).mul_(up)
        return layer.down.add(states, gate)

    def _norm(self, states: Any, gain: Any, memory: _Memory) -> Any:
        squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_().div_(states.shape[-1])
        return torch.mul(states, squares.add_(self.epsilon).rsqrt_(), out=memory.normed[: len(states)]).mul_(gain)


def _turn(states: Any, turns: Sequence[Any], memory: Any) -> None:
    """Rotary positions, in place: the first half of each head with the second."""
    cosine, sine = turns
    first, second = states.chunk(2, dim=-1)
    rotated = memory.flatten()[: first.numel()].view(first.shape)
    torch.mul(first, cosine, out=rotated).addcmul_(second, sine, value=-1)
    second.mul_(cosine).addcmul_(first, sine)
    first.copy_(rotated)


def _layer(layer: Any, product: type[Exact]) -> _Layer:
    attention, mlp = layer.self_attn, layer.mlp
    return _Layer(
        layer.input_layernorm.weight,
        layer.post_attention_layernorm.weight,
        product(_join([attention.q_proj, attention.k_proj, attention.v_proj])),
        product(attention.o_proj.weight.data),
        product(_join([mlp.gate_proj, mlp.up_proj])),
        product(mlp.down_proj.weight.data),
    )


def _join(projections: Sequence[Any]) -> Any:
    """The weights of projections as one matrix, of which each projection keeps its part as a view."""
    whole = torch.cat([projection.weight.data for projection in projections])
    sizes = [len(projection.weight) for projection in projections]
    for projection, part in zip(projections, whole.split(sizes), strict=True):
        projection.weight.data = part
    return whole
