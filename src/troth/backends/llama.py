"""Llama and its kin over one packed row, with less to do beside the matrix products than transformers' own modules.

On a processor a small model spends a fifth of its time on passes over memory: norms, rotations, activations. Here each
takes as few of them as it can, projections that read the same are one product, and the last layer is computed only for
the places that are asked for. Weights are those of the model, which goes on working: its projections become views of
the joined ones. Whether a model gives the same numbers this way is tried, see `packed.possible`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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

    def logits(self, ids: Any, places: Any, wanted: Any, attend: Callable[[Any, Any, Any], Any]) -> Any:
        """Logits at the wanted places of the row; `attend` mixes values within it."""
        import torch

        inner = self.model.model
        states = inner.embed_tokens(ids)
        cosine, sine = (one[0, :, None, : self.size // 2] for one in inner.rotary_emb(states[None], places[None]))
        last = len(self.layers) - 1
        for number, layer in enumerate(self.layers):
            final = wanted if number == last else None
            mixed = self._mixed(layer, states, cosine, sine, attend, final)
            if final is not None:
                states = states[final]
            states += torch.nn.functional.linear(mixed, layer.outward)
            both = torch.nn.functional.linear(self._norm(states, layer.after), layer.gate)
            gate, up = both.chunk(2, dim=-1)
            states += torch.nn.functional.linear(torch.nn.functional.silu(gate).mul_(up), layer.down)
        return self.model.lm_head(self._norm(states, inner.norm.weight))

    def _mixed(self, layer: Layer, states: Any, cosine: Any, sine: Any, attend: Attend, final: Any) -> Any:
        import torch

        joined = torch.nn.functional.linear(self._norm(states, layer.before), layer.inward)
        joined = joined.view(len(states), self.heads + 2 * self.shared, self.size)
        turned = self.heads + self.shared
        _turn(joined[:, :turned], cosine, sine)
        query, key, value = joined.transpose(0, 1).split((self.heads, self.shared, self.shared))
        mixed = attend(query, key, value)
        return mixed if final is None else mixed[final]

    def _norm(self, states: Any, gain: Any) -> Any:
        import torch

        squares = torch.linalg.vector_norm(states, dim=-1, keepdim=True).square_().div_(states.shape[-1])
        return (states * squares.add_(self.little).rsqrt_()).mul_(gain)


def _turn(states: Any, cosine: Any, sine: Any) -> None:
    """Rotary positions, in place: the first half of each head with the second."""
    first, second = states.chunk(2, dim=-1)
    turned = (first * cosine).addcmul_(second, sine, value=-1)
    second.mul_(cosine).addcmul_(first, sine)
    first.copy_(turned)


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
