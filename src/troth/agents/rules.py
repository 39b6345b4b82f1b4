"""Named rules of matching: when calls are the calls that gold expects.

Benchmarks differ in a handful of choices, so the same calls score differently under each. A rule is those choices by
name: every score says by which it was made, and any two can be compared choice by choice (`troth agent explain`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from troth.core.errors import UserError, suggest_name
from troth.core.options import check_choice
from troth.core.registry import Registry


def _choice(default: str, about: str, *choices: str) -> Any:
    return field(default=default, metadata={"about": about, "choices": choices})


@dataclass(frozen=True)
class MatchingRule:
    """A recipe for matching calls. Every field affects scores and is part of their signature."""

    name: str = field(metadata={"rule": "rule", "always": True})
    summary: str = field(metadata={"silent": True})
    values: str = _choice(
        "json", "when two values are equal: as JSON (1 is 1.0, true is not 1), as Python prints them (1 is not 1.0), "
        "or as BFCL's checker has it (types of the schema, texts without case, spaces and some punctuation)",
        "json", "printed", "bfcl",
    )  # fmt: skip
    lists: str = _choice("kept", "the order of values inside lists: must be kept, or any", "kept", "any")
    schema: str = _choice(
        "free", "whether an argument that the tool's schema does not have, or lacks, makes a call wrong",
        "free", "checked",
    )  # fmt: skip
    calls: str = _choice("all", "which calls count: all, or only those that change something", "all", "writing")
    failed: str = _choice("counted", "calls whose result is an error: counted, or left out", "counted", "dropped")
    extra: str = _choice("wrong", "calls beyond gold's: wrong, or allowed", "wrong", "allowed")
    order: str = _choice("kept", "the order of gold's calls: must be kept, or any", "kept", "any")
    outputs: str = _choice("free", "texts that gold expects in the answers: not asked for, or needed", "free", "needed")

    def base(self) -> MatchingRule:
        """What the name stands for: the signature gives the name, and each choice that differs from this."""
        return RULES.load(self.name) if self.name in RULES.own else MatchingRule(self.name, self.summary)

    def with_choices(self, **choices: str) -> MatchingRule:
        """The same rule with some choices changed."""
        for name, value in choices.items():
            if name not in CHOICES:
                hint = suggest_name(name, CHOICES) or "choices: " + ", ".join(CHOICES)
                raise UserError(f"'{name}' is not a choice of a matching rule", hint=hint)
            check_choice(name, value, CHOICES[name])
        return replace(self, **choices)


CHOICES: dict[str, tuple[str, ...]] = {
    one.name: one.metadata["choices"] for one in fields(MatchingRule) if "choices" in one.metadata
}
ABOUT: dict[str, str] = {one.name: one.metadata["about"] for one in fields(MatchingRule) if one.name in CHOICES}
# The order in which `explain` changes one choice after the other: those that act on single values first.
ORDER = ("values", "lists", "schema", "order", "failed", "calls", "extra", "outputs")

RULES: Registry[MatchingRule] = Registry(
    "matching rule",
    "troth.matching_rules",
    {
        rule.name: rule
        for rule in (
            MatchingRule("exact", "the same calls in the same order, with the same arguments"),
            MatchingRule(
                "bfcl", "BFCL's checker: accepted values, loose texts, typed by the schema, any order",
                values="bfcl", schema="checked", order="any",
            ),
            MatchingRule(
                "tau", "τ-bench: the calls that change something, in any order, and the expected outputs",
                values="printed", calls="writing", failed="dropped", order="any", outputs="needed",
            ),
        )
    },
)  # fmt: skip


def find_rule(text: str | MatchingRule) -> MatchingRule:
    """A rule by name, with choices changed where the text says so: `exact`, `tau+calls:all`."""
    if isinstance(text, MatchingRule):
        return text
    name, *changes = text.strip().split("+")
    return RULES.load(name).with_choices(**dict(change.partition(":")[::2] for change in changes))
