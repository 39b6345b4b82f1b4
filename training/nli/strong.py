"""Trains the strong entailment model: the upper layers of MPNet-base and a three-way head, on a CPU.

    python -m training.nli.strong --base DIR --mixture mixture.jsonl --out DIR --hours 2

`--base` is the folder of MPNet, or of an earlier revision, which is trained further. Word embeddings and the lowest
layers stay as they were pretrained: gradients need not reach them, and their weights need not be shipped. The model
is saved as `--out`/model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer, MPNetForSequenceClassification

from training.nli import loop
from training.nli.data import LABELS
from training.nli.network import working_type

FROZEN = 3  # lowest layers that are not trained
# Share of each group of sources among the pairs that are drawn; a group is named by the beginning of `from`.
SHARES = {
    "mnli": 0.21, "snli": 0.09, "cad": 0.02, "newprotocols": 0.09, "semiauto": 0.02, "scitail": 0.02,
    "infotabs": 0.03, "tabfact": 0.01, "wikiresnli": 0.005, "sherliic": 0.003, "conjnli": 0.01, "help": 0.005,
    "fever": 0.09, "fm2": 0.03, "wice": 0.03, "elsewhere": 0.01, "squad": 0.03, "breaking": 0.01, "binding": 0.005,
    "rule": 0.05, "swap": 0.04, "halueval-dialogue": 0.01, "halueval-qa": 0.03, "halueval-summary": 0.01,
    "convfactual": 0.02, "paws": 0.02, "data-to-text": 0.01, "wikisplit": 0.01, "answers": 0.01, "boolq": 0.01,
    "sgd": 0.09, "made": 0.02, "chat": 0.06, "degenerate": 0.035,
}  # fmt: skip


class Strong(torch.nn.Module):  # type: ignore[misc]
    """MPNet with a three-way head on its first token, as the training loop takes it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.truncation_side = "left"
        self.judges = set(AutoConfig.from_pretrained(folder).label2id) == set(LABELS)
        self.model = MPNetForSequenceClassification.from_pretrained(
            folder, num_labels=len(LABELS), id2label=dict(enumerate(LABELS)), use_safetensors=True,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)  # fmt: skip
        encoder = self.model.mpnet.encoder
        for frozen in (self.model.mpnet.embeddings, encoder.relative_attention_bias, *encoder.layer[:FROZEN]):
            frozen.requires_grad_(False)

    def loss(self, rows: Sequence[loop.Row]) -> Any:
        return loop.pair_loss(self(loop.encode(self.tokenizer, rows)).float(), rows)

    def forward(self, encoded: Any) -> Any:
        """Logits of the pair; the last layer is computed for the first token only, which is all that is read."""
        model, ids, mask = self.model.mpnet, encoded["input_ids"], encoded["attention_mask"]
        kind = working_type()
        states = model.embeddings(input_ids=ids).to(kind)
        hidden = (1.0 - mask[:, None, None, :].to(kind)) * -1e9
        bias = model.encoder.compute_position_bias(states).to(kind) + hidden
        *lower, last = model.encoder.layer
        for layer in lower:
            states = _run_layer(layer, states, states, bias)
        return self.model.classifier(_run_layer(last, states[:, :1], states, bias[:, :, :1]))


def _run_layer(layer: Any, asking: Any, states: Any, bias: Any) -> Any:
    attention = layer.attention.attn

    def heads(projected: Any) -> Any:
        return projected.view(*projected.shape[:2], -1, attention.attention_head_size).transpose(1, 2)

    query, key, value = heads(attention.q(asking)), heads(attention.k(states)), heads(attention.v(states))
    # Of so few tokens this is twice as fast as torch's fused attention, whose backward pass is slow on a CPU.
    weights = (query @ key.transpose(-1, -2) / attention.attention_head_size**0.5 + bias).softmax(-1)
    mixed = attention.o((weights @ value).transpose(1, 2).flatten(2))
    attended = layer.attention.LayerNorm(mixed + asking)
    return layer.output.LayerNorm(layer.output.dense(layer.intermediate(attended)) + attended)


def main() -> None:
    options = loop.start(loop.parser(__doc__, hours=2.0, rate=5e-5))
    model = Strong(options.base)
    loop.train(model, SHARES, options)
    model.model.save_pretrained(options.out / "model")
    model.tokenizer.save_pretrained(options.out / "model")


if __name__ == "__main__":
    main()
