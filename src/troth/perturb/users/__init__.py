"""Families of perturbations: the same dialogue said in other words, with annotations that still fit.

A family is a frozen `Family` struct. Its fields are its options, its first docstring line is what `troth ls` shows, and

    perturb(dialogue, rng, inventory) -> Twin

is pure: the same dialogue and generator give the same result, and the input does not change. Other packages add
families through the entry point group `troth.perturbations`. The generator is derived from seed, family and dialogue
id, so that neither the order of the dialogues nor the number of workers changes the result.

    from troth.perturb.users import apply, inventory

    twin = apply("entities", dialogue, inventory(dialogues, schema), seed=1)
    twin.dialogue, twin.turns     # and Entities(slots=("city",)) in place of the name sets options
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from random import Random
from typing import ClassVar

import msgspec

from troth.core.randomness import generator
from troth.core.records import Dialogue, Schema
from troth.core.registry import Registry
from troth.perturb.options import name_of
from troth.perturb.users.values import ValueSet, annotated_values

FAMILIES: Registry[type[Family]] = Registry(
    "perturbation",
    "troth.perturbations",
    {
        "disfluency": "troth.perturb.users.disfluency:Disfluency",
        "entities": "troth.perturb.users.entities:Entities",
        "paraphrase": "troth.perturb.users.paraphrase:Paraphrase",
        "format": "troth.perturb.users.transcript:Transcript",
    },
)


class Twin(msgspec.Struct, frozen=True):
    """A perturbed dialogue, and its changed and refused turns."""

    dialogue: Dialogue
    turns: tuple[int, ...]  # indices of the turns whose text changed
    refused: dict[str, int] = {}  # number of unchanged turns by reason
    figures: dict[str, float] = {}  # further counts of a family, summed over dialogues


class Inventory(msgspec.Struct, frozen=True):
    """Facts about the whole corpus that a family may need; independent of the order of dialogues."""

    values: dict[str, tuple[str, ...]]  # "service.slot" to every value that occurs, sorted
    categorical: frozenset[str]  # "service.slot" of the slots with a closed list of values
    known: frozenset[str]  # every value and every word of every text, in lower case


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of perturbation. Its fields are its options (see `troth.perturb.options`)."""

    takes_nli: ClassVar[bool] = False  # whether `perturb` takes `entails=`, an entailment model's judgement
    takes_lm: ClassVar[bool] = False  # whether `perturb` takes `lm=`, a language model

    counts: ClassVar[tuple[str, ...]] = ()  # beginnings of figures that say nothing when divided by words

    def perturb(self, dialogue: Dialogue, rng: Random, inventory: Inventory) -> Twin:
        raise NotImplementedError


def inventory(dialogues: Iterable[Dialogue], schema: Schema | None = None) -> Inventory:
    """The inventory of a corpus."""
    value_sets: set[ValueSet] = set()
    known: set[str] = set()
    for dialogue in dialogues:
        known.update(" ".join([turn.text for turn in dialogue.turns]).lower().split())
        value_sets.update(*annotated_values(dialogue))
    known.update([word.strip(string.punctuation) for word in known])
    values: dict[str, set[str]] = {}
    for service, (slot, alternatives) in value_sets:
        values.setdefault(f"{service}.{slot}", set()).update(alternatives)
    slots = [(service.name, slot) for service in (schema or {}).values() for slot in service.slots]
    categorical = {f"{name}.{slot.name}": slot.possible_values for name, slot in slots if slot.is_categorical}
    for key, possible in categorical.items():
        values.setdefault(key, set()).update(possible)
    known.update(value.lower() for every in values.values() for value in every)
    return _inventory(values, set(categorical), known)


def merge_inventories(parts: Iterable[Inventory]) -> Inventory:
    """Merges the inventories of parts of a corpus."""
    values: dict[str, set[str]] = {}
    categorical: set[str] = set()
    known: set[str] = set()
    for part in parts:
        for key, alternatives in part.values.items():
            values.setdefault(key, set()).update(alternatives)
        categorical |= part.categorical
        known |= part.known
    return _inventory(values, categorical, known)


def _inventory(values: dict[str, set[str]], categorical: set[str], known: set[str]) -> Inventory:
    every = {key: tuple(sorted(alternatives)) for key, alternatives in sorted(values.items())}
    return Inventory(every, frozenset(categorical), frozenset(known))


def apply(family: str | Family, dialogue: Dialogue, known: Inventory, *, seed: int = 0) -> Twin:
    """Returns the dialogue's twin under one family. `known` is the inventory of the whole corpus."""
    member = family if isinstance(family, Family) else FAMILIES.load(family)()
    return member.perturb(dialogue, generator(seed, name_of(FAMILIES, member), dialogue.id), known)
