"""Trains the embedded entailment model: all layers of a small BERT encoder and two heads, on a CPU.

    python -m training.nli.compact --base DIR --mixture marked.jsonl --out DIR --hours 1

The word embeddings stay as they are: a third of the weights, which some hundred thousand pairs would only bend towards
the words they happen to hold. The second head learns from the rows whose words are labelled (`words.py`). The model is
saved as `--out`/model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import AutoConfig, AutoTokenizer

from training.nli import loop
from training.nli.data import LABELS
from training.nli.network import TwoHeads

WORDS = 0.5  # weight of the loss of words

# As in the strong model's mixture, with more of SGD's acts: SGSAcc rests on this model.
SHARES = {
    "mnli": 0.23, "snli": 0.12, "cad": 0.02, "newprotocols": 0.07, "semiauto": 0.02, "scitail": 0.02,
    "infotabs": 0.025, "tabfact": 0.015, "wikiresnli": 0.005, "sherliic": 0.003, "conjnli": 0.015, "help": 0.01,
    "fever": 0.08, "fm2": 0.03, "wice": 0.03, "elsewhere": 0.01, "squad": 0.03, "breaking": 0.01, "binding": 0.005,
    "rule": 0.06, "swap": 0.04, "halueval-dialogue": 0.01, "halueval-qa": 0.025, "halueval-summary": 0.01,
    "convfactual": 0.015, "paws": 0.02, "data-to-text": 0.01, "wikisplit": 0.01, "answers": 0.015, "boolq": 0.01,
    "sgd": 0.17, "made": 0.03, "chat": 0.07, "degenerate": 0.025,
}  # fmt: skip


class Compact(torch.nn.Module):  # type: ignore[misc]
    """The encoder with its tokenizer, as the training loop takes it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.truncation_side = "left"
        self.judges = set(AutoConfig.from_pretrained(folder).label2id) == set(LABELS)
        self.model = TwoHeads.from_pretrained(
            folder, num_labels=len(LABELS), id2label=dict(enumerate(LABELS)), use_safetensors=True,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)  # fmt: skip
        self.model.bert.embeddings.word_embeddings.weight.requires_grad_(False)

    def loss(self, rows: Sequence[loop.Row]) -> Any:
        encoded = loop.encode(self.tokenizer, rows, return_offsets_mapping=True)
        pairs, words = self.model(encoded["input_ids"], encoded["attention_mask"], encoded["token_type_ids"])
        pairs, words = pairs.float(), words.float()
        loss = loop.pair_loss(pairs, rows)
        known = [i for i, row in enumerate(rows) if "words" in row]
        if not known:
            return loss
        targets = torch.stack([self._targets(encoded, i, rows[i]["words"]) for i in known])
        labelled = targets >= 0
        of_words = binary_cross_entropy_with_logits(words[known][labelled], targets[labelled])
        return loss + WORDS * of_words * len(known) / len(rows)

    def _targets(self, encoded: Any, row: int, spans: Sequence[Sequence[int]]) -> Any:
        """1 for tokens of the hypothesis that are not supported, 0 for its others, -1 elsewhere."""
        targets = torch.full(encoded["input_ids"].shape[1:], -1.0)
        places = zip(encoded.sequence_ids(row), encoded["offset_mapping"][row].tolist(), strict=True)
        for i, (part, (start, end)) in enumerate(places):
            if part == 1:
                targets[i] = float(any(start < last and first < end for first, last in spans))
        return targets


def main() -> None:
    options = loop.start(loop.parser(__doc__, hours=1.0, rate=1.5e-4))
    model = Compact(options.base)
    loop.train(model, SHARES, options)
    model.model.save_pretrained(options.out / "model")
    model.tokenizer.save_pretrained(options.out / "model")


if __name__ == "__main__":
    main()
