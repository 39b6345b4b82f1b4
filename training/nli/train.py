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
from types import MethodType
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from training.nli.data import LABELS
from training.nli.documents import UNSUPPORTED
from training.nli.network import first_only

MAX_TOKENS = 192  # in training; longer premises lose their beginning
SMOOTHING = 0.05
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


def model_of(folder: Path) -> tuple[Any, Any]:
    """Tokenizer and classifier; the head is new where the folder has only an encoder."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.truncation_side = "left"
    model = AutoModelForSequenceClassification.from_pretrained(
        folder,
        num_labels=3,
        id2label=dict(enumerate(LABELS)),
        use_safetensors=True,
        hidden_dropout_prob=0.0,  # one pass over the pairs: nothing is seen often enough to be learned by heart
        attention_probs_dropout_prob=0.0,
    )
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    model.forward = MethodType(first_only, model)
    return tokenizer, model.train()


def loss_of(logits: Any, labels: Sequence[str]) -> Any:
    """Cross entropy with smoothed labels; of `unsupported`, that it is one of the two others is all that is learned."""
    log = logits.log_softmax(-1)
    two = log[:, 1:].logsumexp(-1)
    losses = [
        -two[i] if label == UNSUPPORTED
        else -(1 - SMOOTHING) * log[i, LABELS.index(label)] - SMOOTHING * log[i].mean()
        for i, label in enumerate(labels)
    ]  # fmt: skip
    return torch.stack(losses).mean()


class Training:
    """Model, optimiser and rate, and where they are saved."""

    def __init__(self, options: argparse.Namespace, steps: int) -> None:
        self.out, self.step, self.bfloat16 = options.out, 0, options.bfloat16
        self.tokenizer, self.model = model_of(options.encoder)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=options.rate, weight_decay=0.01)
        warm = max(1, round(0.06 * steps))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / (steps - warm)))
        )
        options.out.mkdir(parents=True, exist_ok=True)
        self.checkpoint = options.out / "checkpoint.pt"
        if self.checkpoint.exists():
            saved = torch.load(self.checkpoint, weights_only=True)
            for name in ("model", "optimizer", "schedule"):
                getattr(self, name).load_state_dict(saved[name])
            self.step = saved["step"]

    def learn(self, rows: Sequence[Row]) -> float:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            logits = self.model(**encode(self.tokenizer, rows))
        loss = loss_of(logits.float(), [row["label"] for row in rows])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return float(loss.item())

    def save(self) -> None:
        states = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "schedule")}
        new = self.checkpoint.with_suffix(".new")
        torch.save({**states, "step": self.step}, new)
        new.replace(self.checkpoint)
        self.model.save_pretrained(self.out / "model")
        self.tokenizer.save_pretrained(self.out / "model")


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    repeats = {name: int(times) for name, times in (part.split("=") for part in options.repeat)}
    rows = list(rows_of(options.pairs, repeats))
    lengths = [len(row["premise"]) + len(row["hypothesis"]) for row in rows]
    plan = batches(lengths, options.batch, random.Random(options.seed))[: options.steps]
    training = Training(options, len(plan))
    print(f"{len(rows)} pairs, {len(plan)} steps, from step {training.step}", flush=True)
    lost, seen, began = 0.0, 0, time.monotonic()
    for chosen in plan[training.step :]:
        loss = training.learn([rows[i] for i in chosen])
        if math.isnan(loss):
            raise SystemExit("the loss is not a number")
        lost, seen = lost + loss, seen + len(chosen)
        if training.step % 20 == 0:
            rate = seen / (time.monotonic() - began)
            left = (len(plan) - training.step) * options.batch / rate / 60
            print(f"step {training.step} loss {lost / 20:.4f} {rate:.1f}/s {left:.0f} min left", flush=True)
            lost = 0.0
        if training.step % 60 == 0:
            training.save()
    training.save()
    print("done", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", type=Path, required=True, help="an encoder, or a classifier to train further")
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--steps", type=int, help="fewer than one pass; when training goes on, the rate decays to them")
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--repeat", nargs="*", default=["mnli=2", "snli=2"], metavar="SOURCE=N")
    parser.add_argument("--bfloat16", action="store_true", help="1.8 times as fast on processors that have it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
