"""Additional training data of trackers: dialogues under other wordings of the schema, and perturbed twins.

    schema=0.5,names=0.3,disfluency=0.3,paraphrase=0.3

A share is the probability that a dialogue is added once more in this way: under each of the wordings, or as a twin. A
twin stands under a wording that is drawn, so that stresses are also learned together. Twins are not those of test
sets: their seed is another one, and paraphrases and disfluencies take one half of the phrases (`lexicon.Half`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from troth.core.errors import UserError, suggest_name
from troth.core.names import parse_names
from troth.core.randomness import generator
from troth.core.records import Dialogue, Schema
from troth.perturb.users import Family, Inventory, apply, inventory
from troth.perturb.users.disfluency import Disfluency
from troth.perturb.users.entities import Entities
from troth.perturb.users.paraphrase import Paraphrase

SCHEMA, ORACLE, BACK_TRANSLATION, CORRUPTION = "schema", "oracle", "backtranslate", "corrupt"
WORDINGS = (SCHEMA, ORACLE, BACK_TRANSLATION, CORRUPTION)  # ways to get other wordings of a schema
TWINS: dict[str, Family] = {
    "names": Entities(),
    "disfluency": Disfluency(half="first"),
    "paraphrase": Paraphrase(half="first"),
}
SEED = 1_000_003  # added to the seed of a run: test sets are made with small seeds


class Augmentation(NamedTuple):
    wordings: str = ""  # one of `WORDINGS`; empty: the schema's own words alone
    share: float = 1.0  # of the dialogues, under each wording
    twins: Mapping[str, float] = MappingProxyType({})  # share of the dialogues by name


def parse_augmentation(text: str | Sequence[str] | None) -> Augmentation:
    """Parses names and shares, such as "schema,names=0.3"; a name without a share has 1."""
    shares: dict[str, float] = {}
    for item in parse_names(text or ()):
        name, _, share = item.partition("=")
        known = [*WORDINGS, *TWINS]
        if name not in known:
            raise UserError(
                f"cannot be '{name}'", option="augment", hint=suggest_name(name, known) or "known: " + ", ".join(known)
            )
        if name in shares:
            raise UserError(f"names '{name}' twice", option="augment", hint="name each only once")
        shares[name] = _parse_share(name, share) if share else 1.0
    ways = [name for name in shares if name in WORDINGS]
    if len(ways) > 1:
        hint = "name one of them"
        raise UserError(f"names two ways to reword the schema: {', '.join(ways)}", option="augment", hint=hint)
    twins = {name: share for name, share in shares.items() if name in TWINS}
    return Augmentation(ways[0], shares[ways[0]], twins) if ways else Augmentation(twins=twins)


def _parse_share(name: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        what = f"has '{text}' as the share of '{name}'"
        raise UserError(what, option="augment", hint="a number above 0 and at most 1, for example 0.3")
    return share


class TwinMaker:
    """Draws twins of the dialogues of a corpus; repeated calls give the same twins."""

    def __init__(self, dialogues: Sequence[Dialogue], schema: Schema, shares: Mapping[str, float], seed: int) -> None:
        self.shares, self.seed = shares, seed
        self.known = inventory(dialogues, schema) if shares else Inventory({}, frozenset(), frozenset())

    def make(self, dialogue: Dialogue) -> Iterator[Dialogue]:
        """The twins of a dialogue in which something changed."""
        for name, share in self.shares.items():
            if generator(self.seed, f"augment {name}", dialogue.id).random() < share:
                twin = apply(TWINS[name], dialogue, self.known, seed=SEED + self.seed)
                if twin.turns:
                    yield twin.dialogue
