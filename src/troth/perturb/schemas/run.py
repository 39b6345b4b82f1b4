"""Writes dialogues, schemas and tools under variants of their schema.

Files are rewritten one by one, each to all variants, here or in processes of their own. The new folder appears when
everything is in it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as Folder
from typing import Any

import msgspec

from troth.core.data_options import schema_option
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import keywords, option, resolve, seed_option, workers_option
from troth.core.progress import bar
from troth.core.version import __version__
from troth.engine import forks, parallel_map
from troth.perturb.corpus import RECORD, check_unique, new_name, shares
from troth.perturb.options import configure
from troth.perturb.schemas.files import Variant, load
from troth.perturb.schemas.generators import GENERATORS, Generator
from troth.perturb.schemas.renaming import Renaming, rewrite_document
from troth.readers import sgd
from troth.readers import source as sources
from troth.readers.decode import LAYOUT, decode, error_context
from troth.readers.plain import encode_indented
from troth.storage.files import new_folder

With = str | Generator | Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class VarySettings:
    with_: With = option(
        "", "Source of the variants: a name, a Generator value, or a name with its options.", shape="python"
    )
    seed: int = seed_option("Random seed of the variants.")
    schema: Path | None = schema_option()
    workers: int = workers_option(command=0)


class DialogueCounts(msgspec.Struct, frozen=True):
    """Number of rewritten files, dialogues, turns and frames."""

    files: int = 0
    dialogues: int = 0
    turns: int = 0
    frames: int = 0

    def __add__(self, other: DialogueCounts) -> DialogueCounts:
        return DialogueCounts(*(a + b for a, b in zip(*map(msgspec.structs.astuple, (self, other)), strict=True)))


class Variation(msgspec.Struct, frozen=True):
    """The content of a variant's perturbation.json: all renamed and reworded elements, and the settings."""

    variant: str
    source: str
    how: dict[str, Any]
    versions: dict[str, str]
    counts: DialogueCounts
    services: int
    slots_renamed: int
    intents_renamed: int
    refused: dict[str, int] = {}  # wordings that were thrown away while the variants were made, by reason


_Written = tuple[str, DialogueCounts]  # the name of a new file, and how much is in it


@keywords(VarySettings)
def vary(data: Path, out: Path, **options: Any) -> list[Variation]:
    """Writes `data` under variants of its schema to folders of the new folder `out`; returns a record of each variant.

    `data` is a folder or file of dialogues in SGD's layout with its schema.json, a schema alone, or a file of tools
    (function definitions). `with_` says where variants come from: "published", "compose", "backtranslate", "paraphrase"
    or "corrupt", with options as a mapping, or a `Generator` value. Each folder has the variant's schema or tools, the
    dialogues under their files' names, and perturbation.json.

    >>> import tempfile
    >>> from troth import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     variations = vary(demo.path("gold"), f"{folder}/variants", with_={"corrupt": {"count": 2}}, seed=1)
    >>> [variation.variant for variation in variations]
    ['v1', 'v2']
    """
    settings = resolve(VarySettings, options)
    generator = _generator(settings)
    source = load(path_of(data), None if settings.schema is None else path_of(settings.schema))
    variants = generator.vary(source)
    with new_folder(path_of(out)) as part:
        for variant in variants:
            (part / variant.name).mkdir()
            for name, content in variant.files.items():
                (part / variant.name / name).write_bytes(content)
        dialogues = source.kind == "dialogues"
        counts = _rewrite(source.path, part, variants, settings.workers) if dialogues else DialogueCounts()
        records = [_variation(variant, source.path, generator.how(), counts) for variant in variants]
        for record in records:
            (part / record.variant / RECORD).write_bytes(encode_indented(record))
    return records


def _generator(settings: VarySettings) -> Generator:
    if isinstance(settings.with_, Generator):
        return settings.with_
    options_by_name = {settings.with_: {}} if isinstance(settings.with_, str) else settings.with_
    if len(options_by_name) != 1 or "" in options_by_name:
        raise UserError("variants come from one generator", hint="one of: " + ", ".join(GENERATORS))
    ((name, options),) = options_by_name.items()
    drawn = {"seed": settings.seed} if "seed" in GENERATORS.load(name).__struct_fields__ else {}
    return configure(GENERATORS, name, {**drawn, **options})


def _variation(variant: Variant, source: str, how: dict[str, Any], counts: DialogueCounts) -> Variation:
    versions = {"troth": __version__, "python": sys.version.split()[0]}
    services = variant.renaming.services.values()
    slots = sum(old != new for names in services for old, new in names.slots.items())
    intents = sum(old != new for names in services for old, new in names.intents.items())
    return Variation(variant.name, source, how, versions, counts, len(services), slots, intents, variant.refused)


def _rewrite(path: str, part: Folder, variants: Sequence[Variant], workers: int) -> DialogueCounts:
    files = shares(path)
    workers = 1 if forks() and sources.is_parquet(path) else workers
    written: list[_Written] = []
    targets = [(part / variant.name, variant.renaming) for variant in variants]
    with bar("rewriting") as step:
        for number, share in enumerate(parallel_map(partial(_work, path, targets), files, workers), 1):
            written += share
            step(number, len(files))
    check_unique([name for name, _ in written], path)
    return sum((counts for _, counts in written), DialogueCounts())


def _work(path: str, targets: Sequence[tuple[Folder, Renaming]], only: list[str] | None) -> list[_Written]:
    """Some files, each read once and written to all variants."""
    written = []
    for document in sources.documents(path, only):
        if not sgd.detect(document):
            hint = "bring it there first: troth convert IN OUT --to sgd"
            raise UserError("dialogues in SGD's layout are expected", file=document.name, hint=hint)
        dialogues: Any = decode(document, object)
        name = new_name(path, document)
        for folder, renaming in targets:
            (folder / name).write_bytes(encode_indented(_rewrite_document(document, dialogues, renaming)))
        items = list(dialogues.values() if isinstance(dialogues, dict) else dialogues)
        turns = [turn for dialogue in items for turn in dialogue["turns"]]
        frames = sum(len(turn.get("frames", ())) for turn in turns)
        written.append((name, DialogueCounts(1, len(items), len(turns), frames)))
    return written


def _rewrite_document(document: sources.Document, dialogues: Any, renaming: Renaming) -> Any:
    try:
        with error_context(file=document.name):
            return rewrite_document(dialogues, renaming)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        for _ in sgd.read(document):  # tells what is wrong, and where
            pass
        raise UserError(f"is not in SGD's layout: {error}", file=document.name, hint=LAYOUT) from error
