"""Families of perturbations: the same dialogue said in other words, with annotations that still fit.

A family is a frozen `Family` struct. Its fields are its options, its first docstring line is what `troth ls` shows, and

    perturb(dialogue, rng, inventory) -> Twin

is pure: the same dialogue and generator give the same result, and the input stays as it is. Other packages add families
through the entry point group `troth.perturbations`. The generator is derived from seed, family and dialogue id, so that
neither the order of the dialogues nor the number of workers changes the result.

    from troth.perturb.users import apply, inventory

    twin = apply("entities", dialogue, inventory(dialogues, schema), seed=1)
    twin.dialogue, twin.turns     # and Entities(slots=("city",)) in place of the name sets options
"""

from __future__ import annotations

from troth.core.randomness import generator
from troth.core.records import Dialogue
from troth.core.registry import Registry
from troth.perturb.options import name_of
from troth.perturb.users.family import Family as Family
from troth.perturb.users.family import Inventory as Inventory
from troth.perturb.users.family import Twin as Twin
from troth.perturb.users.family import inventory as inventory

FAMILIES = Registry(
    "perturbation",
    "troth.perturbations",
    {
        "disfluency": "troth.perturb.users.disfluency:Disfluency",
        "entities": "troth.perturb.users.entities:Entities",
        "paraphrase": "troth.perturb.users.paraphrase:Paraphrase",
        "format": "troth.perturb.users.transcript:Transcript",
    },
)


def apply(family: str | Family, dialogue: Dialogue, known: Inventory, *, seed: int = 0) -> Twin:
    """Returns the dialogue's twin under one family. `known` is the inventory of the whole corpus."""
    member: Family = family if isinstance(family, Family) else FAMILIES.load(family)()
    return member.perturb(dialogue, generator(seed, name_of(FAMILIES, member), dialogue.id), known)
