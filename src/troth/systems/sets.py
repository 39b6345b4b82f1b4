"""Test sets of a tracker: the original, its perturbed twins (NED, SDI, PI, …), and variants of its schema (v1, v2, …).

A set is named as the papers do, after a family of perturbations, or `NAME=PATH` for one that exists already.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from troth import readers
from troth.core.errors import UserError, suggest_name
from troth.core.names import parse_names, split_name_path
from troth.core.records import Dialogue, Schema
from troth.perturb.schemas.files import variant_names
from troth.perturb.schemas.generators import Generator
from troth.perturb.schemas.run import vary
from troth.perturb.users import FAMILIES, Inventory, apply, inventory
from troth.perturb.users.run import perturb
from troth.readers.plain import encode_indented
from troth.storage import files
from troth.storage.unfinished import temporary_sibling
from troth.systems.data import TrackerCorpus, Wording, variants_from

SetKind = Literal["original", "twin", "variant"]
ORIGINAL = "orig"
PERTURBED = {"NED": "entities", "SDI": "disfluency", "PI": "paraphrase"}  # as CheckDST names them, and the family


class SetPlan(NamedTuple):
    families: dict[str, str]  # name to family
    variants: list[str]
    folders: dict[str, str]  # name to an existing set
    order: list[str]

    def kind(self, name: str) -> SetKind:
        if name in self.variants:
            return "variant"
        return "original" if name == ORIGINAL else "twin"


def parse_sets(sets: str | Sequence[str]) -> SetPlan:
    """Parses names of test sets, such as "orig,NED,v1..v5,mine=PATH"."""
    families: dict[str, str] = {}
    variants: list[str] = []
    folders: dict[str, str] = {}
    order: list[str] = []
    for item in parse_names(sets):
        name, path = split_name_path(item)
        if name and path:
            folders[name] = path
            order.append(name)
        elif item == ORIGINAL:
            order.append(item)
        elif item in PERTURBED or item in FAMILIES:
            families[item] = PERTURBED.get(item, item)
            order.append(item)
        elif re.fullmatch(r"v\d+(\.\.v?\d+)?", item):
            several = variant_names(item)
            variants += several
            order += several
        else:
            known = [ORIGINAL, *PERTURBED, "v1..v5", *FAMILIES]
            raise UserError(f"there is no set '{item}'", hint=suggest_name(item, known) or "known: " + ", ".join(known))
    if len(set(order)) < len(order):
        raise UserError("a set is named twice", hint="name each set once")
    return SetPlan(families, variants, folders, order)


def make(corpus: TrackerCorpus, plan: SetPlan, folder: Path, *, schemas: str | None, seed: int) -> dict[str, str]:
    """Writes the missing sets to a folder; returns the paths of all in the order of the plan."""
    with files.writing(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    original = folder / ORIGINAL
    if not original.exists():
        schema = encode_indented(list(corpus.schema.values()))
        readers.write(corpus.dialogues, str(original), "sgd", schema=schema)
    for name, family in plan.families.items():
        if not (folder / name).exists():
            perturb(original, folder / name, with_=family, seed=seed)
    if any(not (folder / name).exists() for name in plan.variants):
        _vary(original, plan.variants, folder, schemas, seed)
    return {name: plan.folders.get(name, str(folder / name)) for name in plan.order}


def _vary(original: Path, names: Sequence[str], folder: Path, schemas: str | None, seed: int) -> None:
    generator = _generator(names, schemas, seed)
    with files.writing(str(folder)), temporary_sibling(folder / names[0], folder=True) as scratch:
        _check_names(names, {variant.variant for variant in vary(original, f"{scratch}/all", with_=generator)}, schemas)
        for name in names:
            if not (folder / name).exists():
                Path(scratch, "all", name).rename(folder / name)


def _generator(names: Sequence[str], schemas: str | None, seed: int) -> Generator:
    """The generator of the variants of these names."""
    if schemas is None:
        hint = "name the folder of the variants' schemas (SGD-X), or backtranslate, corrupt, or a file of paraphrases"
        raise UserError(f"nothing says how the schema is worded in {names[0]}", hint=hint)
    generator = variants_from(schemas, seed)
    if "variants" in generator.__struct_fields__:
        return msgspec.structs.replace(generator, variants=",".join(names))
    if "count" in generator.__struct_fields__:
        return msgspec.structs.replace(generator, count=max(int(name[1:]) for name in names))
    return generator


def _check_names(names: Sequence[str], known: Collection[str], schemas: str | None) -> None:
    for name in names:
        if name not in known:
            hint = "there are: " + ", ".join(sorted(known))
            raise UserError(f"no variant is called '{name}'", file=schemas, hint=hint)


def reword(corpus: TrackerCorpus, names: Sequence[str], schemas: str | None, seed: int) -> list[Wording]:
    """The schema of a corpus in the wordings of these names, in memory."""
    if not names:
        return []
    wordings = {wording.name: wording for wording in corpus.reword_schema(_generator(names, schemas, seed))}
    _check_names(names, wordings, schemas)
    return [wordings[name] for name in names]


def perturb_dialogues(dialogues: Sequence[Dialogue], schema: Schema, family: str, seed: int) -> list[Dialogue]:
    """The perturbed twins of dialogues, in memory."""
    known: Inventory = inventory(dialogues, schema)
    return [apply(family, dialogue, known, seed=seed).dialogue for dialogue in dialogues]
