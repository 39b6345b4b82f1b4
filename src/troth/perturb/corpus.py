"""A corpus perturbed: two passes over it, one to know its values and words, one to change its dialogues.

Every dialogue has its own stream of randomness for every family, and what is counted is added up in the order of the
files; so neither order nor the number of processes moves a byte. The new folder appears when everything is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from troth import models as backends
from troth import readers
from troth.core.errors import UserError
from troth.core.records import Dialogue, Pair
from troth.core.version import __version__
from troth.engine.files import each_file
from troth.models import Nli
from troth.perturb import FAMILIES, Inventory, generator, inventory, united
from troth.perturb.users.edit import with_contexts
from troth.readers import sgd_views
from troth.readers import source as sources
from troth.storage import runs as store

RECORD = "perturbation.json"
ENTAILED = "paraphrase"  # the family that an entailment model may judge
CUT = "pairs_cut"  # among the figures: pairs that the model could not read whole
LONG = 100  # a list of options longer than that is recorded by number and hash
ENDINGS = {"mwzeval": "dialogues.json"}  # single files that are not one record a line

Progress = Callable[[int, int], None]  # files done, files there are


class Effect(msgspec.Struct):
    """What one family did."""

    family: str
    options: dict[str, Any]
    dialogues_changed: int = 0
    turns_changed: int = 0
    turns_refused: dict[str, int] = {}
    figures: dict[str, float] = {}
    per_word: dict[str, float] = {}  # the figures divided by the words that the family looked at, where it counts them


class Record(msgspec.Struct):
    """perturbation.json: what was made of what, and how."""

    troth: str
    source: str
    format: str
    seed: int
    dialogues: int
    turns: int
    families: list[Effect]


class Task(msgspec.Struct, frozen=True):
    """What a worker needs to know."""

    source: str
    format: str
    seed: int
    known: Inventory
    families: tuple[tuple[str, Any], ...]  # names with their options
    out: str | None  # where files go that keep their layout; None: dialogues are handed back
    nli: Nli | None = None  # what paraphrases are held against


class Done(msgspec.Struct):
    """What came of one file."""

    dialogues: list[Dialogue]  # unless they are written already
    effects: list[Effect]
    count: int
    turns: int
    files: list[str]


def perturb_dialogues(
    source: str,
    out: str,
    families: Sequence[str],
    *,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    workers: int = 1,
    format: str | None = None,
    to: str | None = None,
    schema: str | None = None,
    nli: str | Nli | None = None,
    cache: str | None = backends.USUAL,
    progress: Progress | None = None,
) -> Record:
    """Apply families one after the other to every dialogue of `source`, and write the result to the new folder `out`.

    `options`: family to its `Options`, where they are not the default ones. Files in SGD's layout keep their names and
    whatever we do not touch; other formats are written as `troth convert` would, to what `to` names. With `nli`, a
    model or its name, a paraphrase and its original must entail each other; it works in this process, so `workers` do
    not count. Pairs longer than it reads are counted among the family's figures.
    """
    chosen = _chosen(families, options or {})
    if nli is not None and ENTAILED not in chosen:
        hint = "name it, too: --with " + ",".join([*chosen, ENTAILED])
        raise UserError("an entailment model judges paraphrases, and none are made", hint=hint)
    format = format or readers.detect(source)
    target = to or format
    if not hasattr(readers.FORMATS.load(target), "write"):
        raise UserError(f"'{target}' can be read, but not written", file=source, hint="say --to sgd or --to jsonl")
    schemas = readers.schema(schema) if schema else readers.schema_beside(source)
    files = _files(source)
    with store.new_folder(out) as part:  # a name that is taken is told before a model is opened
        model = backends.nli(nli, cache=cache) if isinstance(nli, str) else nli
        with each_file(1 if model is not None else min(workers, len(files))) as each:
            known = united((*each(partial(_inventory, source, format), files), inventory((), schemas)))
            kept = format == target == "sgd"
            task = Task(source, format, seed, known, tuple(chosen.items()), str(part) if kept else None, model)
            record = _record(task, chosen)
            dialogues = _dialogues(task, each(partial(_work, task), files), record, progress, len(files))
            _write(dialogues, part, None if kept else target)
        _cut(record, model)
        _schema(part, source, schema)
        (part / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    return record


def _chosen(families: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    if not families:
        raise UserError("no perturbation is named", hint="known: " + ", ".join(sorted(FAMILIES)))
    chosen: dict[str, Any] = {}
    for name in families:
        if name in chosen:
            raise UserError(f"perturbation '{name}' is named twice", hint="each works once, in the order given")
        chosen[name] = options.get(name) or FAMILIES.load(name).Options()
    for name in options.keys() - chosen.keys():
        raise UserError(
            f"options of '{name}', which is not applied", hint="name it, too: --with " + ",".join([*chosen, name])
        )
    return chosen


def _files(source: str) -> list[list[str] | None]:
    """What is worked on at once: a folder's files one by one, anything else as a whole."""
    return [[str(file)] for file in sources.files(source)] or [None]


def _record(task: Task, chosen: Mapping[str, Any]) -> Record:
    effects = [Effect(name, _recorded(options)) for name, options in chosen.items()]
    for effect in effects:
        if task.nli is not None and effect.family == ENTAILED:
            effect.options["nli"] = task.nli.name
    return Record(__version__, task.source, task.format, task.seed, 0, 0, effects)


def _cut(record: Record, model: Nli | None) -> None:
    for effect in record.families:
        if model is not None and model.cut and effect.family == ENTAILED:
            effect.figures[CUT] = model.cut


