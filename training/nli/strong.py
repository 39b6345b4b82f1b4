"""Trains the strong entailment model: MPNet-base with low-rank updates (LoRA), on a CPU.

    python -m training.nli.strong --base DIR --mixture mixture.jsonl --out DIR --hours 2

The base stays frozen, so a step costs two thirds of full fine-tuning, and what is learnt is small enough to ship. A new
run goes on from the released update.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import torch
from transformers import AutoTokenizer, MPNetModel

from training.nli import loop
from training.nli.data import LABELS
from training.nli.network import working_type
from training.nli.update import restore

RANK = 64
PREDICTIONS = "predictions.tsv"  # line of the mixture, probabilities before the step that learnt from it
RELEASED = Path("src/troth/models/strong/update.safetensors")  # where training goes on from
FROZEN = 3  # lowest layers without an update: gradients need not reach them
# Share of each group of sources among the pairs that are drawn; a group is named by the beginning of `from`.
SHARES = {
    "mnli": 0.21, "snli": 0.09, "cad": 0.02, "newprotocols": 0.09, "semiauto": 0.02, "scitail": 0.02,
    "infotabs": 0.03, "tabfact": 0.02, "wikiresnli": 0.005, "sherliic": 0.003, "conjnli": 0.01, "help": 0.005,
    "fever": 0.09, "fm2": 0.03, "wice": 0.03, "elsewhere": 0.01, "squad": 0.03, "breaking": 0.01, "binding": 0.005,
    "rule": 0.05, "swap": 0.04, "halueval-dialogue": 0.02, "halueval-qa": 0.03, "halueval-summary": 0.01,
    "convfactual": 0.02, "paws": 0.02, "data-to-text": 0.01, "wikisplit": 0.01, "answers": 0.01, "boolq": 0.01,
    "sgd": 0.09, "made": 0.02, "chat": 0.04, "degenerate": 0.035,
}  # fmt: skip


class LoraLinear(torch.nn.Module):  # type: ignore[misc]
    """A frozen linear layer plus a trained update of low rank."""

    def __init__(self, base: torch.nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = torch.nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = torch.nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Any) -> Any:
        return self.base(x) + (x @ self.down.T) @ self.up.T


class Strong(torch.nn.Module):  # type: ignore[misc]
    """MPNet with a three-way head on its first token."""

    def __init__(self, folder: Path, rank: int = RANK) -> None:
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.truncation_side = "left"
        self.encoder = MPNetModel.from_pretrained(folder, add_pooling_layer=False, use_safetensors=True)
        self.predictions: IO[str] | None = None  # where the answers to all training pairs are written
        size = self.encoder.config.hidden_size
        self.dense, self.out = torch.nn.Linear(size, size), torch.nn.Linear(size, len(LABELS))
        for parameter in self.encoder.parameters():
            parameter.requires_grad_(False)
        for i, layer in enumerate(self.encoder.encoder.layer):
            attention = layer.attention.attn
            attention.qkv = _join_linear([attention.q, attention.k, attention.v])
            del attention.q, attention.k, attention.v
            if i < FROZEN:
                continue
            attention.qkv = LoraLinear(attention.qkv, 2 * rank)
            for owner, name in ((attention, "o"), (layer.intermediate, "dense"), (layer.output, "dense")):
                setattr(owner, name, LoraLinear(getattr(owner, name), rank))
            for norm in (layer.attention.LayerNorm, layer.output.LayerNorm):
                norm.requires_grad_(True)

    def trained(self) -> dict[str, Any]:
        return {name: p for name, p in self.named_parameters() if p.requires_grad}

    def halve(self) -> None:
        """Frozen matrices in bfloat16, so that they need not be converted at each step."""
        for module in self.modules():
            if isinstance(module, torch.nn.Linear) and not module.weight.requires_grad:
                module.to(torch.bfloat16)

    def rates(self, rate: float) -> list[dict[str, Any]]:
        """A head as fast as the updates saturates its tanh in a few steps, and nothing is learnt any more."""
        updates: list[Any] = []
        norms: list[Any] = []
        head: list[Any] = []
        for name, parameter in self.trained().items():
            inside = norms if name.startswith("encoder.") else head
            (updates if name.endswith((".up", ".down")) else inside).append(parameter)
        return [{"params": updates, "rate": rate}, {"params": head, "rate": rate / 6},
                {"params": norms, "rate": rate / 3}]  # fmt: skip

    def loss(self, rows: Sequence[loop.Row]) -> Any:
        logits = self(loop.encode(self.tokenizer, rows)).float()
        if self.predictions:
            for row, told in zip(rows, logits.detach().softmax(-1).tolist(), strict=True):
                self.predictions.write(f"{row['line']}\t" + "\t".join(f"{value:.4f}" for value in told) + "\n")
        return loop.pair_loss(logits, rows)

    def forward(self, encoded: Any) -> Any:
        """Logits of the pair; the last layer is computed for the first token only, which is all that is read."""
        model, ids, mask = self.encoder, encoded["input_ids"], encoded["attention_mask"]
        kind = working_type()
        states = model.embeddings(input_ids=ids).to(kind)
        hidden = (1.0 - mask[:, None, None, :].to(kind)) * -1e9
        bias = model.encoder.compute_position_bias(states).to(kind) + hidden
        *lower, last = model.encoder.layer
        for layer in lower:
            states = _run_layer(layer, states, bias)
        first = _run_layer(last, states, bias, first_only=True)[:, 0]
        return self.out(torch.tanh(self.dense(first)))


def _join_linear(layers: Sequence[torch.nn.Linear]) -> torch.nn.Linear:
    """One layer for several that read the same input: one matrix product in place of three."""
    joined = torch.nn.Linear(layers[0].in_features, sum(layer.out_features for layer in layers))
    joined.weight = torch.nn.Parameter(torch.cat([layer.weight for layer in layers]), requires_grad=False)
    joined.bias = torch.nn.Parameter(torch.cat([layer.bias for layer in layers]), requires_grad=False)
    return joined


def _run_layer(layer: Any, states: Any, bias: Any, *, first_only: bool = False) -> Any:
    attention = layer.attention.attn
    heads, size = attention.num_attention_heads, attention.attention_head_size
    batch, tokens, _ = states.shape

    q, k, v = attention.qkv(states).view(batch, tokens, 3, heads, size).permute(2, 0, 3, 1, 4)
    if first_only:
        q, bias, states, tokens = q[:, :, :1], bias[:, :, :1], states[:, :1], 1
    # Of so few tokens this is twice as fast as torch's fused attention, whose backward pass is slow on a CPU.
    mixed = (q @ k.transpose(-1, -2) / size**0.5 + bias).softmax(-1) @ v
    mixed = attention.o(mixed.transpose(1, 2).reshape(batch, tokens, heads * size))
    attended = layer.attention.LayerNorm(mixed + states)
    return layer.output.LayerNorm(layer.output.dense(layer.intermediate(attended)) + attended)


def main() -> None:
    options = loop.start(loop.parser(__doc__, hours=2.0, rate=3e-4))  # at 1e-3 it forgets what it has learnt
    model = Strong(options.base)
    if not (options.out / "checkpoint.pt").exists() and RELEASED.exists():
        restore(RELEASED.parent, model.trained())
    if options.bfloat16:
        model.halve()
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / PREDICTIONS).open("a", encoding="utf-8") as model.predictions:
        loop.train(model, SHARES, options)


if __name__ == "__main__":
    main()
