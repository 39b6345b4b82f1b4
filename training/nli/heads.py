"""Trains the second head of the embedded entailment model: which words of a hypothesis are not supported.

    python -m training.nli.heads --released src/troth/models/entailment --encoder DIR --marked marked.jsonl --out DIR

The model itself stays as it is, so that no entailment changes; only the head learns, from rows whose words are known
(`words.py`), for some minutes. The model with both heads is saved as `--out`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from training.nli import loop
from training.nli.network import TwoHeads, read_layers
from training.nli.restore import weights_of
from training.nli.train import model_of

SHARES = {"wrong": 0.55, "right": 0.3, "wice": 0.15}
PLAIN = loop.OPENING  # from this step on the sampler draws from all sources


def known_rows(path: Path) -> list[loop.Row]:
    """The rows whose words are known, by whether any is wrong; labels by people are a source of their own."""
    rows = [row for row in loop.read_rows(path) if "words" in row]
    for row in rows:
        row["from"] = "wice" if row["from"].startswith("wice") else "wrong" if row["words"] else "right"
    return rows


def targets(encoded: Any, row: int, spans: Sequence[Sequence[int]]) -> Any:
    """1 for tokens of the hypothesis that are not supported, 0 for its others, -1 elsewhere."""
    found = torch.full(encoded["input_ids"].shape[1:], -1.0)
    places = zip(encoded.sequence_ids(row), encoded["offset_mapping"][row].tolist(), strict=True)
    for i, (part, (start, end)) in enumerate(places):
        if part == 1:
            found[i] = float(any(start < last and first < end for first, last in spans))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--released", type=Path, required=True, help="the folder with model.onnx")
    parser.add_argument("--encoder", type=Path, required=True, help="the encoder that it was made from")
    parser.add_argument("--marked", type=Path, required=True, help="output of training.nli.words")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--rate", type=float, default=1e-3)
    options = parser.parse_args()
    torch.manual_seed(0)
    tokenizer, plain = model_of(options.encoder)
    tokenizer.truncation_side = "left"
    model = TwoHeads(plain.config)
    released = weights_of(options.released / "model.onnx")
    old = {name: torch.from_numpy(values.copy()).reshape(model.state_dict()[name].shape)
           for name, values in released.items() if name in model.state_dict()}  # fmt: skip
    missing = model.load_state_dict(old, strict=False).missing_keys
    if any(not name.startswith("doubts.") for name in missing):
        raise SystemExit(f"{options.released}: no weights of {', '.join(missing)}")
    model.eval()
    optimizer = torch.optim.AdamW(model.doubts.parameters(), lr=options.rate, weight_decay=0.01)
    sampler = loop.Sampler(known_rows(options.marked), SHARES, tokens=3200, seed=0)
    began, lost = time.monotonic(), 0.0
    for step, rows in enumerate(sampler.batches(PLAIN), 1):
        left = 1 - (time.monotonic() - began) / (60 * options.minutes)
        if left <= 0:
            break
        encoded = tokenizer(
            [row["premise"] for row in rows], [row["hypothesis"] for row in rows], padding=True,
            truncation="longest_first", max_length=loop.MAX_TOKENS, return_tensors="pt", return_offsets_mapping=True,
        )  # fmt: skip
        with torch.no_grad():
            states, _ = read_layers(model, encoded["input_ids"], encoded["attention_mask"], encoded["token_type_ids"])
        wanted = torch.stack([targets(encoded, i, row["words"]) for i, row in enumerate(rows)])
        labelled = wanted >= 0
        logits = model.doubts(states[labelled]).squeeze(-1)
        loss = binary_cross_entropy_with_logits(logits, wanted[labelled])
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = options.rate * left
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        lost += loss.item()
        if step % 50 == 0:
            print(f"step {step} loss {lost / 50:.4f}, {left:.0%} of the time left", flush=True)
            lost = 0.0
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()
