"""Profiles: what a unit is and when it is right, one small rule at a time.

The same predictions score differently under each public script, because the scripts differ in a handful of rules. A
profile is those rules by name, so that any two can be compared rule by rule (`troth explain`) and every score can say
by which it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from troth.core.errors import UserError, near

Unit = Literal["frame", "turn"]
Missing = Literal["zero", "skip"]
FgaRule = Literal["code", "paper"]


@dataclass(frozen=True)
class Profile:
    """A recipe for scoring states. Every field moves the number; `rules` lists them in the order they are explained."""

    name: str
    summary: str
    unit: Unit = "frame"
    match: str = "fuzzy-indel"  # how values of non-categorical slots are compared, see matching.MATCHERS
    typed: bool = True  # whether categorical slots have a rule of their own: equal to gold's first value
    case: Literal["ignore", "keep"] = "ignore"  # letter case of categorical values
    values: Literal["all", "first", "set"] = "all"  # gold's values: any may match, the first must, or the sets must
    scope: Literal["schema", "state"] = "schema"  # slots of the schema in gold's frames, or all that either side has
    average: Unit = "frame"  # AGA and SA: mean over frames, or over turns with all services together
    norm: Literal["none", "multiwoz", "checkdst"] = "none"
    missing: Missing = "zero"
    fga: FgaRule = "code"

    def with_options(
        self, *, unit: str | None = None, match: str | None = None, missing: str | None = None, fga: str | None = None
    ) -> Profile:
        """The same profile with the rules that the command line names changed."""
        given = {"unit": unit, "match": match, "missing": missing, "fga": fga}
        changed = {key: value for key, value in given.items() if value is not None}
        for key, value in changed.items():
            if value not in OPTIONS[key]:
                raise UserError(f"--{key} '{value}' is not known", hint="one of: " + ", ".join(OPTIONS[key]))
        if self.name == "trippy" and (changed.get("match") or changed.get("unit") == "frame"):
            what = "profile trippy has correctness and no values: --match and --unit do not apply to it"
            raise UserError(what, hint="leave them out")
        return replace(self, **changed)  # type: ignore[arg-type]

    def signature(self) -> str:
        """What moves every number of this profile, as it stands in signatures."""
        return f"profile:{self.name}|unit:{self.unit}|match:{self.match}|norm:{self.norm}|missing:{self.missing}"


# The rules that may be changed on top of a profile, and to what; the other matchers belong to their profiles.
OPTIONS = {
    "unit": ("frame", "turn"),
    "match": ("fuzzy-indel", "fuzzy-difflib", "exact"),
    "missing": ("zero", "skip"),
    "fga": ("code", "paper"),
}

# The order in which `troth explain` changes one rule after the other: those that act on single values first.
RULES = {
    "case": "letter case of categorical values",
    "match": "how non-categorical values are compared",
    "values": "which of gold's values count",
    "typed": "whether categorical slots have a rule of their own",
    "norm": "normaliser of slot names and values",
    "scope": "whether slots and frames outside schema and gold count; what FGA looks back at",
    "missing": "what a missing prediction scores",
    "average": "what AGA and SA average over",
    "unit": "what is right or wrong as a whole",
    "fga": "FGA by the paper or by the authors' code",
}

PROFILES = {
    profile.name: profile
    for profile in (
        Profile("sgd", "the public SGD / DSTC8 script"),
        Profile("sgd-exact", "the public SGD script with equality in place of fuzzy matching", match="exact"),
        Profile("nemo", "NeMo's port of it: case kept, raw rapidfuzz", match="fuzzy-raw", case="keep"),
        Profile(
            "trade",
            "TRADE, SOM-DST: equal strings, a whole turn at a time",
            unit="turn", match="exact", typed=False, case="keep", values="first", scope="state", average="turn",
            norm="multiwoz",
        ),
        Profile(
            "trippy",
            "TripPy correctness files: right or wrong per slot, as the file says",
            unit="turn", match="given", typed=False, case="keep", values="first", scope="state", average="turn",
        ),
        Profile(
            "mwzeval",
            "MultiWOZ evaluation by Nekvinda and Dusek: partial ratio above 95",
            unit="turn", match="partial-95", typed=False, case="keep", values="first", scope="state", average="turn",
            norm="multiwoz",
        ),
        Profile(
            "checkdst",
            "CheckDST: equal sets after its value map, dontcare left out",
            unit="turn", match="exact", typed=False, case="keep", values="set", scope="state", average="turn",
            norm="checkdst",
        ),
    )
}  # fmt: skip


def profile(text: str) -> Profile:
    """A profile by name, with rules changed where the text says so: `sgd`, `sgd+missing:skip+unit:turn`."""
    name, *changes = text.strip().split("+")
    if name not in PROFILES:
        raise UserError(f"no profile is called '{name}'", hint=near(name, PROFILES) or "known: " + ", ".join(PROFILES))
    rules: dict[str, str] = {}
    for change in changes:
        rule, _, value = change.partition(":")
        if rule not in OPTIONS:
            hint = near(rule, OPTIONS) or "rules that can be changed: " + ", ".join(OPTIONS)
            raise UserError(f"'{change}' changes no rule", hint=hint)
        rules[rule] = value
    return PROFILES[name].with_options(**rules)
