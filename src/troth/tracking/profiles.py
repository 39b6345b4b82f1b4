"""Profiles: what a unit is and when it is right, one small rule at a time.

The same predictions score differently under each public script, because the scripts differ in a handful of rules. A
profile is those rules by name, so that any two can be compared rule by rule (`troth explain`) and every score can
name its rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from typing import Any

from troth.core.errors import UserError, suggest_name
from troth.core.options import check_choice
from troth.core.registry import Registry


def _rule(default: str, about: str, *choices: str, always: bool = False) -> Any:
    return field(default=default, metadata={"about": about, "choices": choices, "always": always})


@dataclass(frozen=True)
class Profile:
    """A recipe for scoring states. Every rule moves some number, and stands in the signature of the scores it moves."""

    name: str = field(metadata={"rule": "profile", "always": True})
    summary: str = field(metadata={"silent": True})
    unit: str = _rule("frame", "what is right or wrong as a whole", "frame", "turn", always=True)
    match: str = _rule(
        "fuzzy-indel", "how non-categorical values are compared",
        "fuzzy-indel", "fuzzy-difflib", "exact", "fuzzy-raw", "partial-95", "given", always=True,
    )  # fmt: skip
    norm: str = _rule(
        "none", "normaliser of slot names and values", "none", "multiwoz", "mwzeval", "checkdst", always=True
    )
    missing: str = _rule("zero", "what a missing prediction scores", "zero", "skip", always=True)
    typed: str = _rule("yes", "whether categorical slots must equal gold's first value", "yes", "no")
    case: str = _rule("ignore", "letter case of categorical values and intents", "ignore", "keep")
    values: str = _rule("all", "which of gold's values count: any, the first, all as a set", "all", "first", "set")
    scope: str = _rule(
        "schema", "which slots and frames count: gold's frames with the schema's slots, or all that either side has",
        "schema", "state",
    )  # fmt: skip
    dontcare: str = _rule("value", "gold's dontcare: a value like others, or left out of gold", "value", "drop")
    none: str = _rule("empty", "a predicted none of MultiWOZ: no value, or a value like others", "empty", "value")
    average: str = _rule("frame", "what AGA and slot accuracy average over", "frame", "turn")
    fga: str = _rule("code", "FGA by the authors' code or by the paper", "code", "paper", "code-trippy", always=True)
    only: tuple[str, ...] = ()  # patterns of services and slots that count, such as `hotel` or `*.name`; empty: all
    without: tuple[str, ...] = ()  # patterns of those that do not

    def base(self) -> Profile:
        """What the name stands for: the signature gives the name, and each rule that differs from this."""
        return PROFILES.load(self.name) if self.name in PROFILES.own else Profile(self.name, self.summary)

    @property
    def is_restricted(self) -> bool:
        return bool(self.only or self.without)

    def allows(self, service: str, slot: str) -> bool:
        """Whether a slot counts."""
        return (not self.only or matches_any(service, slot, self.only)) and not matches_any(service, slot, self.without)

    def restrict(self, only: Iterable[str], without: Iterable[str]) -> Profile:
        """The same profile for some slots or services alone."""
        patterns = [tuple(sorted(set(one))) for one in (only, without)]
        if any(patterns) and self.match == "given":
            what = f"profile {self.name} has correctness and no values: slots cannot be chosen"
            raise UserError(what, hint="choose another profile")
        return replace(self, only=patterns[0], without=patterns[1])

    def with_rules(self, **rules: str | None) -> Profile:
        """The same profile with some rules changed; None leaves a rule as it is."""
        changed: dict[str, Any] = {rule: value for rule, value in rules.items() if value is not None}
        for rule, value in changed.items():
            if rule not in CHOICES:
                hint = suggest_name(rule, CHOICES) or "rules that can be changed: " + ", ".join(CHOICES)
                raise UserError(f"'{rule}' is not a rule", hint=hint)
            check_choice(rule, value, CHOICES[rule])
        if self.match == "given" and (changed.get("match") or changed.get("unit") == "frame"):
            what = f"profile {self.name} has correctness and no values: match and unit do not apply to it"
            raise UserError(what, hint="leave them out")
        return replace(self, **changed)


def matches_any(service: str, slot: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns names the service (`hotel`), or the slot (`hotel.name`, `*.name`); case is ignored.

    >>> matches_any("Hotels_2", "place_name", ["*.*name"]), matches_any("hotel", "name", ["hot"])
    (True, False)
    """
    names = service.lower(), f"{service}.{slot}".lower()
    return any(fnmatchcase(names["." in pattern], pattern.lower()) for pattern in patterns)


OWN = ("fuzzy-raw", "partial-95", "given", "code-trippy")  # values that belong to one profile only
# What each rule may be changed to on top of a profile.
CHOICES: dict[str, tuple[str, ...]] = {
    rule.name: tuple(choice for choice in rule.metadata["choices"] if choice not in OWN)
    for rule in fields(Profile)
    if "choices" in rule.metadata
}
ABOUT: dict[str, str] = {rule.name: rule.metadata["about"] for rule in fields(Profile) if rule.name in CHOICES}
# The order in which `troth explain` changes one rule after the other: those that act on single values first.
ORDER = ("case", "match", "values", "typed", "norm", "dontcare", "none", "scope", "missing", "average", "unit", "fga")

_TURNS: dict[str, Any] = {
    "unit": "turn", "typed": "no", "case": "keep", "values": "first", "scope": "state", "average": "turn"
}  # fmt: skip

PROFILES: Registry[Profile] = Registry(
    "profile",
    "troth.profiles",
    {
        profile.name: profile
        for profile in (
            Profile("sgd", "the public SGD / DSTC8 script"),
            Profile("sgd-exact", "the public SGD script with equality in place of fuzzy matching", match="exact"),
            Profile("nemo", "NeMo's port of it: case kept, raw rapidfuzz", match="fuzzy-raw", case="keep"),
            Profile(
                "trade", "TRADE and SOM-DST: equal strings, a whole turn at a time",
                **{**_TURNS, "match": "exact", "norm": "multiwoz"},
            ),
            Profile(
                "trippy", "TripPy's correctness files: right or wrong per slot, as the file says",
                **{**_TURNS, "match": "given", "fga": "code-trippy"},
            ),
            Profile(
                "mwzeval", "mwzeval by Nekvinda and Dušek: its normaliser, then partial ratio above 95",
                **{**_TURNS, "match": "partial-95", "norm": "mwzeval", "dontcare": "drop", "none": "value",
                   "missing": "skip"},
            ),
            Profile(
                "checkdst", "CheckDST: equal sets after its value map, dontcare left out",
                **{**_TURNS, "match": "exact", "values": "set", "norm": "checkdst"},
            ),
        )
    },
)  # fmt: skip


def profile(text: str | Profile) -> Profile:
    """A profile by name, with rules changed where the text says so: `sgd`, `sgd+missing:skip+unit:turn`."""
    if isinstance(text, Profile):
        return text
    name, *changes = text.strip().split("+")
    rules = dict(change.partition(":")[::2] for change in changes)
    return PROFILES.load(name).with_rules(**rules)
