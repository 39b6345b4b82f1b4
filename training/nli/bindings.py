"""Made-up documents in which several things have each their own value, and claims that give one the value of another.

Which number belongs to which name is what a small model gets wrong first, and what real data says too seldom. The
sentences are a small grammar of our own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from training.nli.data import Pair

GROUPS = (
    "the free plan|the basic plan|the premium plan|the team plan|the enterprise plan",
    "Berlin|Madrid|Oslo|Vienna|Lisbon|Prague",
    "Anna Weber|Paul Stone|Maria Lopez|John Carter|Li Wei|Omar Haddad",
    "the red line|the blue line|the green line|the airport bus",
    "the museum|the library|the swimming pool|the town hall|the zoo",
    "the X200|the X300|the Pro model|the Mini|the Max",
    "Acme|Globex|Initech|Umbrella Foods|Northwind",
    "the north wing|the south wing|the annex|the old building",
    "single rooms|double rooms|suites|family rooms",
    "standard shipping|express shipping|overnight shipping",
)
COUNTED = (
    "has {} users", "has {} rooms", "costs {} dollars", "takes {} minutes", "opened in {y}", "was founded in {y}",
    "employs {} people", "allows {} downloads a month", "weighs {} grams", "closes at {h} pm", "opens at {h} am",
    "sold {} units in {y}", "is {} meters long", "holds {} people", "was closed in {y}",
)  # fmt: skip
PLURAL = ("cost {} dollars", "take {} days", "are limited to {} guests", "include {} items", "were introduced in {y}")
ROLES = ("admins|editors|viewers|guests|owners", "teachers|students|parents|visitors",
         "members|guests|children|seniors", "managers|employees|contractors|interns")  # fmt: skip
MAY = (
    "reset passwords", "delete files", "invite others", "export the data", "use the pool", "park for free",
    "cancel at any time", "publish articles", "see the reports", "borrow books", "change the settings", "bring a guest",
    "enter the lab",
)  # fmt: skip
DEEDS = ("{} defeated {}", "{} was founded by {}", "{} married {}", "{} bought {}", "{} wrote to {}", "{} succeeded {}",
         "{} taught {}", "{} was beaten by {}", "{} is older than {}", "{} reports to {}", "{} sold its shares to {}",
         "{} is north of {}", "{} is larger than {}", "{} was replaced by {}", "{} invited {}")  # fmt: skip
LINKS = (" {}, and {}.", " {}, while {}.", " {}; {}.", " {}. {}.", " {}, but {}.")


class Told(NamedTuple):
    """A clause of a document, and the clause with a wrong value of the same document."""

    true: str
    wrong: str


def _values(clause: str, rng: random.Random) -> list[str]:
    """The clause with three different values."""
    numbers, years, hours = rng.sample((2, 3, 4, 5, 8, 10, 12, 15, 20, 24, 30, 40, 50, 75, 100, 120, 250), 3), \
        rng.sample(range(1890, 2023), 3), rng.sample(range(1, 12), 3)  # fmt: skip
    return [clause.format(number, y=year, h=hour) for number, year, hour in zip(numbers, years, hours, strict=True)]


def _measured(rng: random.Random) -> list[Told]:
    group = rng.choice(GROUPS).split("|")
    things = rng.sample(group, 2)
    is_plural = things[0].endswith("s") and " " in things[0] and "the" not in things[0]
    deeds = _values(rng.choice(PLURAL if is_plural else COUNTED), rng)
    return [Told(f"{things[i]} {deeds[i]}", f"{things[i]} {deeds[1 - i]}") for i in (0, 1)]


def _allowed(rng: random.Random) -> list[Told]:
    roles, deed, yes = rng.sample(rng.choice(ROLES).split("|"), 2), rng.choice(MAY), rng.random() < 0.5
    no = rng.choice(("cannot", "can not", "are not allowed to", "can never", "may not"))
    forms = [rng.choice(("can", "may", "are allowed to")), no]
    return [
        Told(f"{role} {forms[(i == 0) != yes]} {deed}", f"{role} {forms[(i == 0) == yes]} {deed}")
        for i, role in enumerate(roles)
    ]


def _done(rng: random.Random) -> list[Told]:
    group, deed = rng.choice(GROUPS[1:3] + GROUPS[6:7]).split("|"), rng.choice(DEEDS)
    first, second, third = rng.sample(group, 3)
    return [
        Told(deed.format(first, second), deed.format(second, first)),
        Told(deed.format(second, third), deed.format(third, second)),
    ]


def bindings(rng: random.Random, count: int) -> Iterator[Pair]:
    """`count` documents with a true and a wrong claim of each."""
    for _ in range(count):
        clauses = rng.choice((_measured, _measured, _allowed, _done))(rng)
        rng.shuffle(clauses)
        document = rng.choice(LINKS).format(*(clause.true for clause in clauses)).strip()
        document = ". ".join(part[:1].upper() + part[1:] for part in document.split(". "))
        clause = rng.choice(clauses)
        for claim, label in ((clause.true, "entailment"), (clause.wrong, "contradiction")):
            yield Pair(document, claim[:1].upper() + claim[1:] + ".", label, "made:binding")
