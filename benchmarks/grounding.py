"""PMI-Faith beside its authors' procedure on BEGIN, and PMI-Decode beside plain decoding: one model, one process.

The authors' procedure takes one response at a time, has the model compute all logits and lets it make a mean of them.
It is timed on every fourth response by length (TROTH_BENCH_WHOLE=1: on all), ours on all of them, with nothing cached.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks import timing
from benchmarks.corpus import SHARED
from troth import stats
from troth.core.records import Grounded
from troth.grounding.pmi import DOCUMENT, HISTORY, RESPONSE, build_requests, measure
from troth.models.hf import HfLm
from troth.models.hub import embedded_files
from troth.readers import grounded as readers
from troth.storage.cache import Store
from troth.systems.decoding.generator import Responder
from troth.systems.decoding.pmi_decode import Prompt, decode
from troth.systems.decoding.settings import Setting

SETS = {"WoW": ("wow/begin_dev_wow.tsv", 2.0), "CMU-DoG": ("cmu-dog/begin_dev_cmu.tsv", 3.5),
        "Topical-Chat": ("topicalchat/begin_dev_tc.tsv", 3.5)}  # fmt: skip
MODEL = "smollm2-135m-instruct"
EVERY = 1 if os.environ.get("TROTH_BENCH_WHOLE") else 4
CLOSE = 1e-4
TOKENS = 48  # generated in a row
BATCHES = ((1, 0.75), (8, 0.6))  # contexts at a time, and the share of plain decoding's speed that is wanted


class Took(NamedTuple):
    seconds: float
    tokens: int
    values: list[float]


def authors(items: Sequence[Grounded], tokenizer: Any, model: Any) -> Took:
    """Two passes a response, each with a loss over labels, as in the authors' code."""
    import torch

    values, tokens = [], 0
    start = time.perf_counter()
    for item in items:
        pieces = DOCUMENT.format(item.document), HISTORY.format("\n".join(item.history)), RESPONSE.format(item.response)
        ids = [tokenizer(piece, return_tensors="pt")["input_ids"] for piece in pieces]
        found = []
        for context in (ids[:2], ids[1:2]):
            given = torch.cat([*context, ids[2]], dim=1)
            labels = torch.cat([*(torch.full_like(one, -100) for one in context), ids[2]], dim=1)
            with torch.no_grad():
                found.append(-model(input_ids=given, attention_mask=torch.ones_like(given), labels=labels).loss.item())
            tokens += given.shape[1]
        values.append(found[0] - found[1])
    return Took(time.perf_counter() - start, tokens, values)


def ours(items: Sequence[Grounded], lm: HfLm) -> Took:
    start = time.perf_counter()
    found = measure(items, lm)
    seconds = time.perf_counter() - start
    both = [one for item in items for question in [build_requests(item)] for one in (*question.given, question.alone)]
    return Took(seconds, sum(batch.units for batch in lm.plan(both)), [one.value or 0.0 for one in found])


def peak(model: Any) -> float:
    """Tokens a second that the machine's matrix product would allow, if a model were nothing else; without logits."""
    import torch

    one = torch.rand(1024, 1024)
    best = min(_timed(lambda: [one @ one for _ in range(8)]) for _ in range(5)) / 8
    inner = sum(p.numel() for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name)
    return float(1024**3 / best / inner)


def _timed(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def area(items: Sequence[Grounded], values: Sequence[float]) -> float:
    pairs = [(value, item.label) for value, item in zip(values, items, strict=True) if item.label is not None]
    found = stats.auroc([value for value, _ in pairs], [label for _, label in pairs])
    return float("nan") if found is None else found


def scoring(name: str, file: str, wanted: float, lm: HfLm, eighth: HfLm) -> None:
    items = list(readers.read(str(SHARED / "data/begin" / file)))
    tokenizer, model = lm._model.tokenizer, lm._model.model
    order = sorted(range(len(items)), key=lambda n: len(items[n].document))[::EVERY]
    some = [items[n] for n in order]
    mine = ours(items, lm)
    rounded = ours(items, eighth)
    theirs = authors(some, tokenizer, model)
    worst = max(abs(mine.values[n] - value) for n, value in zip(order, theirs.values, strict=True))
    if worst > CLOSE:
        raise SystemExit(f"{name}: values differ by {worst}")
    whole = theirs.seconds * len(items) / len(some)
    read = theirs.tokens * len(items) / len(some)
    timing.show(
        f"PMI-Faith on {name} dev, {len(items)} responses, float32",
        [
            ("one at a time with all logits, as the authors", f"{whole:.1f} s for {read:.0f} tokens"),
            ("troth", f"{mine.seconds:.1f} s for {mine.tokens} tokens"),
            (f"authors / troth (at least {wanted} wanted)", f"{whole / mine.seconds:.2f} ×"),
            ("largest difference of a value (1e-4 allowed)", f"{worst:.1e}"),
            ("troth, tokens a second", f"{mine.tokens / mine.seconds:.0f}"),
            ("what the matrix product alone would allow", f"{peak(model):.0f}"),
            ("in eight bits (+int8)", f"{rounded.seconds:.1f} s"),
            ("float32 / eight bits", f"{mine.seconds / rounded.seconds:.2f} ×"),
            ("AUROC, float32 and eight bits", f"{area(items, mine.values):.4f} and {area(items, rounded.values):.4f}"),
        ],
    )


def decoding(responder: Responder) -> None:
    """Plain greedy decoding and PMI-Decode of the same model: as many tokens, none of which ends a response."""
    items = list(readers.read(str(SHARED / "data/begin/wow/begin_dev_wow.tsv")))
    _, model, _ = responder.loaded
    model.generation_config.eos_token_id = None
    rows = []
    for batch, wanted in BATCHES:
        prompts = [responder.context(item, TOKENS).prompt for item in items[:batch]]
        took: dict[float, list[float]] = {0.0: [], 0.25: []}
        for _ in range(3):  # in turns, so that what else the machine does strikes both
            for alpha, seconds in took.items():
                setting = Setting(alpha=alpha, max_tokens=TOKENS)
                seconds.append(_timed(lambda p=prompts, s=setting: _decoded(model, p, s)))
        speeds = {alpha: batch * TOKENS / min(seconds) for alpha, seconds in took.items()}
        rows += [
            (f"greedy, batch {batch}", f"{speeds[0.0]:.1f} tokens a second"),
            (f"PMI-Decode, batch {batch}", f"{speeds[0.25]:.1f} tokens a second"),
            (f"PMI-Decode / greedy (at least {wanted} wanted)", f"{speeds[0.25] / speeds[0.0]:.2f}"),
        ]
    timing.show("PMI-Decode, the embedded model", rows)


def _decoded(model: Any, prompts: Sequence[Prompt], setting: Setting) -> None:
    for tokens in decode(model, prompts, setting):
        if len(tokens) != TOKENS:
            raise SystemExit(f"{len(tokens)} tokens were generated, not {TOKENS}")


def main() -> None:
    if not (SHARED / "data/begin").is_dir():
        print("\nPMI-Faith: needs BEGIN in ../shared/data/begin")
        return
    lm, eighth = HfLm(embedded_files(MODEL)), HfLm(embedded_files(MODEL), int8=True)
    for one in (lm, eighth):
        one.logprobs([("a", "b")])  # loads it
    for name, (file, wanted) in SETS.items():
        scoring(name, file, wanted, lm, eighth)
    decoding(Responder(embedded_files(MODEL), Store(":memory:")))


if __name__ == "__main__":
    main()
