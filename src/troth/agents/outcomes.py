"""What came of a call, and where its result is not what an assistant says of it.

A result denies a claim by a failure or a refused status. It contradicts a claim if it has another value than the one
that was asked for and is claimed: `cabin: basic_economy`, after a call with `cabin: economy` and "you have been
upgraded to economy".
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import msgspec

from troth.agents.arithmetic import MONEY
from troth.agents.mentions import find_codes, find_mentions
from troth.agents.provenance import key_words, leaves
from troth.agents.sources import SPELT, decode_json, has_part, word_forms
from troth.agents.tools import has_failed, tool_words
from troth.core.trajectories import LocatedCall, Trajectory
from troth.text.facts import normalize_number
from troth.text.lexicon import word_set

STATUS = frozenset(("status", "state", "result", "outcome", "estado"))
OUTCOMES = frozenset(("target", "actual", "filled", "tickets", "count", "quantity"))  # keys of what a call came to
EXECUTED = frozenset(("executed", "performed", "done", "successful"))  # fields of a result that may be false
# "Transfer declined.", "Sorry, the transfer was rejected": the first sentence of a result in plain text.
_REFUSED = re.compile(
    r"[^.:;!?\n{\[]{0,60}\b(declined|rejected|denied|refused|could not|cannot|was not|exceeded|failed)\b(?!\s\w+:)",
    re.IGNORECASE,
)
_WAITING = re.compile(r"pending|awaiting|requires", re.IGNORECASE)
_LETTERS_OR_DIGITS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


class Attempt:
    """A call that may stand behind a claim: what it was asked to do, and what came of it."""

    def __init__(self, trial: Trajectory, located: LocatedCall) -> None:
        self.located, self.tool = located, located.call.tool
        self.result = "" if located.result is None else trial.messages[located.result].text
        self.failed = has_failed(trial, located)

    @cached_property
    def arguments(self) -> list[tuple[str, Any]]:
        return [(leaf.argument, leaf.value) for leaf in leaves(self.located.call.arguments, None)]

    @cached_property
    def text(self) -> str:
        """Arguments and result, in lower case."""
        return f"{msgspec.json.encode(self.located.call.arguments).decode()} {self.result}".lower()

    @cached_property
    def argument_words(self) -> frozenset[str]:
        return frozenset[str]().union(*(word_forms(str(value)) for _, value in self.arguments))

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The fields of a result that is a JSON object."""
        value = decode_json(self.result)
        return value if isinstance(value, dict) else {}

    @cached_property
    def refusal(self) -> str:
        """The status by which the result denies what was asked for; empty if there is none."""
        for key, value in self.fields.items():
            if key.lower() in STATUS and isinstance(value, str):
                status = value.lower().replace(" ", "_").replace("-", "_")
                if {status, status.partition("_")[0]} & word_set("refusals", "speech"):
                    return value
            if value is False and (key in EXECUTED or key.startswith(tuple(tool_words(self.tool)[:1]))):
                return f"{key}: false"  # "transferred": false of transfer_money
        text = None if self.fields else _REFUSED.match(self.result)
        return text[1] if text else ""

    def denies(self, verb: str) -> bool:
        """Whether the call failed or was refused. What waits for approval has still been requested."""
        is_asked = _WAITING.match(self.refusal) and verb in word_set("asking", "speech")
        return self.failed or bool(self.refusal and not is_asked)


def has_id(id: str, text: str) -> bool:
    """Whether a text has an identifier that is not a part of a longer one."""
    return has_part(text, id, _LETTERS_OR_DIGITS.__contains__)


def find_contradiction(clause: str, one: Attempt) -> str:
    """Why the result of a call is not what the clause of a claim says; empty if it may be."""
    said = _said_values(clause)
    for argument, value in one.arguments:
        if not _is_said(value, said, clause):
            continue
        for key, result in one.fields.items():
            if is_same_field(argument, key) and _differs(value, result):
                return f"the result has {key} = {result}"
    numbers = {number for number in _said_values(clause, money=False) if len(number) < 7}
    counts = {_write(value) for _, value in one.arguments if isinstance(value, int | float)}
    if (
        numbers
        and len(counts) == 1
        and numbers.isdisjoint(counts)
        and not any(has_id(number, one.text) for number in numbers)
    ) and all(
        len(number) < 3 or not number.isdecimal() or any(len(c) == len(number) for c in counts) for number in numbers
    ):
        return f"the call of {one.tool} has {', '.join(sorted(counts))}, not {', '.join(sorted(numbers))}"
    return ""


def _said_values(clause: str, *, money: bool = True) -> set[str]:
    """Numbers of a clause, in digits or in words; not those of codes, dates and durations."""
    spans = [(code.start, code.end) for code in find_codes(clause)]
    mentions = (
        m for m in find_mentions(clause) if m.kind == "number" and not any(a < m.end and m.start < b for a, b in spans)
    )
    numbers = {
        mention.value
        for mention in mentions
        if not _is_other_amount(mention.unit) and (money or mention.unit not in MONEY)
    }
    return numbers | {
        SPELT[word] for word in word_forms(clause) if word in SPELT and word not in ("one", "uno", "eins")
    }


def _is_other_amount(unit: str) -> bool:
    return unit in ("percent", "minute", "hour", "day", "week", "month", "year")


def _is_said(value: Any, said: set[str], clause: str) -> bool:
    if isinstance(value, str):
        return bool(value) and has_part(clause.lower(), value.lower())
    return _write(value) in said


def _write(value: float) -> str:
    return normalize_number(repr(value).lstrip("-")) if isinstance(value, int | float) else str(value)


def is_same_field(argument: str, key: str) -> bool:
    own, other = key_words(argument) - {"new", "id"}, key_words(key) - {"new", "id"}
    return bool(own and other) and (own <= other or other <= own or bool(other & OUTCOMES))


def _differs(value: Any, result: Any) -> bool:
    if isinstance(result, bool) or not isinstance(result, str | int | float):
        return False
    if isinstance(value, int | float) or isinstance(result, int | float):
        return isinstance(value, int | float) and isinstance(result, int | float) and float(value) != float(result)
    return value.lower() != result.lower() and value.lower() not in word_forms(
        result.replace("_", "-").replace("-", "")
    )
