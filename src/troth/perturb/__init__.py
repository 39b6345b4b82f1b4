"""Perturbations: the same dialogue said otherwise, with annotations that still fit.

A family is a module (or any object) with

    Options                 a frozen msgspec Struct: every choice with its default; recorded in perturbation.json
    perturb(dialogue, rng, inventory, options) -> Changed
                            pure: the same dialogue and generator give the same result, the input stays as it is

and a docstring whose first line `troth ls` shows. Families of others plug in through the entry point group
`troth.perturbations`. The generator is derived from seed, family and dialogue id, so that neither the order of the
dialogues nor the number of workers moves a letter.
"""

from __future__ import annotations

import hashlib
import random
import string
from collections.abc import Iterable
from typing import Any

import msgspec

from troth.core.records import Dialogue, Schema
from troth.core.registry import Registry
from troth.perturb.users.values import Held, told

FAMILIES = Registry(
    "perturbation",
    "troth.perturbations",
    {
        "disfluency": "troth.perturb.users.disfluency",
        "entities": "troth.perturb.users.entities",
        "paraphrase": "troth.perturb.users.paraphrase",
        "format": "troth.perturb.users.format",
    },
)


class Changed(msgspec.Struct, frozen=True):
    """A perturbed dialogue, and what became of its turns."""

    dialogue: Dialogue
    turns: tuple[int, ...]  # indices of the turns whose text changed
    refused: dict[str, int] = {}  # reason to number of turns left as they were
    figures: dict[str, float] = {}  # what a family counts besides, summed over dialogues


class Inventory(msgspec.Struct, frozen=True):
    """What a family may need to know of the whole corpus; gathered once, the same in any order."""

    values: dict[str, tuple[str, ...]]  # "service.slot" to every value that occurs, sorted
    categorical: frozenset[str]  # "service.slot" of the slots with a closed list of values
    known: frozenset[str]  # every value and every word of every text, in lower case


def inventory(dialogues: Iterable[Dialogue], schema: Schema | None) -> Inventory:
    held: set[Held] = set()
    known: set[str] = set()
    for dialogue in dialogues:
        known.update(" ".join([turn.text for turn in dialogue.turns]).lower().split())
        held.update(*told(dialogue))
    known.update([word.strip(string.punctuation) for word in known])
    values: dict[str, set[str]] = {}
    for service, (slot, alternatives) in held:
        values.setdefault(f"{service}.{slot}", set()).update(alternatives)
    categorical = set()
    for defined in (schema or {}).values():
        for listed in defined.slots:
            if listed.is_categorical:
                categorical.add(f"{defined.name}.{listed.name}")
                values.setdefault(f"{defined.name}.{listed.name}", set()).update(listed.possible_values)
    for found_values in values.values():
        known.update(value.lower() for value in found_values)
    every = {key: tuple(sorted(found_values)) for key, found_values in sorted(values.items())}
    return Inventory(every, frozenset(categorical), frozenset(known))


def united(parts: Iterable[Inventory]) -> Inventory:
    """One inventory of several shares' ones."""
    values: dict[str, set[str]] = {}
    categorical: set[str] = set()
    known: set[str] = set()
    for part in parts:
        for key, found in part.values.items():
            values.setdefault(key, set()).update(found)
        categorical |= part.categorical
        known |= part.known
    every = {key: tuple(sorted(found)) for key, found in sorted(values.items())}
    return Inventory(every, frozenset(categorical), frozenset(known))


def generator(seed: int, family: str, dialogue: str) -> random.Random:
    """Randomness as an argument: its own stream for each dialogue and family."""
    key = hashlib.sha256(f"{seed}\n{family}\n{dialogue}".encode()).digest()
    return random.Random(int.from_bytes(key, "big"))  # noqa: S311 (nothing here is secret)


def apply(dialogue: Dialogue, family: str, *, seed: int, known: Inventory, options: Any = None) -> Changed:
    """One family on one dialogue."""
    module = FAMILIES.load(family)
    chosen = module.Options() if options is None else options
    changed: Changed = module.perturb(dialogue, generator(seed, family, dialogue.id), known, chosen)
    return changed
