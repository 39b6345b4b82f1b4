"""CheckDST, table 2 and figure 2: a tracker that writes, epoch by epoch, and one that points at equal JGA.

    python -m experiments.checkdst_epochs

Both learn the same dialogues: a share of those of four services that SGD has in training and test, up to their fifth
user turn. They are measured up to the fourth, which saves time. As in the paper, the tracker that writes reads no
schema, and writes slots without intents. Of the one that points, those checkpoints are measured whose JGA on other
training dialogues is nearest to that of the one that writes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from msgspec import to_builtins
from msgspec.structs import replace as replace_fields

import troth
from experiments import t5
from experiments.checkdst import MEASURES, columns, scored
from experiments.common import arguments, publish, sgd, table
from troth.core.records import Dialogue, State
from troth.core.result import Result
from troth.readers.plain import encode_indented
from troth.systems.checkpoint import replaced_checkpoint
from troth.systems.data import TrackerCorpus
from troth.systems.evaluation import TrackerEvaluation
from troth.systems.recipe import recipe_of
from troth.systems.runs import fit_settings
from troth.systems.text import TextModel
from troth.systems.tracker import Tracker, TrackerCard, describe, open_tracker
from troth.systems.training import Fitting, Metrics, fit

Ask = Callable[[Sequence["array[int]"]], list[str]]  # answers to texts, as tokens

SERVICES, TURNS = ("Hotels_2", "Movies_1", "RideSharing_2", "Services_1"), 5
SHARE = 0.2  # of the dialogues, to learn from
DEV, TEST, FIRST = 100, 300, 4  # dialogues to choose a checkpoint by, and to measure on, and their user turns
WRITES = ("bart-dst", {"schema": "none", "answer": 96})
EPOCHS = {"epochs": 10, "batch": 8, "rate": 5e-4, "evaluate_every": 108, "bfloat16": True}  # an epoch has 108 steps
MEASURED = (1, 2, 3, 5, 7, 10)  # epochs
POINTS = ("span", dict[str, Any]())
STEPS = {"steps": 1000, "batch": 16, "rate": 5e-4, "evaluate_every": 50, "bfloat16": True}


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--base", type=Path, help="a folder with T5; without it, that of experiments.t5 is made")
    options = parser.parse_args()
    work, base = options.work / "checkdst-epochs", options.base or options.work / "t5-small"
    if not base.exists():
        t5.make(base)
    test = write_part(options.shared / "data/sgd/test", work / "test")
    learned, dev = learn_from(sgd(options.shared, options.work))
    every = checkpoints(WRITES, slots_alone(learned), str(base), work / "bart-dst", EPOCHS)
    writing = [every[epoch - 1] for epoch in MEASURED]
    pointing = checkpoints(POINTS, learned, "embedded", work / "span", STEPS)
    dev_jga = {model: jga(model, dev) for model in (*writing, *pointing)}
    publish(
        options.work, "checkdst-dev", table(["model", "JGA"], [(one.name, f"{dev_jga[one]:.1%}") for one in dev_jga])
    )
    nearest = {one: min(pointing, key=lambda span: abs(dev_jga[span] - dev_jga[one])) for one in writing}
    results = {model: scored(opened(model), test, TEST) for model in (*sorted(set(nearest.values())), *writing)}
    publish(options.work, "checkdst-epochs", columns(list(results.values())))
    publish(options.work, "checkdst-change", differences(*(results[one] for one in writing)))
    pairs = [differences(results[span], results[one]) for one, span in nearest.items()]
    publish(options.work, "checkdst-equal", "".join(pairs))


def differences(*results: Result) -> str:
    """By how many points the other trackers are above the first one, with 95% intervals."""
    rows: dict[str, list[str]] = {}
    have = [{score.metric for score in result.scores if score.value is not None} for result in results]
    measures = [metric for metric in MEASURES if all(metric in names for names in have)]
    for metric in measures:
        for one in troth.compare(*results, metrics=metric):
            low, high = (f"{100 * bound:+.1f}" if bound is not None else "–" for bound in (one.low, one.high))
            row = rows.setdefault(one.system, [f"{one.system} over {one.base}"])
            row.append(f"{100 * one.difference:+.1f} ({low} … {high})")
    return table(["model", *measures], rows.values())


def learn_from(train: Path) -> tuple[TrackerCorpus, TrackerCorpus]:
    """The dialogues to learn from, and others to choose a checkpoint by."""
    every = part_of(train, TURNS)
    learned = every.sample(SHARE)
    ids = {dialogue.id for dialogue in learned.dialogues}
    rest = [dialogue for dialogue in every.dialogues if dialogue.id not in ids]
    dev = replace(every, dialogues=rest).first(DEV)
    return learned, replace(dev, dialogues=[beginning(dialogue, FIRST) for dialogue in dev.dialogues])


def part_of(data: Path, turns: int) -> TrackerCorpus:
    """The beginnings of the dialogues that are about `SERVICES` alone."""
    corpus = TrackerCorpus.read(data).only(SERVICES)
    return replace(corpus, dialogues=[beginning(dialogue, turns) for dialogue in corpus.dialogues])


def beginning(dialogue: Dialogue, turns: int) -> Dialogue:
    spoken = [place for place, turn in enumerate(dialogue.turns) if turn.speaker == "USER"][:turns]
    return replace_fields(dialogue, turns=dialogue.turns[: spoken[-1] + 1])


def write_part(data: Path, folder: Path) -> Path:
    if not folder.exists():
        corpus = part_of(data, FIRST)
        folder.mkdir(parents=True)
        (folder / "schema.json").write_bytes(encode_indented(list(corpus.schema.values())))
        (folder / "dialogues_001.json").write_bytes(encode_indented(corpus.dialogues))
    return folder


def slots_alone(corpus: TrackerCorpus) -> TrackerCorpus:
    """The dialogues with slots alone in their states, as MultiWOZ has them."""
    return replace(corpus, dialogues=[without_intents(dialogue) for dialogue in corpus.dialogues])


def without_intents(dialogue: Dialogue) -> Dialogue:
    turns = []
    for turn in dialogue.turns:
        states = [frame.state and State(slot_values=frame.state.slot_values) for frame in turn.frames]
        frames = [replace_fields(frame, state=state) for frame, state in zip(turn.frames, states, strict=True)]
        turns.append(replace_fields(turn, frames=tuple(frames)))
    return replace_fields(dialogue, turns=tuple(turns))


def checkpoints(
    what: tuple[str, dict[str, Any]], corpus: TrackerCorpus, base: str, folder: Path, how: dict[str, Any]
) -> list[Path]:
    """Trains a tracker, unless it was before, and keeps it at each evaluation; the folders by step."""
    name, chosen = what
    recipe = recipe_of(name, chosen).fit_to(corpus)
    torch.manual_seed(0)
    model: Any = recipe.open(base, trained=False)
    card = TrackerCard(name, to_builtins(recipe), base)

    def keep(step: int, metrics: Metrics) -> None:
        if "loss" not in metrics:  # an evaluation, not a step
            with replaced_checkpoint(folder / f"{folder.name}-{step:04}") as fresh:
                model.save(fresh)
                describe(fresh, card)

    fit(Fitting(model, list(model.examples(corpus.turns())), report=keep), folder, fit_settings(how, 0))
    return sorted(folder.glob(f"{folder.name}-*"))


def opened(model: Path) -> Tracker:
    """A tracker; one that writes is made faster: in bfloat16, and never asked twice about the same text."""
    tracker = open_tracker(model)
    if isinstance(tracker.model, TextModel):
        network: Any = tracker.model.network
        network.module.bfloat16().set_attn_implementation("eager")  # faster for single tokens
        network.answers = remembered(network.answers)
    return tracker


def remembered(answers: Ask) -> Ask:
    """The same answers; a text is asked about once, for the dialogues and their twins."""
    known: dict[bytes, str] = {}

    def ask(sources: Sequence[array[int]]) -> list[str]:
        new = {one.tobytes(): one for one in sources if one.tobytes() not in known}
        known.update(zip(new, answers(list(new.values())), strict=True))
        return [known[one.tobytes()] for one in sources]

    return ask


def jga(model: Path, dev: TrackerCorpus) -> float:
    return TrackerEvaluation(dev)(opened(model))["jga"]


if __name__ == "__main__":
    main()
