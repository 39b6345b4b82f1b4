"""Table 1 of SGD-X over files: schemas, folders of splits, or tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from troth.core.errors import UserError
from troth.core.records import Schema
from troth.perturb.schemas.divergence import Table, table
from troth.perturb.schemas.files import candidates, load, matching


def schema_table(original: str, variants: Sequence[str], *, train: str | None = None) -> Table:
    """Paths are schema files, tools, or folders: with a `schema.json`, or with splits that each have one.

    Of splits, all services count once for distances; the names of those in `test` are looked up in `train`.
    """
    splits = {Path(file).parent.name: load(file).schema for file in candidates(original)}
    if not splits:
        raise UserError("no schema.json in this folder", file=original, hint="is it the right one?")
    named = [_named(path) for path in variants]
    for name, path in named:
        if name == "original" or [other for other, _ in named].count(name) > 1:
            raise UserError(f"two schemas would be called '{name}'", file=path, hint="name them: NAME=PATH")
    whole: Schema = {}
    theirs: dict[str, Schema] = {name: {} for name, _ in named}
    for schema in splits.values():
        fresh = [number for number, service in enumerate(schema) if service not in whole]
        whole.update((name, service) for name, service in schema.items() if name not in whole)
        for name, path in named:
            services = list(load(matching(schema, candidates(path), path)).schema.values())
            if len(services) != len(schema):
                raise UserError(
                    f"has {len(services)} services, the original {len(schema)}", file=path, hint="which one?"
                )
            theirs[name].update((services[number].name, services[number]) for number in fresh)
    trained = load(train).schema if train else splits.get("train") if len(splits) > 1 else None
    return table(whole, theirs, train=trained, tested=splits.get("test") if len(splits) > 1 else None)


def _named(path: str) -> tuple[str, str]:
    name, equals, rest = path.partition("=")
    if equals and name and "/" not in name and not Path(path).exists():
        return name, rest
    place = Path(path)
    return (place.parent.name or place.stem if place.is_file() else place.resolve().name), path