def _recorded(options: Any) -> dict[str, Any]:
    listed: dict[str, Any] = msgspec.to_builtins(options)
    for name, value in listed.items():
        if isinstance(value, list | tuple) and len(value) > LONG:
            listed[name] = {"count": len(value), "sha256": hashlib.sha256(msgspec.json.encode(value)).hexdigest()}
    return listed


# -- the first pass ----------------------------------------------------------------------------------------------------


def _inventory(source: str, format: str, only: list[str] | None) -> Inventory:
    return inventory(_told(source, format, only), None)


def _told(source: str, format: str, only: list[str] | None) -> Iterator[Dialogue]:
    """What a file says and tells."""
    if format != "sgd":
        for _, items in readers.batches(source, format, files=only):
            yield from (item.gold if isinstance(item, Pair) else item for item in items)
        return
    for document in sources.documents(source, only):
        try:
            yield from sgd_views.told(document)
        except UserError as error:
            raise error.at(file=document.name, hint=readers.LAYOUT) from error


# -- the second pass ---------------------------------------------------------------------------------------------------


def _dialogues(
    task: Task, work: Iterable[Done], record: Record, progress: Progress | None, files: int
) -> Iterator[Dialogue]:
    """Work through the files and hand on what is not written yet; the record is whole when all is through."""
    written: set[str] = set()
    for number, done in enumerate(work, 1):
        for file in done.files:
            if file in written:
                raise UserError(f"'{file}' is in it twice, in two folders", file=task.source, hint="unpack it")
            written.add(file)
        record.dialogues += done.count
        record.turns += done.turns
        for whole, effect in zip(record.families, done.effects, strict=True):
            _add(whole, effect)
        if progress is not None:
            progress(number, files)
        yield from done.dialogues
    if not record.dialogues:
        raise UserError("no dialogue in it", file=task.source, hint="is it the right file?")
    for whole in record.families:
        words = whole.figures.get("words")
        whole.per_word = {k: v / words for k, v in whole.figures.items() if k != "words"} if words else {}


def _add(whole: Effect, effect: Effect) -> None:
    whole.dialogues_changed += effect.dialogues_changed
    whole.turns_changed += effect.turns_changed
    for counts, more in ((whole.turns_refused, effect.turns_refused), (whole.figures, effect.figures)):
        for name, count in more.items():
            counts[name] = counts.get(name, 0) + count  # type: ignore[assignment]


def _work(task: Task, only: list[str] | None) -> Done:
    """One file: read, perturbed and, where it keeps its layout, written."""
    applied = _Applied(task)
    done = Done([], applied.effects, 0, 0, [])
    if task.out is None:
        for _, items in readers.batches(task.source, task.format, files=only):
            done.dialogues += [applied(item.gold if isinstance(item, Pair) else item) for item in items]
    else:
        for document in sources.documents(task.source, only):
            try:
                whole = sgd_views.whole(document)
            except UserError as error:
                raise error.at(file=document.name, hint=readers.LAYOUT) from error
            for at, dialogue in enumerate(whole.dialogues):
                after = applied(dialogue)
                if after is not dialogue:
                    whole.patch(at, after)
            name = "dialogues.json" if task.source == "-" else Path(document.name).name.removesuffix(".gz")
            if name in sources.NOT_DIALOGUES:
                hint = "rename it: the folder that is written has files of that name of its own"
                raise UserError("cannot be written under this name", file=document.name, hint=hint)
            done.files.append(name)
            (Path(task.out) / name).write_bytes(whole.encode())
    done.count, done.turns = applied.count, applied.turns
    return done


class _Applied:
    """The families, one after the other, with what they do counted."""

    def __init__(self, task: Task) -> None:
        self.seed, self.known = task.seed, task.known
        self.families = [(name, _perturb(name, task.nli), options) for name, options in task.families]
        self.effects = [Effect(name, {}) for name, _ in task.families]
        self.count = self.turns = 0

    def __call__(self, dialogue: Dialogue) -> Dialogue:
        after = dialogue
        for (name, perturb, options), effect in zip(self.families, self.effects, strict=True):
            changed = perturb(after, generator(self.seed, name, dialogue.id), self.known, options)
            after = changed.dialogue
            effect.turns_changed += len(changed.turns)
            effect.dialogues_changed += bool(changed.turns)
            for counts, more in ((effect.turns_refused, changed.refused), (effect.figures, changed.figures)):
                for key, count in more.items():
                    counts[key] = counts.get(key, 0) + count
        self.count += 1
        self.turns += len(dialogue.turns)
        return after if after is dialogue else with_contexts(dialogue, after)


def _perturb(family: str, nli: Nli | None) -> Callable[..., Any]:
    perturb: Callable[..., Any] = FAMILIES.load(family).perturb
    if nli is None or family != ENTAILED:
        return perturb

    def entails(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        return [verdict.entailed for verdict in nli.probabilities(pairs)]

    return partial(perturb, entails=entails)


# -- on disk -----------------------------------------------------------------------------------------------------------


def _write(dialogues: Iterator[Dialogue], part: Path, target: str | None) -> None:
    if target is None:  # the workers wrote the files
        for _ in dialogues:
            pass
    elif target == "sgd":
        inner = part / "sgd"
        readers.write(dialogues, str(inner), "sgd")
        for file in sorted(inner.iterdir()):
            file.rename(part / file.name)
        inner.rmdir()
    else:
        readers.write(dialogues, str(part / ENDINGS.get(target, "dialogues.jsonl")), target)


def _schema(part: Path, source: str, schema: str | None) -> None:
    """The schema goes with the dialogues."""
    document = sources.first(schema) if schema else sources.beside(source, "schema.json")
    if document is not None:
        (part / "schema.json").write_bytes(document.data)
