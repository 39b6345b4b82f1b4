"""Trains a small entailment model on the strong model's mixture: all layers of a BERT encoder, on a CPU.

    python -m training.nli.compact --base DIR --mixture mixture.jsonl --out DIR --hours 1.5

`--base` is an encoder, or a classifier to train further. The word embeddings stay as they are: a third of the weights,
which some hundred thousand pairs would only bend towards the words they happen to hold. The model is saved as
`--out`/model. From revision 2 this gave no better model, as the card of the embedded model says; for a larger encoder
it is the way to a third one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from training.nli import loop
from training.nli.data import LABELS
from training.nli.network import first_only

# As in the strong model's mixture, with more of SGD's acts: SGSAcc rests on this model.
SHARES = {
    "mnli": 0.21, "snli": 0.08, "cad": 0.02, "newprotocols": 0.08, "semiauto": 0.02, "scitail": 0.02,
    "infotabs": 0.02, "tabfact": 0.01, "wikiresnli": 0.005, "sherliic": 0.003, "conjnli": 0.01, "help": 0.005,
    "fever": 0.08, "fm2": 0.03, "wice": 0.03, "elsewhere": 0.01, "squad": 0.03, "breaking": 0.01, "binding": 0.005,
    "rule": 0.05, "swap": 0.04, "halueval-dialogue": 0.02, "halueval-qa": 0.02, "halueval-summary": 0.01,
    "convfactual": 0.03, "paws": 0.02, "data-to-text": 0.01, "wikisplit": 0.01, "answers": 0.01, "boolq": 0.01,
    "sgd": 0.13, "made": 0.03, "degenerate": 0.035,
}  # fmt: skip


class Compact(torch.nn.Module):  # type: ignore[misc]
    """A BERT encoder with a three-way head on its first token."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.truncation_side = "left"
        self.model = AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=len(LABELS), id2label=dict(enumerate(LABELS)), use_safetensors=True,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)  # fmt: skip
        self.model.bert.embeddings.word_embeddings.weight.requires_grad_(False)

    def forward(self, encoded: Any) -> Any:
        kinds = encoded.get("token_type_ids")
        return first_only(self.model, encoded["input_ids"], encoded["attention_mask"], kinds)

    def trained(self) -> dict[str, Any]:
        return {name: p for name, p in self.named_parameters() if p.requires_grad}

    def rates(self, rate: float) -> list[dict[str, Any]]:
        return [{"params": list(self.trained().values()), "rate": rate}]


def main() -> None:
    options = loop.options(__doc__, hours=1.5, rate=1.2e-4)
    model = Compact(options.base)
    loop.train(model, SHARES, options)
    model.model.save_pretrained(options.out / "model")
    model.tokenizer.save_pretrained(options.out / "model")


if __name__ == "__main__":
    main()
