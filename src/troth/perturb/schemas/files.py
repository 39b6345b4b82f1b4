"""Dialogues, schemas and tools brought to variants of their schema, on disk; and the figures of table 1 over files.

Files are rewritten one by one, each to all variants, here or in processes of their own. The new folder appears when
everything is in it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from troth import readers
from troth.core.errors import UserError, near
from troth.core.records import Schema
from troth.core.version import __version__
from troth.engine.files import each_file
from troth.perturb.schemas import tools
from troth.perturb.schemas.lemmas import STOP_WORDS
from troth.perturb.schemas.renaming import Renaming, rewritten
from troth.perturb.schemas.variants import PUBLISHED, Paraphrases, ThereAndBack, compose, corrupted, translated, worded
from troth.perturb.translate import Translator
from troth.readers import sgd
from troth.readers import source as sources
from troth.readers.decode import decode
from troth.storage import runs as store

RECORD = "perturbation.json"
MOST = 100  # variants in a range

Progress = Callable[[int, int], None]  # files done, files there are


class Recipe(msgspec.Struct, frozen=True):
    """How variants are made."""

    make: Literal["corrupt", "backtranslate", "compose"]
    count: int | None = None
    seed: int = 0
    rate: float = 0.3
    stop: str = "paper"
    paraphrases: str | None = None  # a file
    engines: tuple[str, ...] = ()


class Counts(msgspec.Struct):
    files: int = 0
    dialogues: int = 0
    turns: int = 0
    frames: int = 0


class Record(msgspec.Struct, frozen=True):
    """perturbation.json: what was made of what, and how."""

    variant: str
    source: str
    how: dict[str, Any]
    versions: dict[str, str]
    counts: Counts
    services: int
    slots_renamed: int
    intents_renamed: int


class Variant(msgspec.Struct, frozen=True):
    """A variant by name: its schema file, and what is called how in it."""

    name: str
    files: dict[str, bytes]  # by name: what is written besides dialogues
    renaming: Renaming


class Source(msgspec.Struct, frozen=True):
    """What is to be varied: dialogues with their schema, a schema alone, or tools."""

    path: str
    kind: Literal["dialogues", "schema", "tools"]
    schema: Schema
    document: Any  # the schema's file, or the tools', as JSON


def load(path: str, schema: str | None = None) -> Source:
    """Tell by its content what a path holds."""
    place = Path(path)
    if path != "-" and place.is_file() and place.suffix == ".json" and schema is None:
        document = sources.first(path)
        value = decode(document, object)
        if tools.detect(value):
            with _named(path):
                return Source(path, "tools", tools.read(value).schema, value)
        if isinstance(value, list) and value and isinstance(value[0], dict) and "service_name" in value[0]:
            return Source(path, "schema", readers.schema(path), value)
    found = sources.first(schema) if schema else sources.beside(path, "schema.json")
    if found is None:
        raise UserError("no schema.json beside the dialogues", file=path, hint="name it with --schema")
    loaded = readers.schema(schema) if schema else readers.schema_beside(path)
    alone = place.is_dir() and not sources.files(path)
    return Source(path, "schema" if alone else "dialogues", loaded or {}, decode(found, object))


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Fills in the file that an error is about."""
    try:
        yield
    except UserError as error:
        raise error.at(file=file) from error


def variant_names(text: str) -> list[str]:
    """`v1..v5`, `v1,v3`, or names of folders."""
    names: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        span = re.fullmatch(r"(.*?)(\d+)\.\.(.*?)(\d+)", part)
        if span is not None and span[3] in ("", span[1]):
            first, last = int(span[2]), int(span[4])
            if not first <= last < first + MOST:
                raise UserError(f"'{part}' is no range of variants", hint="for example v1..v5")
            names += [f"{span[1]}{number}" for number in range(first, last + 1)]
        else:
            names.append(part)
    for name in names:
        if not name or name in (".", "..") or re.search(r"[/\\]", name):
            raise UserError(f"'{name}' is no name of a variant", hint="for example v1..v5, or v1,v3")
        if names.count(name) > 1:
            raise UserError(f"variant '{name}' is named twice", hint="once is enough")
    return names


