"""Runs a tracker over test sets: a folder of predictions for each, which `dst`, `checkdst` and `sgdx` read.

    OUT/track.json            which tracker, which data, with digests of both
    OUT/data/NED/             the test set, gold
    OUT/NED/                  the predictions for it, in SGD's layout

A set appears when all of it is predicted. An interrupted run is resumed: shares of dialogues that are
done stay in OUT/NED.part.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as Folder
from typing import Any

import msgspec

from troth.core.data_options import format_option, schema_option
from troth.core.digest import digest, ordered_digest
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import keywords, option, resolve, seed_option, workers_option
from troth.core.progress import bar
from troth.core.records import Dialogue, Schema
from troth.engine import WithModel, in_process, parallel_map
from troth.readers import source
from troth.readers.plain import encode_indented
from troth.storage import files
from troth.storage.claims import START_ANEW, Claim
from troth.systems import sets
from troth.systems.data import Spelling, TrackerCorpus
from troth.systems.tracker import Tracker, open_tracker

SHARE = 32  # dialogues that are written at once
RECORD, GOLD = "track.json", "gold.digest"
KIND = "predictions of a tracker"


@dataclass(frozen=True)
class TrackSettings:
    sets: str | Sequence[str] = option(
        sets.ORIGINAL, "Test sets: orig, NED, SDI, PI, v1..v5, families of perturbations, NAME=PATH.", "NAMES"
    )
    schemas: Path | None = option(
        None, "Source of the wordings v1, v2, …: a folder as SGD-X, backtranslate, corrupt, or a file of paraphrases.",
        "FROM",
    )  # fmt: skip
    schema: Path | None = schema_option()
    format: str | None = format_option("the dialogues")
    limit: int | None = option(None, "Number of dialogues to track, drawn by the seed.", least=0, zero="all")
    seed: int = seed_option("Random seed of the perturbations and of the drawn dialogues.")
    workers: int = workers_option()


class TrackedSet(msgspec.Struct, frozen=True):
    """One test set and the predictions for it."""

    name: str
    kind: sets.SetKind
    gold: str
    predictions: str
    dialogues: int
    turns: int
    seconds: float  # that were spent on predictions now


@keywords(TrackSettings)
def track(model: Path | Tracker, data: Path, out: Path, **options: Any) -> list[TrackedSet]:
    """Predicts the states of dialogues, of perturbed twins of them, and under other wordings of their schema.

    `model` is a folder that `train_tracker` wrote, the name of a bundled tracker, or RECIPE:MODEL for recipes
    that need no training (`prompted:http://HOST/v1#MODEL`). Test sets and predictions are written to the folder `out`;
    the same call again resumes an interrupted run. The options are those of `TrackSettings`.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = track("prompted:fake", demo.path("gold"), f"{folder}/run", sets="orig,SDI", limit=2)
    ...     result = troth.dst(done[0].gold, done[0].predictions, metrics="jga", resamples=10)
    >>> [one.name for one in done], result["jga"].n
    (['orig', 'SDI'], 17)
    """
    settings = resolve(TrackSettings, options)
    plan = sets.parse_sets(settings.sets)
    corpus = TrackerCorpus.read(data, schema=settings.schema, format=settings.format)
    corpus = corpus.first(settings.limit, settings.seed)
    tracker = model if isinstance(model, Tracker) else open_tracker(model)
    folder = Folder(path_of(out))
    schemas = None if settings.schemas is None else path_of(settings.schemas)
    about = {"tracker": tracker.name, "path": path_of(data), "schemas": schemas, "limit": settings.limit}
    with Claim(RECORD, KIND, _identity(tracker, corpus, schemas, settings.seed), about).working(folder):
        paths = sets.make(corpus, plan, folder / "data", schemas=schemas, seed=settings.seed)
        return [
            _predict_set(tracker, corpus, (name, plan.kind(name)), path, folder, workers=settings.workers)
            for name, path in paths.items()
        ]


def _identity(tracker: Tracker, corpus: TrackerCorpus, schemas: str | None, seed: int) -> dict[str, Any]:
    """Everything that predictions depend on. Dialogues count by their content, not by their files or order."""
    wordings = schemas or ""
    if wordings and Folder(wordings).exists():
        wordings = files.digest_tree(Folder(wordings))
    return {
        "model": tracker.digest or tracker.name,
        "card": tracker.card,
        "data": digest(corpus.dialogues),
        "schema": digest(corpus.schema.values()),
        "source of wordings": wordings,
        "seed": seed,
    }


def _predict_set(
    tracker: Tracker, original: TrackerCorpus, set: tuple[str, sets.SetKind], gold: str, out: Folder, *, workers: int
) -> TrackedSet:
    name, kind = set
    target, part = out / name, out / f"{name}.part"
    corpus = TrackerCorpus.read(gold)
    turns = sum(1 for dialogue in corpus.dialogues for _ in dialogue.user_turns())
    began = time.monotonic()
    _check_gold(target if target.exists() else part, corpus)
    if not target.exists():
        every = range(0, len(corpus.dialogues), SHARE)
        shares = {part / f"dialogues_{number:03d}.json": start for number, start in enumerate(every, 1)}
        shares = {file: start for file, start in shares.items() if not file.exists()}
        cut = [corpus.dialogues[start : start + SHARE] for start in shares.values()]
        predict = partial(_predict, corpus.schema, original.complete, original.spell)
        open_model = (lambda: tracker) if in_process(workers) else partial(open_tracker, tracker.name)
        with bar(f"tracking {name}") as step:
            for file, states in zip(shares, parallel_map(WithModel(predict, open_model), cut, workers), strict=True):
                _write(states, file)
                step(min(shares[file] + SHARE, len(corpus.dialogues)), len(corpus.dialogues))
        document = source.find_beside(gold, source.SCHEMA)
        with files.writing(str(target)):
            (part / source.SCHEMA).write_bytes(
                document.data if document else encode_indented(list(corpus.schema.values()))
            )
            files.sync_tree(part)
            part.rename(target)
    seconds = round(time.monotonic() - began, 3)
    return TrackedSet(name, kind, gold, str(target), len(corpus.dialogues), turns, seconds)


def _check_gold(folder: Folder, corpus: TrackerCorpus) -> None:
    """Records the dialogues that a folder has predictions for, or checks that they are these, in this order."""
    file, now = folder / GOLD, ordered_digest([*corpus.dialogues, *corpus.schema.values()])
    if not file.is_file():
        with files.writing(str(folder)):
            folder.mkdir(exist_ok=True)
        with files.replaced_file(str(file), lambda _: None) as out:
            out.write(now.encode())
    elif file.read_bytes() != now.encode():
        raise UserError("holds predictions for other dialogues", file=str(folder), hint=START_ANEW)


def _predict(
    schema: Schema, complete: bool, spell: Spelling | None, dialogues: Sequence[Dialogue], tracker: Tracker
) -> list[Dialogue]:
    return tracker.states(dialogues, schema, complete=complete, spell=spell)


def _write(dialogues: Sequence[Dialogue], file: Folder) -> None:
    with files.new_file(str(file)) as out:
        out.write(encode_indented(dialogues))


def commands(done: Sequence[TrackedSet]) -> list[str]:
    """The commands that score what `track` wrote."""
    original = next((one for one in done if one.kind == "original"), None)
    twins = [f"{one.name}={one.gold},{one.predictions}" for one in done if one.kind == "twin"]
    variants = [f"{one.name}={one.predictions}" for one in done if one.kind == "variant"]
    lines = [f"troth dst {one.gold} {one.predictions}" for one in done if one is original or original is None]
    if original is not None and twins:
        lines.append(f"troth robust checkdst {original.gold},{original.predictions} {' '.join(twins)}")
    if original is not None and len(variants) > 1:
        every = " ".join([f"orig={original.predictions}", *variants])
        lines.append(f"troth robust sgdx {original.gold} {every} --from {Folder(original.gold).parent}")
    return lines
