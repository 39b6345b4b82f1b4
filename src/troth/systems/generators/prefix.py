"""Prefix-tuning (Li and Liang 2021): keys and values before those of the text, in every attention layer.

As in the SGSAcc paper (appendix E): ten of them, made by three networks, for the encoder's self-attention, the
decoder's and the decoder's attention to the encoder; a decoder alone has one. A network is an embedding of size 512 for
each place, a layer of 384 with tanh, and a layer that writes the keys and values of all layers (the paper gives the
sizes, and leaves open where each stands). The pretrained weights stay as they are. What is saved is what the networks
made, not the networks: less than a megabyte for a small model.

peft's prefix-tuning has one network with one size, and none for an encoder's self-attention; so this is our own.
transformers lets anyone register an attention function. Ours puts the prefixes before keys and values of the rows that
have them, so that one batch can hold rows with prefixes and rows without. Positions of the text do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

from troth.core.errors import UserError

NAME = "troth_prefix"  # of the attention function in transformers' registry
LENGTH, HIDDEN = 10, (512, 384)
FILE = "prefix.safetensors"
PROBE = (3, 1)  # tokens that are read and written to find the attention layers; they tell the kinds apart

Kind = Literal["encoder", "decoder", "cross"]
KeyValue = tuple[Any, Any]  # keys and values of one layer, each of (heads, length, size)


class Layer(NamedTuple):
    """An attention layer: whose, and how many heads of which size its keys have."""

    module: Any
    kind: Kind
    heads: int
    size: int


class _Active(NamedTuple):
    pairs: dict[int, KeyValue]  # by the identity of the layer's module
    rows: Any  # which rows of the batch have the prefixes; None: all


_ACTIVE: ContextVar[_Active | None] = ContextVar("prefixes", default=None)
_FOUND: ContextVar[list[Layer] | None] = ContextVar("layers", default=None)


def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **rest: Any) -> Any:
    """Attention with the active prefixes of this layer before keys and values."""
    found, active = _FOUND.get(), _ACTIVE.get()
    if found is not None:
        kind: Kind = "cross" if query.shape[2] != key.shape[2] else "decoder" if query.shape[2] == 1 else "encoder"
        found.append(Layer(module, kind, key.shape[1], key.shape[3]))
    if active is None or id(module) not in active.pairs:
        return _attention(module, query, key, value, attention_mask, rest)
    pair = active.pairs[id(module)]
    batch, length = len(query), pair[0].shape[1]
    first = query.new_zeros(batch, 1, 1, length)
    if active.rows is not None:
        first[~active.rows.repeat_interleave(batch // len(active.rows))] = torch.finfo(query.dtype).min
    mask = _mask(module, query, key) if attention_mask is None else attention_mask
    mask = torch.cat([first.expand(-1, -1, mask.shape[2], -1), mask.expand(batch, -1, -1, -1)], dim=3)
    if rest.get("position_bias") is not None:
        rest["position_bias"] = torch.nn.functional.pad(rest["position_bias"], (length, 0))
    key, value = (
        torch.cat([own.expand(batch, -1, -1, -1), of], dim=2) for own, of in zip(pair, (key, value), strict=True)
    )
    return _attention(module, query, key, value, mask, rest)


def _attention(module: Any, query: Any, key: Any, value: Any, mask: Any, rest: dict[str, Any]) -> Any:
    """Attention as transformers computes it; for one token without a copy of the keys for each head that shares them.

    The heads that share a key are computed as tokens of one head, each of which sees all keys.
    """
    batch, heads, length, size = query.shape
    if length > 1 or heads == key.shape[1] or rest.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, mask, **rest)
    grouped = query.reshape(batch, key.shape[1], -1, size)
    out = torch.nn.functional.scaled_dot_product_attention(
        grouped, key, value, attn_mask=mask, dropout_p=rest.get("dropout", 0.0), scale=rest.get("scaling")
    )
    return out.reshape(batch, 1, heads, size), None


def _mask(module: Any, query: Any, key: Any) -> Any:
    """The mask that transformers leaves out: every token is seen, or every earlier one."""
    mask = query.new_zeros(1, 1, query.shape[2], key.shape[2])
    if query.shape[2] > 1 and getattr(module, "is_causal", False) and query.shape[2] == key.shape[2]:
        mask = mask.masked_fill(torch.ones_like(mask, dtype=torch.bool).triu(1), torch.finfo(query.dtype).min)
    return mask


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, eager_mask)


@contextmanager
def add_prefixes(layers: Sequence[Layer], pairs: Sequence[KeyValue] | None, rows: Any = None) -> Iterator[None]:
    """Within it, the rows of every batch have these prefixes; `rows` says which (a tensor of booleans), None: all."""
    if pairs is None or (rows is not None and not bool(rows.any())):
        yield
        return
    known = {id(layer.module): pair for layer, pair in zip(layers, pairs, strict=True)}
    token = _ACTIVE.set(_Active(known, rows))
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def attention_layers(model: Any) -> list[Layer]:
    """The attention layers of a model in the order in which they are computed. Its attention is ours from now on."""
    family = model.config.model_type
    refused = UserError(f"models of the family '{family}' cannot take prefixes", hint="train all weights: method ft")
    try:
        model.set_attn_implementation(NAME)
    except (ValueError, AttributeError) as error:
        raise refused from error
    read, written = (torch.ones(1, length, dtype=torch.long) for length in PROBE)
    token = _FOUND.set([])
    try:
        with torch.no_grad():
            if model.config.is_encoder_decoder:
                model(input_ids=read, decoder_input_ids=written, use_cache=False)
            else:
                model(input_ids=written, use_cache=False)
        layers = _FOUND.get() or []
    finally:
        _FOUND.reset(token)
    if not layers:
        raise refused
    return layers


class PrefixNetworks(torch.nn.Module):  # type: ignore[misc]
    """The networks that make the prefixes while they are trained: one for each kind of attention."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__()
        self.layers = list(layers)
        wide, narrow = HIDDEN
        self.networks = torch.nn.ModuleDict()
        for kind in dict.fromkeys(layer.kind for layer in layers):
            out = sum(2 * layer.heads * layer.size for layer in layers if layer.kind == kind)
            self.networks[kind] = torch.nn.Sequential(
                torch.nn.Embedding(LENGTH, wide),
                torch.nn.Linear(wide, narrow),
                torch.nn.Tanh(),
                torch.nn.Linear(narrow, out),
            )

    def forward(self) -> list[KeyValue]:
        """The prefixes, layer by layer."""
        every = torch.arange(LENGTH)
        made = {kind: network(every) for kind, network in self.networks.items()}  # (length, all keys and values)
        taken = dict.fromkeys(made, 0)
        pairs = []
        for layer in self.layers:
            width = layer.heads * layer.size
            start = taken[layer.kind]
            taken[layer.kind] += 2 * width
            both = made[layer.kind][:, start : start + 2 * width].view(LENGTH, 2, layer.heads, layer.size)
            pairs.append((both[:, 0].transpose(0, 1), both[:, 1].transpose(0, 1)))
        return pairs


def save(pairs: Sequence[KeyValue], folder: Path) -> None:
    from safetensors.torch import save_file

    named = {f"{number}.{name}": one.detach().contiguous() for number, pair in enumerate(pairs)
             for name, one in zip(("key", "value"), pair, strict=True)}  # fmt: skip
    save_file(named, folder / FILE)


def load(folder: Path, layers: Sequence[Layer]) -> list[KeyValue]:
    """The prefixes in a folder; those of another model are refused in one line."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        named = load_file(folder / FILE)
        pairs = [(named[f"{number}.key"], named[f"{number}.value"]) for number in range(len(named) // 2)]
    except (OSError, SafetensorError, KeyError) as error:
        raise UserError(f"the prefixes cannot be read: {error}", file=str(folder / FILE)) from error
    expected = [(layer.heads, layer.size) for layer in layers]
    if [(pair[0].shape[0], pair[0].shape[2]) for pair in pairs] != expected:
        raise UserError("its prefixes are those of another model", file=str(folder), hint="name its base")
    return pairs
