"""Support of an assistant's answers: each number, time, date and name in them, and the message that it comes from.

An answer may rest on what the assistant had seen before it (`context`): results of tools and what was passed to them,
the user's words and the system's instructions. No model is asked. What follows from it is supported, too: sums, shares,
units, rounding (`troth.agents.arithmetic`), the city of an airport's code, an inflected name. A name is a code (letters
and digits, or capitals), or capitalised words that the conversation never writes in lower case; in German, which writes
every noun with a capital, only codes are checked.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from troth.agents.arithmetic import (
    MONEY,
    SMALL_NUMBER,
    Basis,
    count_days,
    date_follows,
    follows,
    time_follows,
    weekday_agrees,
)
from troth.agents.expansions import expansions, normalize_name
from troth.agents.mentions import Mention, calendar, find_codes, find_mentions
from troth.agents.sources import CALLS, SPELT, Amount, Sources, fold, word_forms
from troth.core.trajectories import Trajectory
from troth.text.lexicon import word_set

CONTEXT = ("tools", "user", "system")
MOST_CALCULATED = 100  # details of an answer that are looked for by arithmetic
ROUNDS = 3  # a number may be calculated from one that is calculated itself
# Capitals that are no names of anything in particular.
CAPITALS = frozenset((
    "EST", "EDT", "PST", "PDT", "CST", "CDT", "MST", "UTC", "GMT", "USD", "EUR", "GBP", "USA", "FAQ", "ASAP", "URL",
    "API", "PDF", "STOP", "YES", "NOT", "AND", "THE", "ETA", "VIP", "IVA", "MwSt", "IATA", "IBAN", "SMS", "PIN",
))  # fmt: skip
ENDINGS = ("s", "n", "e", "es", "en", "er", "in")
_UPPER = re.compile(r"\b[A-Z]{3,}\b")
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+"
_NAME = re.compile(rf"\b{_CAPITAL}(?:[ '-]{_CAPITAL})+\b|(?<=[a-zß-ÿ,] ){_CAPITAL}(?<=\w{{3}})\b")
_CODE_PART = re.compile(r"\w+")
_PART = re.compile(r"[^\W\d_]+")
_MARK = re.compile(r"(?:^|\n)\s*(?:[-*•]\s*)?\**$")
_LABEL = re.compile(
    r"(?:\b(?:option|step|number|no\.?|level|version|page|part|phase|zone|gate|terminal|room|nr\.?)|#)\s?$",
    re.IGNORECASE,
)
_TO = re.compile(r"\s?(?:-|–|to|bis|a|o|or|oder)\s?\d")
_IN_BRACKETS = re.compile(r" \(([A-Z]{2,3})\)")
_QUESTION = re.compile(r"(?:[^.!?\n]|\.(?!\s))*\?")
_HEADING = re.compile(r"(?:\s?\([^)\n]*\))?\*{0,2}:")
_ENDING = re.compile(r"(?:ending|ends|end) (?:in|with) \W*$", re.IGNORECASE)
# Before a weekday of the answer that names a day by itself. A weekday beside a date does not support the date.
_NEXT = re.compile(
    r"\b(?:next|this|coming|following|nächste[nrm]?|kommende[nrm]?|diese[nrm]?|próximo|este|siguiente)\s$",
    re.IGNORECASE,
)
_BESIDE = re.compile(r",?\s*(?:a |an |dem |den |der |el |the |, el )?(?:\()?")


class Detail(NamedTuple):
    """Something checkable in an answer, and the message that it rests on."""

    message: int
    start: int
    end: int
    text: str
    kind: str  # "number", "time" (times and dates) or "name"
    supported: bool
    source: int | None  # None: nothing supports it, or it is calculated


def find_details(trial: Trajectory, seen: Sources, context: Sequence[str] = CONTEXT) -> Iterator[Detail]:
    """Every number, time, date and name in the assistant's answers, in order."""
    sources = (*context, CALLS) if "tools" in context else tuple(context)
    for index, message in enumerate(trial.messages):
        if message.role == "assistant" and message.text:
            answer = AnswerCheck(index, message.text, seen, sources)
            yield from answer.quantities()
            yield from answer.codes()
            if not is_german(message.text):
                yield from answer.names()


def is_german(text: str) -> bool:
    """Whether a text has more small words of German than of English and Spanish."""
    words = word_forms(text)
    return len(words & word_set("german", "speech")) > len(words & word_set("other_languages", "speech"))


