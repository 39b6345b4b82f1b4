"""Training beside transformers' Trainer on the same model and examples, and prompts whose schema is read once.

Both trainings make the same number of steps with the same batch size, optimiser and rate on the dialogues of the demo;
the Trainer pads each batch to its longest example, as its own collator for sequences does. Rounds of both are taken in
turn, and the first step of a round is not timed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import timing
from troth import demo
from troth.models.hub import embedded_files
from troth.systems.data import TrackerCorpus
from troth.systems.prompted import SharedPrefixLm, prefix, question
from troth.systems.recipe import recipe_of
from troth.systems.training import FitSettings, Fitting, fit

MODEL = "smollm2-135m-instruct"
STEPS, BATCH, RATE, ROUNDS = 2, 4, 1e-4, 3  # timed steps of a round
TURNS, ANSWER = 6, 16  # of the prompts


class _Enough(Exception):  # noqa: N818
    """Ends a training after its last timed step: writing checkpoints is no part of the comparison."""


def ours(model: Any, examples: Sequence[Any]) -> Callable[[int], float]:
    """Examples per second of our loop, in a round of this number."""

    def run(number: int) -> float:
        ends: list[float] = []

        def report(step: int, _metrics: object) -> None:
            ends.append(time.perf_counter())
            if step > STEPS:
                raise _Enough

        settings = FitSettings(seed=number, steps=STEPS + 1, batch=BATCH, rate=RATE)
        with tempfile.TemporaryDirectory() as folder, suppress(_Enough):
            fit(Fitting(model, examples, report=report), Path(folder), settings)
        return STEPS * BATCH / (ends[-1] - ends[0])

    return run


def trainer(model: Any, examples: Sequence[Any]) -> Callable[[int], float]:
    """The same by transformers' Trainer."""
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

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

    class Clock(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.ends: list[float] = []

        def on_step_end(self, *_: object, **__: object) -> None:
            self.ends.append(time.perf_counter())

    def run(number: int) -> float:
        clock = Clock()
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                folder, max_steps=STEPS + 1, per_device_train_batch_size=BATCH, learning_rate=RATE, report_to=[],
                save_strategy="no", logging_strategy="no", use_cpu=True, disable_tqdm=True, seed=number,
            )  # fmt: skip
            Trainer(model.module, arguments, train_dataset=rows, data_collator=collate, callbacks=[clock]).train()
        return STEPS * BATCH / (clock.ends[-1] - clock.ends[0])

    return run


def training(mine: Any, theirs: Any, examples: Sequence[Any]) -> list[tuple[str, str]]:
    """The figures of both loops on two copies of a model."""
    ours_rates, their_rates = timing.interleaved(ours(mine, examples), trainer(theirs, examples), rounds=ROUNDS)
    return [
        ("troth train, examples per second", f"{median(ours_rates):.2f}"),
        ("transformers' Trainer, examples per second", f"{median(their_rates):.2f}"),
        ("ratio (at least 1)", f"{timing.ratio(ours_rates, their_rates):.2f}"),
    ]


def prompts(folder: Path) -> list[tuple[str, str]]:
    """Turns per second: the schema read for every turn, read once, and read once with all turns in one batch."""
    turns = [turn for turn in TrackerCorpus.read(demo.path("gold")).turns() if len(turn.services) == 1]
    service = turns[0].services
    head = prefix(service, "prompt")
    questions = [question(turn) for turn in turns if turn.services == service][:TURNS]
    lm, plain = SharedPrefixLm(folder), SharedPrefixLm(folder, share=False)
    plain.answers([(head, questions[0])], 1)

    def rate(model: SharedPrefixLm, at_once: int) -> Callable[[int], float]:
        def run(number: int) -> float:
            asked = [(f"{number}/{at_once} {head}", one) for one in questions]  # a prompt that was not read before
            start = time.perf_counter()
            for first in range(0, len(asked), at_once):
                model.answers(asked[first : first + at_once], ANSWER)
            return len(asked) / (time.perf_counter() - start)

        return run

    unshared, shared, together = timing.interleaved(rate(plain, 1), rate(lm, 1), rate(lm, TURNS), rounds=ROUNDS)
    return [
        ("prompted, the schema read for every turn, turns per second", f"{median(unshared):.2f}"),
        ("prompted, the schema read once, turn after turn", f"{median(shared):.2f}"),
        ("ratio (at least 2)", f"{timing.ratio(shared, unshared):.2f}"),
        ("prompted, as troth track asks: all turns in one batch", f"{median(together):.2f}"),
        ("ratio (at least 2)", f"{timing.ratio(together, unshared):.2f}"),
    ]


def main() -> None:
    folder = embedded_files(MODEL).folder()
    recipe = recipe_of("simpletod", {"length": 128, "answer": 48})
    turns = list(TrackerCorpus.read(demo.path("gold")).turns())
    mine, theirs = (recipe.open(str(folder), trained=False) for _ in range(2))
    assert hasattr(mine, "examples")
    rows = training(mine, theirs, list(mine.examples(turns)))
    del mine, theirs
    timing.show(
        f"Trackers: simpletod on {MODEL}, {ROUNDS} rounds of {STEPS} steps of {BATCH} examples; {TURNS} turns asked",
        [*rows, *prompts(folder)],
    )
