"""What an assistant has seen: numbers, times, dates and words of every message, with the first message that has them.

Numbers are compared as numbers (`1,250.00` and 1250), times by the clock (`7:00 PM` and `19:00:00`), dates by day and
month (`May 20` and `2024-05-20`), words without case. A time
that does not say which half of the day it means may be either; one with seconds or a leading 0 is of 24 hours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from troth.core.trajectories import Trajectory

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip
SPELT = {word: str(number) for number, word in enumerate(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"))
}  # fmt: skip
MULTIPLES = frozenset(range(2, 11))
KINDS = {"tool": "tools", "user": "user", "system": "system", "assistant": "assistant"}  # role to kind of source

_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
# One pass over a text; of two readings that begin at the same character the earlier one here is taken.
_TOKEN = re.compile(
    "|".join((
        r"(?P<iso>(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d))",
        rf"(?P<day>\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}}\b)?)",
        rf"(?P<day_first>(?<![\w.])(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b(?:,?\s+\d{{4}}\b)?)",
        r"(?P<slashed>(?<![\d/])(\d{1,2})/(\d{1,2})(?:/\d{2,4})?(?![\d/]))",
        r"(?P<time>(?<![\d:])(\d{1,2}):(\d{2})(:\d{2})?(?:\s*([ap])\.?\s?m\b\.?)?(?!\d))",
        r"(?P<hour>(?<![\w:.])(\d{1,2})\s*([ap])\.?m\b\.?)",
        r"(?P<number>(?<![\w.,])[$€£]?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?!\w)(?!\.\d))",
    )),
    re.IGNORECASE,
)  # fmt: skip
_WORD = re.compile(r"\w+", re.UNICODE)
REMEMBERED = 1 << 13  # texts: a system's instructions and the results of tools repeat from trial to trial


class Token(NamedTuple):
    """Something checkable in a text: its kind, its canonical form, and where it stands."""

    kind: str  # "time", "date", "number" or "word"
    value: str
    start: int
    end: int


@lru_cache(maxsize=REMEMBERED)
def tokens(text: str) -> tuple[Token, ...]:
    """Times, dates and numbers of a text; what is a time or a date is no number as well."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        name = match.lastgroup or ""
        at = _TOKEN.groupindex[name]
        token = _READ[name](*(match[at + place] for place in range(1, _INNER[name] + 1)))
        if token is not None:
            found.append(Token(*token, match.start(), match.end()))
    return tuple(found)


@lru_cache(maxsize=REMEMBERED)
def words(text: str) -> frozenset[str]:
    """The words of a text, in lower case; of `gift_card_77` also its parts."""
    found = frozenset(_WORD.findall(text.lower()))
    return found.union(*(word.split("_") for word in found if "_" in word))


def number(text: str) -> str:
    """A number in its shortest form: `1,250.00` is `1250`."""
    whole, _, rest = text.replace(",", "").partition(".")
    rest = rest.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{rest}" if rest else "")


def _date(month: int, day: int) -> tuple[str, str] | None:
    return ("date", f"{month:02}-{day:02}") if 1 <= month <= 12 and 1 <= day <= 31 else None


def _month(name: str) -> int:
    return next(place for place, month in enumerate(MONTHS, 1) if month.startswith(name.lower()[:3]))


def _clock(hour: int, minute: int, half: str | None, exact: bool) -> tuple[str, str] | None:
    """`07:00a` or `07:00p`; `07:00` for a time that does not say which. `exact`: written as a 24-hour clock."""
    if hour > 24 or minute > 59:
        return None
    if half is None and (exact or hour > 12 or hour == 0):
        hour, half = hour % 12 or 12, "p" if 12 <= hour < 24 else "a"
    return "time", f"{hour:02}:{minute:02}{(half or '').lower()}"


_READ: dict[str, Callable[..., tuple[str, str] | None]] = {
    "iso": lambda _, month, day: _date(int(month), int(day)),
    "day": lambda month, day: _date(_month(month), int(day)),
    "day_first": lambda day, month: _date(_month(month), int(day)),
    "slashed": lambda month, day: _date(int(month), int(day)),
    "time": lambda hour, minute, seconds, half: _clock(
        int(hour), int(minute), half, seconds is not None or hour.startswith("0")
    ),
    "hour": lambda hour, half: _clock(int(hour), 0, half, False),
    "number": lambda whole, rest: ("number", number(whole + (rest or ""))),
}
_INNER = {"iso": 3, "day": 2, "day_first": 2, "slashed": 2, "time": 4, "hour": 2, "number": 2}


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
            for token in tokens(message.text):
                for key in _readings(token.kind, token.value):
                    first.setdefault(key, index)
            for word in words(message.text):
                first.setdefault(("word", word), index)
                if word in SPELT or word.isdecimal():
                    first.setdefault(("number", SPELT.get(word) or number(word)), index)

    def find(self, kind: str, value: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` that holds a token, among some kinds of sources; None if none does."""
        places = [
            place
            for source in sources
            for key in _readings(kind, value)
            if (place := self._first[source].get(key)) is not None and place < before
        ]
        return min(places, default=None)

    def ending(self, digits: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` with a word that ends in these digits: the last four of a card."""
        held = (self._first[source].items() for source in sources)
        ends = (place for one in held for (kind, word), place in one if kind == "word" and word.endswith(digits))
        return min((place for place in ends if place < before), default=None)

    def text(self, text: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` that holds a text word for word, or all its words; None if none does."""
        allowed = {role for role, kind in KINDS.items() if kind in set(sources)}
        wanted = words(text)
        for index, message in enumerate(self.trial.messages[:before]):
            if message.role not in allowed:
                continue
            if text.lower() in self._lower[index] or (len(wanted) > 1 and words(message.text) >= wanted):
                return index
        return None


def is_derived(value: float, numbers: Iterable[float]) -> bool:
    """Whether a number is the sum or the difference of two others, or up to ten times one of them."""
    others = set(numbers) - {value}
    near = {round(one, 2) for one in others}
    return any(
        round(value - one, 2) in near or round(value + one, 2) in near or (one and value / one in MULTIPLES)
        for one in others
    )


def _readings(kind: str, value: str) -> list[tuple[str, str]]:
    """The keys of a token: two for a time that does not say which half of the day it means."""
    if kind == "time" and value[-1].isdigit():
        return [(kind, f"{value}a"), (kind, f"{value}p")]
    return [(kind, value)]