def published(source: Source, folder: str, names: Sequence[str]) -> list[Variant]:
    """Variants whose schemas lie in a folder as SGD-X has them: FOLDER/v1/dev/schema.json or FOLDER/v1/schema.json."""
    roots = [root for root in (Path(folder), Path(folder) / "data", Path(folder) / "sgd_x" / "data") if root.is_dir()]
    if not roots:
        raise sources.missing(folder)
    made = []
    for name in names:
        root = next((root for root in roots if (root / name).is_dir()), None)
        if root is None:
            there = sorted(item.name for item in roots[-1].iterdir() if item.is_dir())
            hint = near(name, there) or "there are: " + ", ".join(there)
            raise UserError(f"no variant is called '{name}'", file=folder, hint=hint)
        file = matching(source.schema, candidates(str(root / name)), str(root / name))
        with _named(file):
            made.append(
                _variant(name, source, Renaming.between(source.schema, _schema_of(file)), Path(file).read_bytes())
            )
    return made


def _variant(name: str, source: Source, renaming: Renaming, data: bytes) -> Variant:
    return Variant(name, {"tools.json" if source.kind == "tools" else "schema.json": data}, renaming)


def candidates(path: str) -> list[str]:
    """The schema files that a variant's path leads to."""
    place = Path(path)
    if place.is_file():
        return [path]
    if not place.is_dir():
        raise sources.missing(path)
    names = [pattern + name for name in ("schema.json", "tools.json") for pattern in ("", "*/")]
    return [str(file) for name in names for file in sorted(place.glob(name))]


def _schema_of(file: str) -> Schema:
    return load(file).schema


def matching(original: Schema, candidates: Sequence[str], folder: str) -> str:
    """The one of a variant's splits that has the original's services, each under its name with something appended."""
    if not candidates:
        raise UserError("no schema.json in this folder", file=folder, hint="is it the right one?")
    if len(candidates) == 1:
        return candidates[0]
    for file in candidates:
        names = list(_schema_of(file))
        if len(names) == len(original) and all(new.startswith(old) for new, old in zip(names, original, strict=True)):
            return file
    raise UserError(
        f"none of its {len(candidates)} schemas has the services of the original",
        file=folder,
        hint="is it the right one?",
    )


def made(source: Source, recipe: Recipe) -> list[Variant]:
    """Variants of our own: v1 and so on."""
    strict = recipe.make == "compose"
    said, count = _said(source.schema, recipe)
    with _named(recipe.paraphrases if strict and recipe.paraphrases else source.path):
        schemas = compose(
            source.schema, said, count=count, seed=recipe.seed, strict=strict, stop=STOP_WORDS[recipe.stop]
        )
        if source.kind == "tools":
            schemas = [tools.distinct(schema, strict=strict) for schema in schemas]
    variants = []
    for number, schema in enumerate(schemas, 1):
        renaming = Renaming.between(source.schema, schema)
        if source.kind == "tools":
            written = tools.Tools(source.document, source.schema).written(schema)
            files = {"tools.json": _json(written), "names.json": _json(tools.names(source.schema, schema))}
        else:
            files = {"schema.json": _json(worded(source.document, schema))}
        variants.append(Variant(f"v{number}", files, renaming))
    return variants


def _said(schema: Schema, recipe: Recipe) -> tuple[Paraphrases, int]:
    if recipe.make == "corrupt":
        count = recipe.count or PUBLISHED
        return corrupted(schema, count=count, seed=recipe.seed, rate=recipe.rate), count
    if recipe.make == "backtranslate":
        engine = ThereAndBack([translator(name) for name in recipe.engines or ENGINES], recipe.count)
        return translated(schema, engine), len(engine.routes)
    if recipe.paraphrases is None:
        raise UserError("nothing to compose variants from", hint="name a file with --paraphrases")
    said = decode(sources.first(recipe.paraphrases), Paraphrases)
    return said, recipe.count or PUBLISHED


ENGINES = ("apertium:eng-spa", "apertium:eng-cat")


def recorded(recipe: Recipe) -> dict[str, Any]:
    """What of a recipe had a say, for perturbation.json."""
    said = {"corrupt": ("seed", "rate"), "backtranslate": ("engines",), "compose": ("paraphrases", "seed")}
    chosen = msgspec.structs.asdict(recipe) | {"engines": recipe.engines or ENGINES}
    return {name: chosen[name] for name in ("make", "count", "stop", *said[recipe.make])}


