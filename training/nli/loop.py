"""The training loop of both entailment models: a mixture of sources, a budget of time, checkpoints.

The learning rate is warmed up, held, and decays linearly over the last `--decay` share of the time; the same command
resumes from the last checkpoint. Batches hold pairs of similar length and a fixed number of tokens.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from training.nli.data import LABELS
from training.nli.documents import UNSUPPORTED

MAX_TOKENS = 224
SMOOTHING = 0.03
# Plain entailment comes first: from all sources at once an encoder learns nothing for the first hundreds of steps.
OPENING, OPENING_SOURCES = 130, ("mnli", "snli", "cad", "fever")
Row = dict[str, Any]


class Classifier(Protocol):
    """What is trained: the loss of a batch, and the parameters, of which those change that require gradients."""

    tokenizer: Any
    judges: bool  # whether its base already is an entailment model

    def loss(self, rows: Sequence[Row]) -> Any: ...

    def named_parameters(self) -> Iterator[tuple[str, Any]]: ...


def pair_loss(logits: Any, rows: Sequence[Row]) -> Any:
    """Cross entropy with smoothed labels; `unsupported` only says that it is not entailment."""
    log = logits.log_softmax(-1)
    not_entailed = log[:, 1:].logsumexp(-1)
    return torch.stack([
        -not_entailed[i] if row["label"] == UNSUPPORTED
        else -(1 - SMOOTHING) * log[i, LABELS.index(row["label"])] - SMOOTHING * log[i].mean()
        for i, row in enumerate(rows)
    ]).mean()  # fmt: skip


def encode(tokenizer: Any, rows: Sequence[Row], **more: Any) -> Any:
    """The pairs of a batch in tokens; a pair that is too long loses the beginning of its longer text."""
    return tokenizer(
        [row["premise"] for row in rows], [row["hypothesis"] for row in rows], padding=True,
        truncation="longest_first", max_length=MAX_TOKENS, return_tensors="pt", **more)  # fmt: skip


class Sampler:
    """Endless batches of similar length: rows of each group in random order, groups by their shares."""

    def __init__(
        self, rows: Sequence[Row], tokenizer: Any, shares: Mapping[str, float], tokens: int, seed: int
    ) -> None:
        self.rows, self.tokenizer, self.shares, self.tokens = rows, tokenizer, shares, tokens
        self.rng = random.Random(seed)
        groups: dict[str, list[int]] = defaultdict(list)
        for i, row in enumerate(rows):
            groups[row["from"].split(":")[0]].append(i)
        if unknown := groups.keys() - shares.keys():
            raise SystemExit(f"no share for the sources {sorted(unknown)}")
        self.groups = {name: groups[name] for name in shares if groups[name]}
        self.queues: dict[str, list[int]] = {name: [] for name in self.groups}

    def _draw(self, sources: Sequence[str]) -> int:
        name = self.rng.choices(sources, [self.shares[name] for name in sources])[0]
        if not self.queues[name]:
            self.queues[name] = self.rng.sample(self.groups[name], len(self.groups[name]))
        return self.queues[name].pop()

    def _lengths(self, rows: Sequence[Row]) -> list[int]:
        """Tokens of each pair, exactly: by an estimate from its words, a third of a batch would be padding."""
        pairs = [(row["premise"], row["hypothesis"]) for row in rows]
        return [min(len(ids), MAX_TOKENS) for ids in self.tokenizer(pairs)["input_ids"]]

    def batches(self, step: int, opening: int) -> Iterator[list[Row]]:
        """Batches from this step on; those before `opening` are of the opening sources."""
        while True:
            sources = OPENING_SOURCES if step < opening else list(self.groups)
            window = [self.rows[self._draw(sources)] for _ in range(1024)]
            lengths = self._lengths(window)
            batches: list[list[Row]] = [[]]
            for i in sorted(range(len(window)), key=lengths.__getitem__):
                if (len(batches[-1]) + 1) * lengths[i] > self.tokens:
                    batches.append([])
                batches[-1].append(window[i])
            self.rng.shuffle(batches)
            step += len(batches)
            yield from filter(None, batches)


class Training:
    def __init__(self, model: Classifier, options: argparse.Namespace) -> None:
        self.model, self.options, self.step, self.seconds = model, options, 0, 0.0
        self.trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.optimizer = torch.optim.AdamW(self.trained.values(), lr=options.rate, weight_decay=0.01, fused=True)
        options.out.mkdir(parents=True, exist_ok=True)
        self.checkpoint = options.out / "checkpoint.pt"
        if self.checkpoint.exists():
            saved = torch.load(self.checkpoint, weights_only=True)
            with torch.no_grad():
                for name, values in saved["model"].items():
                    self.trained[name].copy_(values)
            self.optimizer.load_state_dict(saved["optimizer"])
            self.step, self.seconds = saved["step"], saved["seconds"]

    def factor(self) -> float:
        """Factor of the learning rate: warm-up over 40 steps, constant, linear decay at the end of the time."""
        left = 1 - self.seconds / (self.options.hours * 3600)
        return float(min(1.0, (self.step + 1) / 40, max(0.0, left / self.options.decay)))

    def learn(self, rows: Sequence[Row]) -> float:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.options.bfloat16):
            loss = self.model.loss(rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained.values(), 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.rate * self.factor()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return float(loss.item())

    def save(self) -> None:
        state = {name: p.detach() for name, p in self.trained.items()}
        new = self.checkpoint.with_suffix(".new")
        torch.save({"model": state, "optimizer": self.optimizer.state_dict(), "step": self.step,
                    "seconds": self.seconds}, new)  # fmt: skip
        new.replace(self.checkpoint)
        if self.step % 400 == 0:  # a run that goes wrong is continued from an earlier state
            shutil.copy(self.checkpoint, self.checkpoint.with_stem(f"step-{self.step}"))


def train(model: Classifier, shares: Mapping[str, float], options: argparse.Namespace) -> None:
    """Trains until the time is over."""
    training = Training(model, options)
    rows = [json.loads(line) for line in options.mixture.read_text(encoding="utf-8").splitlines()]
    gc.freeze()  # else each collection walks over all rows again
    sampler = Sampler(rows, model.tokenizer, shares, options.tokens, options.seed + training.step)
    lost, pairs, began = 0.0, 0, time.monotonic()
    print(f"{len(rows)} pairs, from step {training.step}, {training.seconds / 60:.0f} minutes done", flush=True)
    for batch in sampler.batches(training.step, 0 if model.judges else OPENING):
        started = time.monotonic()
        lost += training.learn(batch)
        training.seconds += time.monotonic() - started
        pairs += len(batch)
        if training.step % 20 == 0:
            spent = time.monotonic() - began
            print(f"step {training.step} loss {lost / 20:.4f} {pairs / spent:.1f} pairs/s"
                  f" rate {training.factor():.2f} at {training.seconds / 60:.1f} min", flush=True)  # fmt: skip
            lost, pairs, began = 0.0, 0, time.monotonic()
        if training.step % 50 == 0:
            training.save()
        if training.seconds > options.hours * 3600:
            break
    training.save()
    print("done", flush=True)


def has_fast_bfloat16() -> bool:
    cpus = Path("/proc/cpuinfo")
    return cpus.exists() and bool(re.search(r"\b(amx|avx512)_bf16\b", cpus.read_text(encoding="utf-8")))


def parser(description: str | None, *, hours: float, rate: float) -> argparse.ArgumentParser:
    """The command line of both trainings, with the defaults of one."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--base", type=Path, required=True, help="the folder of the encoder")
    parser.add_argument("--mixture", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=hours, help="training time in all, over resumed runs")
    parser.add_argument("--decay", type=float, default=0.9, help="share of the time in which the rate decays")
    parser.add_argument("--tokens", type=int, default=4096, help="tokens of a batch")
    parser.add_argument("--rate", type=float, default=rate)
    parser.add_argument(
        "--bfloat16", action=argparse.BooleanOptionalAction, default=has_fast_bfloat16(),
        help="compute in bfloat16; the default where the processor has instructions for it")  # fmt: skip
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def start(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Reads the command line, and sets torch's seed and threads by it."""
    read = parser.parse_args()
    torch.manual_seed(read.seed)
    torch.set_num_threads(read.threads)
    return read
