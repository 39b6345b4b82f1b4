"""Trains the strong entailment model: MPNet-base with low-rank updates (LoRA), on a CPU.

    python -m training.nli.strong --base DIR --mixture mixture.jsonl --out DIR --hours 2

The base stays frozen, so a step costs two thirds of full fine-tuning, and what is learnt is small enough to ship.
The learning rate is warmed up, held, and decays linearly over the last `--decay` share of the time; the same command
resumes from the last checkpoint. Batches hold pairs of similar length and a fixed number of tokens.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, MPNetModel

from training.nli.data import LABELS
from training.nli.documents import UNSUPPORTED

MAX_TOKENS = 224
SMOOTHING = 0.03
RANK = 16
FROZEN = 3  # lowest layers without an update: gradients need not reach them
# Share of each group of sources among the pairs that are drawn; a group is named by the beginning of `from`.
SHARES = {
    "mnli": 0.20, "snli": 0.09, "cad": 0.02, "newprotocols": 0.09, "semiauto": 0.02, "scitail": 0.02,
    "infotabs": 0.03, "tabfact": 0.01, "wikiresnli": 0.005, "sherliic": 0.003, "conjnli": 0.01, "help": 0.005,
    "fever": 0.08, "fm2": 0.03, "wice": 0.03, "elsewhere": 0.01, "squad": 0.03, "breaking": 0.01, "binding": 0.005,
    "rule": 0.05, "swap": 0.04, "halueval-dialogue": 0.02, "halueval-qa": 0.03, "halueval-summary": 0.01,
    "convfactual": 0.03, "paws": 0.02, "data-to-text": 0.01, "wikisplit": 0.01, "answers": 0.01, "boolq": 0.01,
    "sgd": 0.09, "made": 0.02, "degenerate": 0.035,
}  # fmt: skip
# Plain entailment comes first: from all sources at once the model learns nothing for the first hundreds of steps.
OPENING, OPENING_SOURCES = 130, ("mnli", "snli", "cad", "fever")
Row = dict[str, Any]


class LoraLinear(torch.nn.Module):  # type: ignore[misc]
    """A frozen linear layer plus a trained update of low rank."""

    def __init__(self, base: torch.nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = torch.nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = torch.nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Any) -> Any:
        return self.base(x) + (x @ self.down.T) @ self.up.T


class Classifier(torch.nn.Module):  # type: ignore[misc]
    """MPNet with a three-way head on its first token."""

    def __init__(self, folder: Path, rank: int = RANK) -> None:
        super().__init__()
        self.encoder = MPNetModel.from_pretrained(folder, add_pooling_layer=False, use_safetensors=True)
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

    def forward(self, ids: Any, mask: Any) -> Any:
        """Logits of the pair; the last layer is computed for the first token only, which is all that is read."""
        model = self.encoder
        states = model.embeddings(input_ids=ids)
        bias = model.encoder.compute_position_bias(states) + (1.0 - mask[:, None, None, :].float()) * -1e9
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
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    mixed = attention.o(mixed.transpose(1, 2).reshape(batch, tokens, heads * size))
    attended = layer.attention.LayerNorm(mixed + states)
    return layer.output.LayerNorm(layer.output.dense(layer.intermediate(attended)) + attended)


def pair_loss(logits: Any, labels: Sequence[str]) -> Any:
    """Cross entropy with smoothed labels; `unsupported` only says that it is not entailment."""
    log = logits.log_softmax(-1)
    not_entailed = log[:, 1:].logsumexp(-1)
    losses = [
        -not_entailed[i] if label == UNSUPPORTED
        else -(1 - SMOOTHING) * log[i, LABELS.index(label)] - SMOOTHING * log[i].mean()
        for i, label in enumerate(labels)
    ]  # fmt: skip
    return torch.stack(losses).mean()


class Sampler:
    """Endless batches of similar length: rows of each group in random order, groups by their shares."""

    def __init__(self, rows: Sequence[Row], tokens: int, seed: int) -> None:
        self.rows, self.tokens, self.rng = rows, tokens, random.Random(seed)
        groups: dict[str, list[int]] = defaultdict(list)
        for i, row in enumerate(rows):
            groups[row["from"].split(":")[0]].append(i)
        if unknown := groups.keys() - SHARES.keys():
            raise SystemExit(f"no share for the sources {sorted(unknown)}")
        self.groups = {name: groups[name] for name in SHARES if groups[name]}
        self.queues: dict[str, list[int]] = {name: [] for name in self.groups}

    def _draw(self, sources: Sequence[str]) -> int:
        name = self.rng.choices(sources, [SHARES[name] for name in sources])[0]
        if not self.queues[name]:
            self.queues[name] = self.rng.sample(self.groups[name], len(self.groups[name]))
        return self.queues[name].pop()

    def batches(self, step: int) -> Iterator[list[Row]]:
        """Batches from this step on; the first ones are of the opening sources."""
        while True:
            sources = OPENING_SOURCES if step < OPENING else list(self.groups)
            window = sorted((self.rows[self._draw(sources)] for _ in range(1024)), key=lambda row: row["length"])
            batches: list[list[Row]] = [[]]
            for row in window:
                if (len(batches[-1]) + 1) * min(row["length"], MAX_TOKENS) > self.tokens:
                    batches.append([])
                batches[-1].append(row)
            self.rng.shuffle(batches)
            step += len(batches)
            yield from filter(None, batches)


class Training:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.step, self.seconds = options, 0, 0.0
        self.tokenizer = AutoTokenizer.from_pretrained(options.base)
        self.tokenizer.truncation_side = "left"
        self.model = Classifier(options.base)
        trained = self.model.trained()
        heads = [p for name, p in trained.items() if not name.startswith("encoder.")]
        lora = [p for name, p in trained.items() if name.endswith((".up", ".down"))]
        small = [
            p for name, p in trained.items() if name.startswith("encoder.") and not name.endswith((".up", ".down"))
        ]
        self.optimizer = torch.optim.AdamW(
            # A faster head saturates its tanh in a few steps, and nothing is learnt any more.
            [{"params": lora, "rate": options.rate}, {"params": heads, "rate": options.rate / 6},
             {"params": small, "rate": options.rate / 3}], lr=options.rate, weight_decay=0.01)  # fmt: skip
        options.out.mkdir(parents=True, exist_ok=True)
        self.checkpoint = options.out / "checkpoint.pt"
        if self.checkpoint.exists():
            saved = torch.load(self.checkpoint, weights_only=True)
            self.model.load_state_dict(saved["model"], strict=False)
            rates = [group["rate"] for group in self.optimizer.param_groups]
            self.optimizer.load_state_dict(saved["optimizer"])
            for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
                group["rate"] = rate  # a resumed run may have another
            self.step, self.seconds = saved["step"], saved["seconds"]

    def rate(self) -> float:
        """Factor of the learning rate: warm-up over 40 steps, constant, linear decay at the end of the time."""
        left = 1 - self.seconds / (self.options.hours * 3600)
        return float(min(1.0, (self.step + 1) / 40, max(0.0, left / self.options.decay)))

    def learn(self, rows: Sequence[Row]) -> float:
        encoded = self.tokenizer([r["premise"] for r in rows], [r["hypothesis"] for r in rows], padding=True,
                                 truncation="only_first", max_length=MAX_TOKENS, return_tensors="pt")  # fmt: skip
        logits = self.model(encoded["input_ids"], encoded["attention_mask"])
        loss = pair_loss(logits, [row["label"] for row in rows])
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for group in self.optimizer.param_groups for p in group["params"]], 1.0)
        factor = self.rate()
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * factor
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return float(loss.item())

    def save(self) -> None:
        state = {name: p.detach() for name, p in self.model.trained().items()}
        new = self.checkpoint.with_suffix(".new")
        torch.save({"model": state, "optimizer": self.optimizer.state_dict(), "step": self.step,
                    "seconds": self.seconds}, new)  # fmt: skip
        new.replace(self.checkpoint)
        if self.step % 400 == 0:  # a run that goes wrong is continued from an earlier state
            shutil.copy(self.checkpoint, self.checkpoint.with_stem(f"step-{self.step}"))


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    training = Training(options)
    rows = [json.loads(line) for line in options.mixture.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["length"] = int(1.35 * len(row["premise"].split()) + 1.35 * len(row["hypothesis"].split())) + 6
    sampler = Sampler(rows, options.tokens, options.seed + training.step)
    lost, pairs, tokens, began = 0.0, 0, 0, time.monotonic()
    print(f"{len(rows)} pairs, from step {training.step}, {training.seconds / 60:.0f} minutes done", flush=True)
    for batch in sampler.batches(training.step):
        started = time.monotonic()
        lost += training.learn(batch)
        training.seconds += time.monotonic() - started
        pairs, tokens = pairs + len(batch), tokens + sum(row["length"] for row in batch)
        if training.step % 20 == 0:
            spent = time.monotonic() - began
            print(f"step {training.step} loss {lost / 20:.4f} {pairs / spent:.1f} pairs/s {tokens / spent:.0f} tokens/s"
                  f" rate {training.rate():.2f} at {training.seconds / 60:.1f} min", flush=True)  # fmt: skip
            lost, pairs, tokens, began = 0.0, 0, 0, time.monotonic()
        if training.step % 50 == 0:
            training.save()
        if training.seconds > options.hours * 3600:
            break
    training.save()
    print("done", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="the folder of all-mpnet-base-v2")
    parser.add_argument("--mixture", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=2.0, help="training time in all, over resumed runs")
    parser.add_argument("--decay", type=float, default=0.2, help="share of the time in which the rate decays")
    parser.add_argument("--tokens", type=int, default=1600, help="tokens of a batch")
    parser.add_argument("--rate", type=float, default=3e-4)  # at 1e-3 it forgets what it has learnt
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