def translator(name: str) -> Translator:
    """`apertium:eng-spa`, or `marian:MODEL_THERE,MODEL_BACK`."""
    from troth.perturb.translate import Apertium, Marian

    kind, _, rest = name.partition(":")
    if kind == "apertium":
        return Apertium(rest or "eng-spa")
    there, _, back = rest.partition(",")
    if kind == "marian" and there and back:
        return Marian(there, back)
    raise UserError(f"'{name}' is no engine", hint="apertium:eng-spa, or marian:MODEL_THERE,MODEL_BACK")


def write(
    source: Source,
    out: str,
    variants: Sequence[Variant],
    *,
    how: Mapping[str, Any],
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Record]:
    """OUT/v1 and so on: the variant's schema or tools, dialogues under their files' names, and perturbation.json."""
    with store.new_folder(out) as part:
        for variant in variants:
            (part / variant.name).mkdir()
            for name, data in variant.files.items():
                (part / variant.name / name).write_bytes(data)
        counts = Counts()
        if source.kind == "dialogues":
            counts = _rewrite(source.path, part, variants, workers, progress)
        records = [_record(variant, source, how, counts) for variant in variants]
        for record in records:
            (part / record.variant / RECORD).write_bytes(_json(record))
    return records


def _record(variant: Variant, source: Source, how: Mapping[str, Any], counts: Counts) -> Record:
    versions = {"troth": __version__, "python": sys.version.split()[0]}
    services = variant.renaming.services.values()
    slots, intents = (
        sum(old != new for names in services for old, new in getattr(names, kind).items())
        for kind in ("slots", "intents")
    )
    return Record(variant.name, source.path, dict(how), versions, counts, len(services), slots, intents)


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _rewrite(path: str, part: Path, variants: Sequence[Variant], workers: int, progress: Progress | None) -> Counts:
    files: list[list[str] | None] = [[str(file)] for file in sources.files(path)] or [None]
    targets = [(str(part / variant.name), variant.renaming) for variant in variants]
    whole, seen = Counts(), set[str]()
    with each_file(min(workers, len(files))) as each:
        for number, (names, counts) in enumerate(each(partial(_work, path, targets), files), 1):
            for name in names:
                if name in seen:
                    raise UserError(f"'{name}' is in it twice, in two folders", file=path, hint="unpack it")
                seen.add(name)
            whole.files += counts.files
            whole.dialogues += counts.dialogues
            whole.turns += counts.turns
            whole.frames += counts.frames
            if progress is not None:
                progress(number, len(files))
    return whole


def _work(path: str, targets: Sequence[tuple[str, Renaming]], only: list[str] | None) -> tuple[list[str], Counts]:
    """One file, read once and written to each variant."""
    names, counts = [], Counts()
    for document in sources.documents(path, only):
        if not sgd.detect(document):
            hint = "bring it there first: troth convert IN OUT --to sgd"
            raise UserError("dialogues in SGD's layout are expected", file=document.name, hint=hint)
        dialogues = decode(document, object)
        name = "dialogues.json" if path == "-" else Path(document.name).name.removesuffix(".gz")
        for folder, renaming in targets:
            (Path(folder) / name).write_bytes(_json(_rewritten(document, dialogues, renaming)))
        listed: list[Any] = list(dialogues.values() if isinstance(dialogues, dict) else dialogues)  # type: ignore[call-overload]
        names.append(name)
        counts.files += 1
        counts.dialogues += len(listed)
        counts.turns += sum(len(dialogue["turns"]) for dialogue in listed)
        counts.frames += sum(len(turn.get("frames", ())) for dialogue in listed for turn in dialogue["turns"])
    return names, counts


def _rewritten(document: sources.Document, dialogues: Any, renaming: Renaming) -> Any:
    try:
        return rewritten(dialogues, renaming)
    except UserError as error:
        raise error.at(file=document.name) from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        for _ in sgd.read(document):  # tells what is wrong, and where
            pass
        raise UserError(
            f"is not in SGD's layout: {error}", file=document.name, hint="see docs/formats.md for the layout"
        ) from error
