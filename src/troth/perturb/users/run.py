"""Perturbs a corpus: two passes over it, one to know its values and words, one to change its dialogues.

Every dialogue has its own stream of randomness for every family, and counts are added up in the order of the files; so
neither order nor the number of processes changes a byte. The new folder appears when everything is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as Folder
from typing import Any, TypedDict, Unpack

import msgspec

from troth import models, readers
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import resolve
from troth.core.progress import bar
from troth.core.randomness import generator
from troth.core.records import Dialogue, Pair
from troth.core.version import __version__
from troth.engine.processes import mapped
from troth.perturb.options import configured
from troth.perturb.users import FAMILIES, Family, Inventory, Twin, inventory, name_of
from troth.perturb.users.edit import with_contexts
from troth.perturb.users.family import merged
from troth.readers import sgd_views, source
from troth.storage.files import new_folder

RECORD = "perturbation.json"
CUT = "pairs_cut"  # among the figures: pairs that were longer than the entailment model reads
LONG = 100  # a list of options longer than that is recorded by number and hash

Chosen = str | Family | Mapping[str, Mapping[str, Any]] | Iterable[str | Family]


class PerturbOptions(TypedDict, total=False):
    """Keywords of `perturb`; what they mean and their defaults: `PerturbSettings`."""

    with_: Chosen
    seed: int
    schema: Path | None
    format: str | None
    to: str | None
    nli: str | models.Nli | None
    cache: str | None
    workers: int


@dataclass(frozen=True)
class PerturbSettings:
    with_: Chosen = ()  # families in order: names, Family values, or names with their options
    seed: int = 0
    schema: Path | None = None  # of the services; None: the schema.json beside the dialogues, if there is one
    format: str | None = None  # of the dialogues; None: detected
    to: str | None = None  # the format to write; None: as the dialogues
    nli: str | models.Nli | None = None  # an entailment model that judges paraphrases
    cache: str | None = models.USUAL  # a file of the model's answers; None: none
    workers: int = 1  # processes; 0: one per core. Results do not depend on it


class Effect(msgspec.Struct, frozen=True):
    """What one family did."""

    family: str
    options: dict[str, Any]
    dialogues_changed: int
    turns_changed: int
    turns_refused: dict[str, int]  # turns that were drawn and left as they were, by reason
    figures: dict[str, float]
    per_word: dict[str, float]  # the figures divided by the words that the family looked at, where it counts them


class Perturbation(msgspec.Struct, frozen=True):
    """The content of perturbation.json: what was made of what, and how."""

    troth: str
    source: str
    format: str
    seed: int
    dialogues: int
    turns: int
    families: tuple[Effect, ...]


def perturb(data: Path, out: Path, **options: Unpack[PerturbOptions]) -> Perturbation:
    """Writes the dialogues of `data`, said in other words, to the new folder `out`; returns what was done.

    `with_` says how: names of families (`troth ls perturbations`), applied in this order, or `Family` values with
    their options. The other options are those of `PerturbSettings`. Files in SGD's layout keep their names and all
    that is not perturbed; other formats are written as `troth.readers.convert` would. With `nli`, a paraphrase and its
    original must entail each other; the model works in this process, whatever `workers` says.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = troth.perturb(demo.path("gold"), f"{folder}/sdi", with_={"disfluency": {"repairs": 1.0}}, seed=1)
    >>> done.dialogues, done.families[0].dialogues_changed
    (22, 22)
    """
    settings = resolve(PerturbSettings, options)
    families = chosen(settings.with_)
    path, format = path_of(data), settings.format or readers.detect(path_of(data))
    target = _writable(settings.to or format, path)
    if settings.nli is not None and not any(family.takes_nli for family in families.values()):
        able = ", ".join(name for name in FAMILIES if FAMILIES.load(name).takes_nli)
        raise UserError("an entailment model is named, and no family takes one", hint=f"families that do: {able}")
    schema = path_of(settings.schema) if settings.schema is not None else None
    services = readers.schema(schema) if schema is not None else readers.schema_beside(path)
    files: list[list[str] | None] = [[str(file)] for file in source.files(path)] or [None]
    with new_folder(path_of(out)) as part, bar("perturbing") as step:  # an error if it exists, before a model is opened
        model = models.nli(settings.nli, cache=settings.cache) if isinstance(settings.nli, str) else settings.nli
        workers = settings.workers if model is None else 1
        found = mapped(partial(_inventory, path, format), files, workers)
        known = merged((*found, inventory((), services)))
        entails = None if model is None else partial(_entails, model)
        task = _Task(path, format, settings.seed, families, known, part if format == target == "sgd" else None, entails)
        whole = _Share(tallies=[_Tally() for _ in families])
        shares = mapped(partial(_work, task), files, workers)
        _write(_gathered(shares, whole, path, lambda done: step(done, len(files))), part, target, task.out is not None)
        done = Perturbation(__version__, path, format, settings.seed, whole.dialogues, whole.turns, tuple(
            _effect(name, family, tally, model if family.takes_nli else None)
            for (name, family), tally in zip(families.items(), whole.tallies, strict=True)
        ))  # fmt: skip
        _copy_schema(part, path, schema)
        (part / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(done), indent=1) + b"\n")
    return done


def chosen(with_: Chosen) -> dict[str, Family]:
    """Families by name, in order, with their options."""
    if isinstance(with_, Mapping):
        with_ = [_family(name, options) for name, options in with_.items()]
    items = [with_] if isinstance(with_, Family) else with_.split(",") if isinstance(with_, str) else with_
    families: dict[str, Family] = {}
    for item in items:
        family = item if isinstance(item, Family) else _family(item.strip(), {})
        name = name_of(family)
        if name in families:
            raise UserError(f"perturbation '{name}' is named twice", hint="each is applied once, in the given order")
        families[name] = family
    if not families:
        raise UserError("no perturbation is named", hint="known: " + ", ".join(sorted(FAMILIES)))
    return families


def _family(name: str, options: Mapping[str, Any]) -> Family:
    family: Family = configured(FAMILIES, name, options)
    return family


def _writable(format: str, path: str) -> str:
    if not readers.FORMATS.load(format).FORMAT.writes:
        able = ", ".join(sorted(name for name in readers.FORMATS if readers.FORMATS.load(name).FORMAT.writes))
        raise UserError(f"'{format}' can be read, but not written", file=path, hint=f"can be written: {able}")
    return format


# -- the first pass: what the corpus has -------------------------------------------------------------------------------


def _inventory(path: str, format: str, only: list[str] | None) -> Inventory:
    return inventory(_words(path, format, only))


def _words(path: str, format: str, only: list[str] | None) -> Iterator[Dialogue]:
    """Dialogues of which texts and values are needed."""
    if format != "sgd":
        yield from _dialogues(path, format, only)
        return
    for document in source.documents(path, only):
        try:
            yield from sgd_views.words(document)
        except UserError as error:
            raise error.at(file=document.name, hint=readers.LAYOUT) from error


def _dialogues(path: str, format: str, only: list[str] | None) -> Iterator[Dialogue]:
    for _, items in readers.batches(path, format, files=only):
        yield from (item.gold if isinstance(item, Pair) else item for item in items)


# -- the second pass: files perturbed ----------------------------------------------------------------------------------


class _Tally(msgspec.Struct):
    """What one family has done so far."""

    dialogues: int = 0
    turns: int = 0
    refused: dict[str, int] = {}
    figures: dict[str, float] = {}

    def add(self, dialogues: int, turns: int, refused: Mapping[str, int], figures: Mapping[str, float]) -> None:
        self.dialogues += dialogues
        self.turns += turns
        for name, count in refused.items():
            self.refused[name] = self.refused.get(name, 0) + count
        for name, figure in figures.items():
            self.figures[name] = self.figures.get(name, 0) + figure


class _Share(msgspec.Struct):
    """What came of some files."""

    tallies: list[_Tally]
    dialogues: int = 0
    turns: int = 0
    files: list[str] = []  # names of the files that were written
    unwritten: list[Dialogue] = []


@dataclass(frozen=True)
class _Task:
    """What is done to each file."""

    path: str
    format: str
    seed: int
    families: Mapping[str, Family]
    known: Inventory
    out: Folder | None  # where files go that keep their layout; None: dialogues are handed back
    entails: Callable[[Sequence[tuple[str, str]]], list[bool]] | None

    def apply(self, dialogue: Dialogue, share: _Share) -> Dialogue:
        """All families, one after the other, with what they do counted."""
        after = dialogue
        for (name, family), tally in zip(self.families.items(), share.tallies, strict=True):
            judge: dict[str, Any] = {"entails": self.entails} if family.takes_nli else {}
            twin: Twin = family.perturb(after, generator(self.seed, name, dialogue.id), self.known, **judge)
            after = twin.dialogue
            tally.add(bool(twin.turns), len(twin.turns), twin.refused, twin.figures)
        share.dialogues += 1
        share.turns += len(dialogue.turns)
        return after if after is dialogue else with_contexts(dialogue, after)


def _work(task: _Task, only: list[str] | None) -> _Share:
    """One file: read, perturbed and, where it keeps its layout, written."""
    share = _Share([_Tally() for _ in task.families])
    if task.out is None:
        share.unwritten = [task.apply(dialogue, share) for dialogue in _dialogues(task.path, task.format, only)]
        return share
    for document in source.documents(task.path, only):
        try:
            whole = sgd_views.whole(document)
        except UserError as error:
            raise error.at(file=document.name, hint=readers.LAYOUT) from error
        for at, dialogue in enumerate(whole.dialogues):
            after = task.apply(dialogue, share)
            if after is not dialogue:
                whole.patch(at, after)
        name = "dialogues.json" if task.path == "-" else Folder(document.name).name.removesuffix(".gz")
        if name in source.NOT_DIALOGUES:
            hint = "rename it: the folder that is written has files of that name of its own"
            raise UserError("cannot be written under this name", file=document.name, hint=hint)
        share.files.append(name)
        (task.out / name).write_bytes(whole.encode())
    return share


def _entails(model: models.Nli, pairs: Sequence[tuple[str, str]]) -> list[bool]:
    return [verdict.entailed for verdict in model.probabilities(pairs)]


def _gathered(shares: Iterable[_Share], whole: _Share, path: str, step: Callable[[int], None]) -> Iterator[Dialogue]:
    """Hands on the dialogues that are not written yet; `whole` has all counts when the last is through."""
    for number, share in enumerate(shares, 1):
        for file in share.files:
            if file in whole.files:
                raise UserError(f"'{file}' is in it twice, in two folders", file=path, hint="unpack it")
            whole.files.append(file)
        whole.dialogues += share.dialogues
        whole.turns += share.turns
        for tally, more in zip(whole.tallies, share.tallies, strict=True):
            tally.add(more.dialogues, more.turns, more.refused, more.figures)
        step(number)
        yield from share.unwritten
    if not whole.dialogues:
        raise UserError("no dialogue in it", file=path, hint="is it the right file?")


def _effect(name: str, family: Family, tally: _Tally, model: models.Nli | None) -> Effect:
    """The record of a family. Lists of many options are recorded by number and hash."""
    options: dict[str, Any] = msgspec.to_builtins(family)
    for option, value in options.items():
        if isinstance(value, list | tuple) and len(value) > LONG:
            digest = hashlib.sha256(msgspec.json.encode(value)).hexdigest()
            options[option] = {"count": len(value), "sha256": digest}
    words = tally.figures.get("words")
    per_word = {key: figure / words for key, figure in tally.figures.items() if key != "words"} if words else {}
    if model is not None:
        options["nli"] = model.name
        tally.figures.update({CUT: model.cut} if model.cut else {})
    return Effect(name, options, tally.dialogues, tally.turns, tally.refused, tally.figures, per_word)


# -- on disk -----------------------------------------------------------------------------------------------------------


def _write(dialogues: Iterator[Dialogue], part: Folder, target: str, written: bool) -> None:
    format = readers.FORMATS.load(target).FORMAT
    if written:  # by the workers
        for _ in dialogues:
            pass
    elif format.folder:
        inner = part / "dialogues"
        readers.write(dialogues, str(inner), target)
        for file in sorted(inner.iterdir()):
            file.rename(part / file.name)
        inner.rmdir()
    else:
        readers.write(dialogues, str(part / f"dialogues{format.ending}"), target)


def _copy_schema(part: Folder, path: str, schema: str | None) -> None:
    """The schema goes with the dialogues."""
    document = source.first(schema) if schema else source.beside(path, source.SCHEMA)
    if document is not None:
        (part / source.SCHEMA).write_bytes(document.data)
