"""Table 1 of SGD-X over files: schemas, folders of splits, or tools."""

from __future__ import annotations

from pathlib import Path as Folder

from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.records import Schema
from troth.perturb.schemas.divergence import DivergenceTable, divergence
from troth.perturb.schemas.files import candidates, find_matching, load
from troth.readers.source import RIGHT_FILE


def stats(original: Path, *variants: Path, train: Path | None = None) -> DivergenceTable:
    """How far variants of a schema are from it: names seen in training, distance of names, BLEU of descriptions.

    Paths are schema files, tools, or folders: with a `schema.json`, or with splits that each have one. A variant may be
    given as `NAME=PATH`. Of splits, all services count once for distances; the names of those in `test` are looked up
    in `train`, which can also be named.

    >>> from troth import demo
    >>> stats(demo.path("gold"), "same=" + demo.path("gold")).rows[1].distance
    0.0
    """
    path = path_of(original)
    splits = {Folder(file).parent.name: load(file).schema for file in candidates(path)}
    if not splits:
        raise UserError("no schema.json in this folder", file=path, hint=RIGHT_FILE)
    variants_by_name = [_split_name(path_of(variant)) for variant in variants]
    for name, variant_path in variants_by_name:
        if name == "original" or [other for other, _ in variants_by_name].count(name) > 1:
            raise UserError(f"two schemas would be called '{name}'", file=variant_path, hint="name them: NAME=PATH")
    whole: Schema = {}
    theirs: dict[str, Schema] = {name: {} for name, _ in variants_by_name}
    for schema in splits.values():
        fresh = [number for number, service in enumerate(schema) if service not in whole]
        whole.update((name, service) for name, service in schema.items() if name not in whole)
        for name, variant_path in variants_by_name:
            services = list(load(find_matching(schema, candidates(variant_path), variant_path)).schema.values())
            if len(services) != len(schema):
                what = f"has {len(services)} services, the original {len(schema)}"
                raise UserError(what, file=variant_path, hint=RIGHT_FILE)
            theirs[name].update((services[number].name, services[number]) for number in fresh)
    several = len(splits) > 1
    trained = load(path_of(train)).schema if train else splits.get("train") if several else None
    return divergence(whole, theirs, train=trained, tested=splits.get("test") if several else None)


def _split_name(path: str) -> tuple[str, str]:
    name, equals, rest = path.partition("=")
    if equals and name and "/" not in name and not Folder(path).exists():
        return name, rest
    file = Folder(path)
    return (file.parent.name or file.stem if file.is_file() else file.resolve().name), path
