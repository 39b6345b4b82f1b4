"""Training beside transformers' Trainer on the same model and examples, and prompts whose schema is read once.

Both trainings make the same number of steps with the same batch size, optimiser and rate on the dialogues of the demo;
the Trainer pads each batch to its longest example, as its own collator for sequences does.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import timing
from troth import demo
from troth.models.hub import embedded
from troth.systems.data import TrackerCorpus
from troth.systems.prompted import SharedPrefixLm, prefix, question
from troth.systems.recipe import recipe_of
from troth.systems.training import FitSettings, Fitting, fit

MODEL = "smollm2-135m-instruct"
STEPS, BATCH, RATE = 6, 4, 1e-4
TURNS, ANSWER = 12, 8  # of the prompts


def ours(model: Any, examples: Sequence[Any]) -> float:
    """Examples per second of our loop."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        model.save = lambda _: None  # writing the model is no part of training
        fit(Fitting(model, examples), Path(folder), FitSettings(steps=STEPS, batch=BATCH, rate=RATE))
        return STEPS * BATCH / (time.perf_counter() - start)


def trainer(model: Any, examples: Sequence[Any]) -> float:
    """The same by transformers' Trainer."""
    import torch
    from transformers import Trainer, TrainingArguments

    rows = [
        {"input_ids": [*one.source, *one.target], "labels": [-100] * len(one.source) + [*one.target]}
        for one in examples
    ]

    def collate(rows: Sequence[dict[str, list[int]]]) -> dict[str, Any]:
        longest = max(len(row["input_ids"]) for row in rows)
        padded = {
            "input_ids": [row["input_ids"] + [0] * (longest - len(row["input_ids"])) for row in rows],
            "labels": [row["labels"] + [-100] * (longest - len(row["labels"])) for row in rows],
            "attention_mask": [[1] * len(row["labels"]) + [0] * (longest - len(row["labels"])) for row in rows],
        }
        return {name: torch.tensor(value) for name, value in padded.items()}

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, max_steps=STEPS, per_device_train_batch_size=BATCH, learning_rate=RATE, report_to=[],
            save_strategy="no", logging_strategy="no", use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        start = time.perf_counter()
        Trainer(model.module, arguments, train_dataset=rows, data_collator=collate).train()
        return STEPS * BATCH / (time.perf_counter() - start)


def prompts(folder: Path) -> tuple[float, float]:
    """Turns per second with the schema read once, and with it read anew for each turn."""
    turns = [turn for turn in TrackerCorpus.read(demo.path("gold")).turns() if len(turn.services) == 1]
    service = turns[0].services
    asked = [(prefix(service, "prompt"), question(turn)) for turn in turns if turn.services == service][:TURNS]
    rates = []
    for share in (True, False):
        lm = SharedPrefixLm(folder, share=share)
        lm.answers(asked[:1], ANSWER)
        start = time.perf_counter()
        for one in asked:  # as they come in a conversation
            lm.answers([one], ANSWER)
        rates.append(len(asked) / (time.perf_counter() - start))
    return rates[0], rates[1]


def main() -> None:
    folder = embedded(MODEL).folder()
    recipe = recipe_of("simpletod", {"length": 256, "answer": 64})
    turns = list(TrackerCorpus.read(demo.path("gold")).turns())
    model = recipe.open(str(folder), trained=False)
    examples = list(model.examples(turns))[: STEPS * BATCH]
    mine = ours(model, examples)
    theirs = trainer(recipe.open(str(folder), trained=False), examples)
    shared, unshared = prompts(folder)
    timing.show(
        f"Trackers: simpletod on {MODEL}, {STEPS} steps of {BATCH} examples",
        [
            ("troth train, examples per second", f"{mine:.2f}"),
            ("transformers' Trainer, examples per second", f"{theirs:.2f}"),
            ("ratio (at least 1)", f"{mine / theirs:.2f}"),
            ("prompted, the schema read once, turns per second", f"{shared:.2f}"),
            ("prompted, the schema read for every turn", f"{unshared:.2f}"),
            ("ratio (at least 2)", f"{shared / unshared:.2f}"),
        ],
    )
