"""Perturbs a corpus: two passes over it, one to know its values and words, one to change its dialogues.

Every dialogue has its own stream of randomness for every family, and counts are added up in the order of the files; so
neither order nor the number of processes changes a byte. The new folder appears when everything is in it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as Folder
from typing import Any

import msgspec

from troth import models, readers
from troth.core.data_options import format_option, schema_option
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import cache_file, keywords, option, resolve, seed_option, workers_option
from troth.core.progress import bar
from troth.core.randomness import generator
from troth.core.records import Dialogue, Pair
from troth.core.version import __version__
from troth.engine import forks, parallel_map
from troth.perturb.corpus import RECORD, check_unique, new_name, shares
from troth.perturb.options import parse_members
from troth.perturb.users import FAMILIES, Family, Inventory, Twin, inventory, merge_inventories
from troth.perturb.users.edit import update_contexts
from troth.readers import sgd_views, source
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.plain import encode_indented
from troth.storage.files import new_folder

CUT = "pairs_cut"  # among the figures: pairs that were longer than the entailment model reads
LONG = 100  # a list of options longer than that is recorded by number and hash

Families = str | Family | Mapping[str, Mapping[str, Any]] | Iterable[str | Family]


@dataclass(frozen=True)
class PerturbSettings:
    with_: Families = option(
        (),
        "Families in the order to apply them: names, Family values, or a mapping of names to options.",
        shape="python",
    )
    seed: int = seed_option("Random seed of the perturbations.")
    schema: Path | None = schema_option()
    format: str | None = format_option("the data")
    to: str | None = option(
        None, "Format to write. Default: that of the data.", "NAME", complete=("troth.readers:writable_formats",)
    )
    nli: str | models.Nli | None = option(
        None, "Entailment model; drops paraphrases that do not entail the original, or the reverse. "
        "Default with --lm: embedded.", "NAME", complete=("troth.models:BACKENDS",),
    )  # fmt: skip
    lm: str | models.Lm | None = option(
        None, "Language model that paraphrases; the engine does where no wording of the model passes.", "NAME",
        complete=("troth.models:BACKENDS",),
    )  # fmt: skip
    cache: str | None = cache_file()
    workers: int = workers_option(command=0)


class Effect(msgspec.Struct, frozen=True):
    """Changes made by one family."""

    family: str
    options: dict[str, Any]
    dialogues_changed: int
    turns_changed: int  # user turns, and system turns where the family changes them
    turns_refused: dict[str, int]  # turns that were drawn and left as they were, by reason
    figures: dict[str, float]
    per_word: dict[str, float]  # the figures divided by the words that the family looked at, where it counts them
    user_turns_changed: int = 0


class Perturbation(msgspec.Struct, frozen=True):
    """The content of perturbation.json: source, options and counts."""

    troth: str
    source: str
    format: str
    seed: int
    dialogues: int
    turns: int
    families: tuple[Effect, ...]
    user_turns: int = 0


@keywords(PerturbSettings)
def perturb(data: Path, out: Path, **options: Any) -> Perturbation:
    """Writes the dialogues of `data`, in other words, to the new folder `out`; returns perturbation.json.

    `with_` says how: names of families (`troth ls perturbations`), applied in this order, or `Family` values with
    their options. The other options are those of `PerturbSettings`. Files in SGD's layout keep their names and all
    that is not perturbed; other formats are written as `troth.readers.convert` would. With `nli`, a paraphrase and its
    original must entail each other. With `lm`, a language model paraphrases, and `nli` is "embedded" unless another is
    named. Models work in this process, whatever `workers` says.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = troth.perturb(demo.path("gold"), f"{folder}/sdi", with_={"disfluency": {"repairs": 1.0}}, seed=1)
    >>> done.dialogues, done.families[0].dialogues_changed
    (22, 22)
    """
    settings = resolve(PerturbSettings, options)
    families = parse_members(FAMILIES, Family, settings.with_)
    if not families:
        raise UserError("no perturbation is named", hint="known: " + ", ".join(sorted(FAMILIES)))
    if settings.nli is not None and not any(family.takes_nli for family in families.values()):
        names = ", ".join(name for name in FAMILIES if FAMILIES.load(name).takes_nli)
        raise UserError("an entailment model is named, and no family takes one", hint=f"families that do: {names}")
    if settings.lm is not None and not any(family.takes_lm for family in families.values()):
        names = ", ".join(name for name in FAMILIES if FAMILIES.load(name).takes_lm)
        raise UserError("a language model is named, and no family takes one", hint=f"families that do: {names}")
    path, format = path_of(data), settings.format or readers.detect(path_of(data))
    with error_context(file=path):
        target = readers.writable(settings.to or format)
    schema = None if settings.schema is None else path_of(settings.schema)
    services = readers.schema_beside(path) if schema is None else readers.schema(schema)
    files = shares(path)
    with new_folder(path_of(out)) as part, bar("perturbing") as step:  # an error if it exists, before a model is opened
        lm = models.lm(settings.lm, cache=settings.cache) if isinstance(settings.lm, str) else settings.lm
        nli = "embedded" if settings.nli is None and lm is not None else settings.nli
        judge = models.nli(nli, cache=settings.cache) if isinstance(nli, str) else nli
        in_one_process = judge is not None or (forks() and source.is_parquet(path))
        workers = 1 if in_one_process else settings.workers
        parts = parallel_map(partial(_inventory, path, format), files, workers)
        known = merge_inventories((*parts, inventory((), services)))
        files_out = part if format == target.name == "sgd" else None
        task = _Task(path, format, settings.seed, families, known, files_out, judge, lm)
        total = _Share(list(families))

        def dialogues() -> Iterator[Dialogue]:
            for number, share in enumerate(parallel_map(task.perturb_files, files, workers), 1):
                total.add(share)
                step(number, len(files))
                yield from share.unwritten

        _write(dialogues(), part, target, written=files_out is not None)
        check_unique(total.files, path)
        if not total.counts:
            raise UserError("no dialogue in it", file=path, hint="is it the right file?")
        document = source.find_beside(path, source.SCHEMA) if schema is None else source.first(schema)
        if document is not None:
            (part / source.SCHEMA).write_bytes(document.data)
        effects = [total.effect(name, family, judge, lm) for name, family in families.items()]
        counts = total.counts["dialogues"], total.counts["turns"]
        user_turns = total.counts["user turns"]
        done = Perturbation(__version__, path, format, settings.seed, *counts, tuple(effects), user_turns)
        (part / RECORD).write_bytes(encode_indented(done, indent=1))
    return done


def _inventory(path: str, format: str, only: list[str] | None) -> Inventory:
    """The first pass over some files: their values and words."""
    return inventory(_read_texts(path, only) if format == "sgd" else _dialogues(path, format, only))


def _read_texts(path: str, only: list[str] | None) -> Iterator[Dialogue]:
    for document in source.documents(path, only):
        with error_context(file=document.name, hint=readers.LAYOUT):
            yield from sgd_views.read_texts(document)


def _dialogues(path: str, format: str, only: list[str] | None) -> Iterator[Dialogue]:
    for _, items in readers.batches(path, format, files=only):
        yield from (item.gold if isinstance(item, Pair) else item for item in items)


@dataclass(frozen=True)
class _Task:
    """The second pass, over each file."""

    path: str
    format: str
    seed: int
    families: Mapping[str, Family]
    known: Inventory
    out: Folder | None  # where files go that keep their layout; None: dialogues are handed back
    model: models.Nli | None
    lm: models.Lm | None

    def perturb_files(self, only: list[str] | None) -> _Share:
        """Some files: read, perturbed and, where they keep their layout, written."""
        share = _Share(list(self.families))
        if self.out is None:
            share.unwritten += [self._apply(dialogue, share) for dialogue in _dialogues(self.path, self.format, only)]
            return share
        for document in source.documents(self.path, only):
            with error_context(file=document.name, hint=readers.LAYOUT):
                whole = sgd_views.open_document(document)
            with bar("dialogues") as step:
                for at, dialogue in enumerate(whole.dialogues):
                    after = self._apply(dialogue, share)
                    if after is not dialogue:
                        whole.patch(at, after)
                    if self.lm is not None:
                        step(at + 1, len(whole.dialogues))
            share.files.append(new_name(self.path, document))
            (self.out / share.files[-1]).write_bytes(whole.encode())
        return share

    def _apply(self, dialogue: Dialogue, share: _Share) -> Dialogue:
        """All families, one after the other, with counts of their changes."""
        after = dialogue
        for name, family in self.families.items():
            options: dict[str, Any] = {"entails": self._entails} if family.takes_nli and self.model else {}
            options |= {"lm": self.lm} if family.takes_lm and self.lm else {}
            twin: Twin = family.perturb(after, generator(self.seed, name, dialogue.id), self.known, **options)
            after = twin.dialogue
            user_turns = sum(dialogue.turns[index].speaker == "USER" for index in twin.turns)
            share.changed[name].update(
                {"dialogues": bool(twin.turns), "turns": len(twin.turns), "user turns": user_turns}
            )
            share.refused[name].update(twin.refused)
            share.figures[name].update(twin.figures)
        user_turns = sum(turn.speaker == "USER" for turn in dialogue.turns)
        share.counts.update({"dialogues": 1, "turns": len(dialogue.turns), "user turns": user_turns})
        return after if after is dialogue else update_contexts(dialogue, after)

    def _entails(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        return [] if self.model is None else [verdict.entailed for verdict in self.model.probabilities(pairs)]


@dataclass
class _Share:
    """The result of some files: counts by family, and dialogues that are not written yet."""

    families: Sequence[str]
    counts: Counter[str] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)
    unwritten: list[Dialogue] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.changed, self.refused, self.figures = ({name: Counter[str]() for name in self.families} for _ in range(3))

    def add(self, other: _Share) -> None:
        self.counts.update(other.counts)
        self.files += other.files
        for name in self.families:
            self.changed[name].update(other.changed[name])
            self.refused[name].update(other.refused[name])
            self.figures[name].update(other.figures[name])

    def effect(self, name: str, family: Family, model: models.Nli | None, lm: models.Lm | None) -> Effect:
        """Counts and options of a family. A long list of options is recorded by length and hash."""
        options: dict[str, Any] = msgspec.to_builtins(family)
        for key, value in options.items():
            if isinstance(value, list | tuple) and len(value) > LONG:
                digest = hashlib.sha256(msgspec.json.encode(value)).hexdigest()
                options[key] = {"count": len(value), "sha256": digest}
        figures: dict[str, float] = dict(self.figures[name])
        words = figures.get("words")
        counted = {
            key: figure for key, figure in figures.items() if key != "words" and not key.startswith(family.counts)
        }
        per_word = {key: figure / words for key, figure in counted.items()} if words else {}
        if lm is not None and family.takes_lm:
            options["lm"] = lm.name
        if model is not None and family.takes_nli:
            options["nli"] = model.name
            figures |= {CUT: model.cut} if model.cut else {}
        changed = self.changed[name]["dialogues"], self.changed[name]["turns"]
        user_turns = self.changed[name]["user turns"]
        return Effect(name, options, *changed, dict(self.refused[name]), figures, per_word, user_turns)


def _write(dialogues: Iterator[Dialogue], part: Folder, target: Format, *, written: bool) -> None:
    if written:  # by the workers
        for _ in dialogues:
            pass
    elif target.folder:
        inner = part / "dialogues"
        readers.write(dialogues, str(inner), target.name)
        for file in sorted(inner.iterdir()):
            file.rename(part / file.name)
        inner.rmdir()
    else:
        readers.write(dialogues, str(part / f"dialogues{target.ending}"), target.name)