class AnswerCheck:
    """One answer, and what was seen before it."""

    def __init__(self, index: int, text: str, seen: Sources, sources: tuple[str, ...]) -> None:
        self.index, self.text, self.seen, self.sources = index, text, seen, sources
        self._codes = find_codes(text)

    def find(self, kind: str, value: str) -> int | None:
        return self.seen.find(kind, value, self.index, self.sources)

    # -- numbers, times and dates --------------------------------------------------------------------------------------

    def quantities(self) -> Iterator[Detail]:
        every = [mention for mention in find_mentions(self.text) if not self._is_in_code(mention.start, mention.end)]
        mentions = [mention for mention in every if mention.kind != "spelt"]
        origins = [self._find_mention(mention) for mention in mentions]
        supports = [source is not None or not self._is_checked(m) for m, source in zip(mentions, origins, strict=True)]
        for _ in range(ROUNDS):
            if all(supports):
                break
            basis = self._make_basis(mentions, supports)
            lacking = [position for position, supported in enumerate(supports) if not supported][:MOST_CALCULATED]
            derived = [position for position in lacking if self._follows(mentions[position], basis)]
            if not derived:
                break
            supports = [supported or position in derived for position, supported in enumerate(supports)]
        for position, mention in enumerate(mentions):
            supported = supports[position]
            if mention.kind == "weekday":
                supported = self._weekday_agrees(
                    mentions[max(0, position - 1) : position + 2], mention, named=supported
                )
            if mention.kind == "number" and not self._is_checked(mention):
                continue
            kind = "number" if mention.kind == "number" else "time"
            text, source = self.text[mention.start : mention.end], origins[position] if supported else None
            yield Detail(self.index, mention.start, mention.end, text, kind, supported, source)

    def _is_in_code(self, start: int, end: int) -> bool:
        index = bisect_left(self._codes, end, key=lambda code: code.start)
        return index > 0 and self._codes[index - 1].end > start

    def _find_mention(self, mention: Mention) -> int | None:
        if _ENDING.search(self.text[max(0, mention.start - 20) : mention.start]):
            return self.seen.ending(mention.value, self.index, self.sources)
        source = self.find(mention.kind, mention.value)
        if source is None and mention.kind == "time" and mention.value[3:5] == "00":
            source = self.seen.find("number", str(int(mention.value[:2])), self.index, ("user",))
        return source

    def _is_checked(self, mention: Mention) -> bool:
        """Whether a number must come from somewhere: no mark of a list, no number of an option, not 0 or 1."""
        if mention.kind != "number":
            return True
        before, after = self.text[max(0, mention.start - 20) : mention.start], self.text[mention.end : mention.end + 1]
        if _MARK.search(before) and after in (".", ")"):
            return False
        if float(mention.value) >= SMALL_NUMBER or "." in mention.value or mention.unit in MONEY:
            return True
        if float(mention.value) <= 1 and not (mention.unit and _TO.match(self.text, mention.end)):
            return False
        return after not in ("-", "/") and not _LABEL.search(before)

    def _make_basis(self, mentions: Sequence[Mention], supports: Sequence[bool]) -> Basis:
        shown = [m for m, supported in zip(mentions, supports, strict=True) if supported]
        spelt = [Amount(float(SPELT[word]), "", -1) for word in sorted(word_forms(self.text) & SPELT.keys())]
        spelt += (Amount(float(m.value), m.unit, -1) for m in find_mentions(self.text) if m.kind == "spelt")
        numbers = [Amount(float(m.value), m.unit, -1) for m in shown if m.kind == "number"]
        numbers += count_days([m for m in shown if m.kind == "date"])
        words = word_forms(self.text).union(
            *(word_forms(message.text) for message in self.seen.trial.messages[: self.index] if message.role == "user")
        )
        return Basis(
            self.text, numbers + spelt, self.seen.amounts(self.index, self.sources),
            self.seen.beside([code.text for code in self._codes], self.index),
            [*self.seen.moments("time", self.index, self.sources), *(m for m in shown if m.kind == "time")],
            [*self.seen.moments("date", self.index, self.sources), *(m for m in shown if m.kind == "date")], words,
        )  # fmt: skip

    def _follows(self, mention: Mention, basis: Basis) -> bool:
        if mention.kind == "time":
            return time_follows(mention, basis)
        if mention.kind == "date":
            own = [m for m in find_mentions(self.text) if m.kind == "weekday" and _NEXT.search(self.text[: m.start])]
            named = (*self.seen.moments("weekday", self.index, self.sources), *own)
            return date_follows(mention, basis, {int(m.value) for m in named})
        if mention.kind == "weekday":
            return False
        is_count = not mention.unit and mention.value.isdecimal() and float(mention.value) < SMALL_NUMBER
        if is_count and float(mention.value) <= max(self.seen.longest(self.index), _count_items(self.text)):
            return True
        decimals = len(self.text[mention.start : mention.end].replace(",", ".").partition(".")[2])
        return follows(mention, decimals if "." in mention.value or decimals < 3 else 0, basis)

    def _weekday_agrees(self, beside: Sequence[Mention], weekday: Mention, *, named: bool) -> bool:
        """Whether a weekday is that of the date beside it; without one, whether it was named or is a known date's."""
        dates = self.seen.moments("date", self.index, self.sources)
        for mention in beside:
            gaps = ((weekday.end, mention.start), (mention.end, weekday.start))
            if mention.kind == "date" and any(_BESIDE.fullmatch(self.text, *gap) for gap in gaps):
                return weekday_agrees(int(weekday.value), mention, dates)
        return named or weekday_agrees(int(weekday.value), None, dates)

    # -- codes and names -----------------------------------------------------------------------------------------------

    def codes(self) -> Iterator[Detail]:
        for code in self._codes:
            yield self._detail(code.start, code.end, self._find_code(code.text))
        for match in _UPPER.finditer(self.text):
            if match[0] in CAPITALS or self._is_asked(*match.span()) or self._is_in_code(*match.span()):
                continue
            source = self.find("word", match[0].lower())
            yield self._detail(match.start(), match.end(), self._find_expansion(match[0]) if source is None else source)

    def _find_code(self, code: str) -> int | None:
        """The last of the messages in which the parts of a code are first seen."""
        sources = [self.find("word", part) for part in _CODE_PART.findall(code.lower())]
        known = [source for source in sources if source is not None]
        return max(known) if known and len(known) == len(sources) else None

    def _find_expansion(self, code: str) -> int | None:
        """The message that has a name for which a code stands."""
        for name in expansions().names.get(code, ()):
            sources = [self.find("word", word) for word in name.split()]
            if None not in sources:
                return max(source for source in sources if source is not None)
        return None

    def names(self) -> Iterator[Detail]:
        months, weekdays = calendar()
        common = (word_set("headings"), word_set("sentence_openers"))
        for match in _NAME.finditer(self.text):
            parts = [part.lower() for part in _PART.findall(match[0])]
            words = [
                word for word in parts
                if word not in months and word not in weekdays
                and all({word, word.removesuffix("s")}.isdisjoint(words) for words in common)
                and {word, word.removesuffix("s")}.isdisjoint(self.seen.lower_words)
            ]  # fmt: skip
            if not words or _HEADING.match(self.text, match.end()) or self._is_asked(match.start(), match.end()):
                continue
            sources = {word: self._find_word(word) for word in words}
            if None in sources.values():
                sources |= self._find_codes_of(parts)
                code = _IN_BRACKETS.match(self.text, match.end())
                if code and (source := self.find("code", code[1])) is not None:  # "Detroit Metropolitan Airport (DTW)"
                    sources = {code[1]: source}
            known = [source for source in sources.values() if source is not None]
            yield self._detail(match.start(), match.end(), max(known) if len(known) == len(sources) else None)

    def _is_asked(self, start: int, end: int) -> bool:
        """Whether a name stands in a question or a heading, which state nothing."""
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        return line.lstrip().startswith("#") or _QUESTION.match(self.text, end) is not None

    def _find_word(self, word: str) -> int | None:
        """The message with a word, or with another form of it."""
        for form in _forms(fold(word)):
            if (source := self.find("word", form)) is not None:
                return source
        return None

    def _find_codes_of(self, parts: Sequence[str]) -> dict[str, int]:
        """Words of a name that are those of a place or a currency whose code was seen, with its message."""
        codes = expansions().codes
        known: dict[str, int] = {}
        for start in range(len(parts)):
            for end in range(start + 1, min(start + 4, len(parts)) + 1):
                for code in codes.get(normalize_name(" ".join(parts[start:end])), ()):
                    if (source := self.find("code", code)) is not None:
                        known |= dict.fromkeys(parts[start:end], source)
        return known

    def _detail(self, start: int, end: int, source: int | None) -> Detail:
        return Detail(self.index, start, end, self.text[start:end], "name", source is not None, source)


def _count_items(text: str) -> int:
    """The number of items in the lists of an answer."""
    return len(re.findall(r"(?:^|\n)\s*(?:[-*•]|\d+[.)])\s", text))


def _forms(word: str) -> Iterator[str]:
    """A word with and without the usual endings."""
    yield word
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            yield word.removesuffix(ending)
        yield word + ending
