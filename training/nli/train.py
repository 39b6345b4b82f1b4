"""Train the cross-encoder on a CPU, with checkpoints; the same command goes on where it was stopped.

    python -m training.nli.train --encoder DIR --pairs pairs.jsonl --out DIR

The word embeddings stay as they are: two fifths of the weights, which a few hundred thousand pairs would only bend
towards the words they happen to hold, and words of unseen services are what counts.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from training.nli.data import LABELS

MAX_TOKENS = 160  # in training; longer premises lose their beginning
Row = dict[str, str]


def batches(lengths: Sequence[int], size: int, rng: random.Random) -> list[list[int]]:
    """Every example once, in batches of like length (less padding), the batches in random order."""
    order = list(range(len(lengths)))
    rng.shuffle(order)
    made = []
    for start in range(0, len(order), size * 50):
        window = sorted(order[start : start + size * 50], key=lengths.__getitem__)
        chunk = [window[i : i + size] for i in range(0, len(window), size)]
        rng.shuffle(chunk)
        made += chunk
    return made


def encode(tokenizer: Any, rows: Sequence[Row]) -> Any:
    return tokenizer(
        [row["premise"] for row in rows],
        [row["hypothesis"] for row in rows],
        truncation="only_first",
        max_length=MAX_TOKENS,
        padding=True,
        return_tensors="pt",
    )


def rows_of(path: Path, repeats: dict[str, int]) -> Iterator[Row]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for _ in range(repeats.get(row["from"], 1)):
            yield row


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    tokenizer = AutoTokenizer.from_pretrained(options.encoder)
    tokenizer.truncation_side = "left"
    model = AutoModelForSequenceClassification.from_pretrained(
        options.encoder,
        num_labels=3,
        id2label=dict(enumerate(LABELS)),
        use_safetensors=True,
        hidden_dropout_prob=0.0,  # one pass over the pairs: nothing is seen often enough to be learned by heart
        attention_probs_dropout_prob=0.0,
    )
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    repeats = dict((name, int(times)) for name, times in (part.split("=") for part in options.repeat))
    rows = list(rows_of(options.pairs, repeats))
    lengths = [len(row["premise"]) + len(row["hypothesis"]) for row in rows]
    plan = batches(lengths, options.batch, random.Random(options.seed))[: options.steps]
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=options.rate, weight_decay=0.01)
    warm = max(1, round(0.06 * len(plan)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (len(plan) - step) / (len(plan) - warm)))
    )
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint = options.out / "checkpoint.pt"
    first = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["step"]
        torch.manual_seed(options.seed + first)
    print(f"{len(rows)} pairs, {len(plan)} steps, from step {first}", flush=True)
    model.train()
    lost, seen, began = 0.0, 0, time.monotonic()
    for step in range(first, len(plan)):
        chosen = [rows[i] for i in plan[step]]
        labels = torch.tensor([LABELS.index(row["label"]) for row in chosen])
        logits = model(**encode(tokenizer, chosen)).logits
        loss = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.05)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        lost += loss.item()
        seen += len(chosen)
        if (step + 1) % 50 == 0:
            rate = seen / (time.monotonic() - began)
            left = (len(plan) - step - 1) * options.batch / rate / 60
            print(f"step {step + 1} loss {lost / 50:.4f} {rate:.1f}/s {left:.0f} min left", flush=True)
            lost = 0.0
        if (step + 1) % 500 == 0 or step + 1 == len(plan):
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save({**state, "schedule": schedule.state_dict(), "step": step + 1}, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)
            if math.isnan(loss.item()):
                raise SystemExit("the loss is not a number")
            model.save_pretrained(options.out / "model")
            tokenizer.save_pretrained(options.out / "model")
    print("done", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--steps", type=int, help="stop after these; all pairs otherwise")
    parser.add_argument("--repeat", nargs="*", default=["mnli=2", "snli=2"], metavar="SOURCE=N")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
