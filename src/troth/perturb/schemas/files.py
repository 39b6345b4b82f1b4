"""Schemas on disk: dialogues, schemas or tools under a path, and variants in a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from troth import readers
from troth.core.errors import UserError, suggest_name
from troth.core.records import Schema
from troth.perturb.schemas import tools
from troth.perturb.schemas.renaming import Renaming
from troth.readers import source as sources
from troth.readers.decode import decode, error_context

MOST = 100  # variants in a range


class SchemaSource(msgspec.Struct, frozen=True):
    """The source of variants: dialogues with their schema, a schema alone, or tools."""

    path: str
    kind: Literal["dialogues", "schema", "tools"]
    schema: Schema
    document: Any  # the schema's file, or the tools', as JSON


class Variant(msgspec.Struct, frozen=True):
    """A variant: its name, its files, and its names of services, slots and intents."""

    name: str
    files: dict[str, bytes]  # content by file name, besides dialogues
    renaming: Renaming
    refused: dict[str, int] = {}  # wordings that were thrown away while the variants were made, by reason


def load(path: str, schema: str | None = None) -> SchemaSource:
    """Loads dialogues, a schema or tools, by content. `schema`: the schema of dialogues, if it is not beside them."""
    file_path = Path(path)
    if path != "-" and file_path.is_file() and file_path.suffix == ".json" and schema is None:
        value = decode(sources.first(path), object)
        if tools.detect(value):
            with error_context(file=path):
                return SchemaSource(path, "tools", tools.read(value).schema, value)
        if value == []:
            raise UserError("no service and no dialogue in it", file=path, hint=sources.RIGHT_FILE)
        if isinstance(value, list) and isinstance(value[0], dict) and "service_name" in value[0]:
            return SchemaSource(path, "schema", readers.schema(path), value)
    document = sources.first(schema) if schema else sources.find_beside(path, sources.SCHEMA)
    if document is None:
        raise UserError("no schema.json beside the dialogues", file=path, hint="name it: --schema FILE")
    services = readers.schema(schema) if schema else readers.schema_beside(path)
    alone = file_path.is_dir() and not sources.files(path)
    return SchemaSource(path, "schema" if alone else "dialogues", services or {}, decode(document, object))


def variant_names(text: str) -> list[str]:
    """The names in `v1..v5`, `v1,v3`, or names of folders."""
    names: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        span = re.fullmatch(r"(.*?)(\d+)\.\.(.*?)(\d+)", part)
        if span is not None and span[3] in ("", span[1]):
            first, last = int(span[2]), int(span[4])
            if not first <= last < first + MOST:
                raise UserError(f"'{part}' is not a range of variants", hint="for example v1..v5")
            names += [f"{span[1]}{number}" for number in range(first, last + 1)]
        else:
            names.append(part)
    for name in names:
        if not name or name in (".", "..") or re.search(r"[/\\]", name):
            raise UserError(f"'{name}' is not a valid name of a variant", hint="for example v1..v5, or v1,v3")
        if names.count(name) > 1:
            raise UserError(f"variant '{name}' is named twice", hint="list each variant once")
    return names


def load_published(source: SchemaSource, folder: str, names: Sequence[str]) -> list[Variant]:
    """Loads variants from a folder with the layout of SGD-X: FOLDER/v1/dev/schema.json or FOLDER/v1/schema.json."""
    roots = [root for root in (Path(folder), Path(folder) / "data", Path(folder) / "sgd_x" / "data") if root.is_dir()]
    if not roots:
        raise sources.missing_error(folder)
    variants = []
    for name in names:
        root = next((root for root in roots if (root / name).is_dir()), None)
        if root is None:
            there = sorted(item.name for item in roots[-1].iterdir() if item.is_dir())
            hint = suggest_name(name, there) or "there are: " + ", ".join(there)
            raise UserError(f"no variant is called '{name}'", file=folder, hint=hint)
        file = find_matching(source.schema, candidates(str(root / name)), str(root / name))
        with error_context(file=file):
            renaming = Renaming.between(source.schema, load(file).schema)
        kind = "tools.json" if source.kind == "tools" else sources.SCHEMA
        variants.append(Variant(name, {kind: Path(file).read_bytes()}, renaming))
    return variants


def candidates(path: str) -> list[str]:
    """The schema files under the path of a variant."""
    target = Path(path)
    if target.is_file():
        return [path]
    if not target.is_dir():
        raise sources.missing_error(path)
    patterns = [pattern + name for name in (sources.SCHEMA, "tools.json") for pattern in ("", "*/")]
    return [str(file) for pattern in patterns for file in sorted(target.glob(pattern))]


def find_matching(original: Schema, candidates: Sequence[str], folder: str) -> str:
    """The split of a variant with the services of the original; the name of each begins with the original name."""
    if not candidates:
        raise UserError("no schema.json in this folder", file=folder, hint=sources.RIGHT_FILE)
    if len(candidates) == 1:
        return candidates[0]
    for file in candidates:
        names = list(load(file).schema)
        if len(names) == len(original) and all(new.startswith(old) for new, old in zip(names, original, strict=True)):
            return file
    what = f"none of its {len(candidates)} schemas has the services of the original"
    raise UserError(what, file=folder, hint=sources.RIGHT_FILE)
