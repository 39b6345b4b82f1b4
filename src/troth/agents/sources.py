"""What an assistant has seen: numbers, times, dates and words of every message, with the first message that has them.

Numbers are compared as numbers (`1,250.00` and 1250), times by the clock (`7:00 PM` and `19:00:00`), dates by day and
month (`May 20` and `2024-05-20`), words without case. A time
that does not say which half of the day it means may be either; one with seconds or a leading 0 is of 24 hours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from troth.core.text_cache import text_cache
from troth.core.trajectories import Trajectory
from troth.text.facts import SMALL, clock_readings, find_facts, normalize_number

MULTIPLES = frozenset(range(2, 11))
KINDS = {"tool": "tools", "user": "user", "system": "system", "assistant": "assistant"}  # role to kind of source

_DAY = re.compile(r"(?<=-)\d\d-\d\d$")
_DIGITS = re.compile(r"[$€£]?\d[\d,.]*\d|[$€£]?\d")
_WORD = re.compile(r"\w+", re.UNICODE)
SPELT = {word: str(number) for word, number in SMALL.items()}


class Mention(NamedTuple):
    """Something checkable in a text: its kind, its canonical form, and where it stands."""

    kind: str  # "time", "date", "number" or "word"
    value: str
    start: int
    end: int


@text_cache
def find_mentions(text: str) -> tuple[Mention, ...]:
    """Times, dates and numbers of a text; what is a time or a date is no number as well."""
    mentions: list[Mention] = []
    for fact in find_facts(text):
        written = text[fact.start : fact.end]
        if fact.kind == "time":
            mentions.append(Mention("time", fact.value, fact.start, fact.end))
        elif fact.kind == "date" and (day := _DAY.search(fact.value)):
            mentions.append(Mention("date", day[0], fact.start, fact.end))
        elif fact.unit != "ordinal" and (digits := _DIGITS.search(written)):
            value = fact.value.partition("-")[0] if fact.kind == "date" else fact.value
            if value.replace(".", "").isdecimal():
                mentions.append(Mention("number", value, fact.start, fact.start + digits.end()))
    return tuple(mentions)


@text_cache
def word_forms(text: str) -> frozenset[str]:
    """The words of a text, in lower case; of `gift_card_77` also its parts."""
    found = frozenset(_WORD.findall(text.lower()))
    return found.union(*(word.split("_") for word in found if "_" in word))


class Sources:
    """The first message, by its index, in which each number, time, date and word occurs, apart for each kind of source.

    Kinds are "tools" (results), "user", "system" and "assistant" (its answers; not its calls).
    """

    def __init__(self, trial: Trajectory) -> None:
        self.trial = trial
        self._lower = [message.text.lower() for message in trial.messages]
        self._first: dict[str, dict[tuple[str, str], int]] = {kind: {} for kind in KINDS.values()}
        for index, message in enumerate(trial.messages):
            first = self._first[KINDS[message.role]]
            for token in find_mentions(message.text):
                for key in _readings(token.kind, token.value):
                    first.setdefault(key, index)
            for word in word_forms(message.text):
                first.setdefault(("word", word), index)
                if word in SPELT or word.isdecimal():
                    first.setdefault(("number", SPELT.get(word) or normalize_number(word)), index)

    def find(self, kind: str, value: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` that holds a token, among some kinds of sources; None if none does."""
        indexes = [
            index
            for source in sources
            for key in _readings(kind, value)
            if (index := self._first[source].get(key)) is not None and index < before
        ]
        return min(indexes, default=None)

    def ending(self, digits: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` with a word that ends in these digits: the last four of a card."""
        held = (self._first[source].items() for source in sources)
        ends = (index for items in held for (kind, word), index in items if kind == "word" and word.endswith(digits))
        return min((index for index in ends if index < before), default=None)

    def text(self, text: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` that holds a text word for word, or all its words; None if none does."""
        allowed = {role for role, kind in KINDS.items() if kind in set(sources)}
        wanted = word_forms(text)
        for index, message in enumerate(self.trial.messages[:before]):
            if message.role not in allowed:
                continue
            if text.lower() in self._lower[index] or (len(wanted) > 1 and word_forms(message.text) >= wanted):
                return index
        return None


def is_derived(value: float, numbers: Iterable[float]) -> bool:
    """Whether a number is the sum or the difference of two others, or up to ten times one of them."""
    others = set(numbers) - {value}
    near = {round(other, 2) for other in others}
    return any(
        round(value - other, 2) in near or round(value + other, 2) in near or (other and value / other in MULTIPLES)
        for other in others
    )


def _readings(kind: str, value: str) -> list[tuple[str, str]]:
    """The keys of a token: two for a time that does not say which half of the day it means."""
    return [(kind, reading) for reading in (clock_readings(value) if kind == "time" else (value,))]
