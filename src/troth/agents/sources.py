"""What an assistant has seen: numbers, times, dates and words of every message, with the first message that has them.

Seen are results of tools, the user's words, the system's instructions, and what the assistant itself passed to tools.
Words are compared without case and accents. Of results in JSON, numbers have the unit that their key names
(`duration_minutes`), and the lengths of lists are counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, cached_property
from typing import Any, NamedTuple

import msgspec

from troth.agents.mentions import Mention, calendar, find_mentions
from troth.core.decode import is_too_deep
from troth.core.text_cache import text_cache
from troth.core.trajectories import Trajectory
from troth.text.facts import SMALL, clock_readings, find_facts, normalize_number
from troth.text.identifiers import split_identifier
from troth.text.lexicon import load_table

KINDS = {"tool": "tools", "user": "user", "system": "system"}  # role to kind of source
CALLS = "calls"  # what the assistant passed to tools
LONGEST_COUNTED = 12  # numbers in a message from which others are calculated without being named again

_NUMBER = (int, float)
_WORD = re.compile(r"\w+", re.UNICODE)
_DIGIT = re.compile(r"\d")
_LOWER = re.compile(r"\b[a-zß-öø-ÿ]{2,}\b")
_CAPITALS = re.compile(r"\b[A-Z]{2,3}\b")
_DE = ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")
_ES = ("uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez")
SPELT = {word: str(number) for word, number in SMALL.items()} | {
    word: str(number) for words in (_DE, _ES) for number, word in enumerate(words, 1)
}
KEY_UNITS = {
    "pct": "percent",
    "percentage": "percent",
    "c": "celsius",
    "f": "fahrenheit",
    "cents": "cent",
    "bytes": "byte",
}


class Amount(NamedTuple):
    """A number that was seen."""

    value: float
    unit: str
    message: int


class TextContent(NamedTuple):
    """What one text holds. `lengths`: of its lists and objects, where it is JSON."""

    mentions: tuple[Mention, ...]
    words: frozenset[str]
    numbers: tuple[tuple[str, bool], ...]  # among the words, with whether they are spelt out
    codes: frozenset[str]  # two or three capitals
    lengths: frozenset[int]


@text_cache
def word_forms(text: str) -> frozenset[str]:
    """The words of a text, in lower case; of `gift_card_77` also its parts, of `Málaga` also `malaga`."""
    lower = text.lower()
    words = frozenset(_WORD.findall(lower))
    if "_" in lower:
        words = words.union(*(word.split("_") for word in words if "_" in word))
    return words if text.isascii() else words.union(map(fold, words))


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def has_part(text: str, part: str, is_letter: Callable[[str], bool] = _is_of_word, *, before: bool = True) -> bool:
    """Whether a text has a part that is not inside a longer word: no letter stands after it, and none `before` it.

    A pattern would have to be compiled for each part.
    """
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        is_inside = before and start > 0 and is_letter(text[start - 1])
        if not is_inside and not (end < len(text) and is_letter(text[end])):
            return True
        start = text.find(part, start + 1)
    return False


def fold(word: str) -> str:
    """A word without accents."""
    return (
        word
        if word.isascii()
        else "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    )


@text_cache
def read_content(text: str) -> TextContent:
    """The mentions and words of a text; numbers of JSON with the units that their keys name."""
    value = decode_json(text)
    if value is None:
        return _make_content(find_mentions(text), text, ())
    return read_value(value, text)


def read_value(value: Any, text: str) -> TextContent:
    """The mentions and words of a JSON value; `text`: the same as text."""
    leaves = Leaves([], [], set())
    _walk(value, "", leaves)
    mentions = (*leaves.numbers, *find_mentions("\n".join(leaves.texts)))
    return _make_content(mentions, text, leaves.lengths)


def _make_content(mentions: tuple[Mention, ...], text: str, lengths: Iterable[int]) -> TextContent:
    words = word_forms(text)
    long = {word for word in words if word.isdecimal() and len(word) > 2}
    numbers = [
        (SPELT.get(word) or normalize_number(word), word in SPELT) for word in sorted(long | (words & SPELT.keys()))
    ]
    return TextContent(mentions, words, tuple(numbers), frozenset(_CAPITALS.findall(text)), frozenset(lengths))


@text_cache
def decode_json(text: str) -> Any:
    """The value of a text that is a JSON object or list; None if it is not."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if is_too_deep(value) else value


class Leaves(NamedTuple):
    """What a JSON value holds."""

    numbers: list[Mention]
    texts: list[str]
    lengths: set[int]


def _walk(value: Any, unit: str, leaves: Leaves) -> None:
    if isinstance(value, str):
        if " " in value or _DIGIT.search(value) or value.lower() in calendar().weekdays:
            leaves.texts.append(value)
    elif isinstance(value, dict):
        if all(isinstance(inner, dict) for inner in value.values()):
            leaves.lengths.add(len(value))
        for key, inner in value.items():
            if _DIGIT.search(str(key)):
                leaves.texts.append(str(key))
            _walk(inner, unit_of_key(str(key)), leaves)
    elif isinstance(value, list):
        leaves.lengths.add(len(value))
        for inner in value:
            _walk(inner, unit, leaves)
    elif isinstance(value, _NUMBER) and not isinstance(value, bool):
        leaves.numbers.append(Mention("number", write_number(value), 0, 0, unit))


@text_cache
def read_objects(text: str) -> tuple[tuple[frozenset[str], tuple[tuple[float, str], ...]], ...]:
    """Texts without spaces and numbers of each JSON object of a result; of objects inside it only the numbers."""
    objects = []
    for record in walk_objects(decode_json(text)):
        numbers = [
            (float(abs(value)), unit_of_key(key))
            for fields in (record, *(inner for inner in record.values() if isinstance(inner, dict)))
            for key, value in fields.items()
            if isinstance(value, _NUMBER) and not isinstance(value, bool)
        ]
        ids = frozenset(value.lower() for value in record.values() if isinstance(value, str) and " " not in value)
        if ids and 0 < len(numbers) <= LONGEST_COUNTED:
            objects.append((ids, tuple(numbers)))
    return tuple(objects)


def walk_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk_objects(inner)


def write_number(value: float) -> str:
    """A number of JSON in the normal form of texts, without its sign."""
    return normalize_number(f"{abs(value):.10f}" if isinstance(value, float) else str(abs(value)))


@cache
def unit_of_key(key: str) -> str:
    """The unit that the name of a field says: `minute` for `duration_minutes`."""
    for word in reversed(split_identifier(key)[-2:]):
        if (name := KEY_UNITS.get(word.lower()) or load_table("calendar")["units"].get(word.lower())) is not None:
            return str(name)
        facts = find_facts(f"7 {word}")
        if facts and facts[0].end == len(word) + 2:
            return facts[0].unit
    return ""


class Sources:
    """The first message, by its index, in which each number, time, date and word occurs, apart for each kind of source.

    Kinds are "tools" (results), "user", "system" and "calls" (arguments). The assistant's own words are no source.
    """

    def __init__(self, trial: Trajectory) -> None:
        self.trial = trial
        self._first: dict[str, dict[tuple[str, str], int]] = {kind: {} for kind in (*KINDS.values(), CALLS)}
        self._words: dict[str, dict[str, int]] = {kind: {} for kind in self._first}
        self._amounts: dict[str, list[Amount]] = {kind: [] for kind in self._first}
        self._dates: dict[str, list[tuple[Mention, int]]] = {kind: [] for kind in self._first}
        self._lengths: list[tuple[int, int]] = []
        self._objects: list[tuple[int, frozenset[str], tuple[tuple[float, str], ...]]] | None = None
        for index, message in enumerate(trial.messages):
            if message.text and message.role != "assistant":
                self._add(KINDS[message.role], read_content(message.text), index)
            elif decode_json(message.text) is not None:
                self._lengths += ((length, index) for length in read_content(message.text).lengths)
            for call in message.calls:
                written = msgspec.json.encode(call.arguments).decode()
                self._add(CALLS, read_value(call.arguments, written), index)

    @cached_property
    def lower_words(self) -> frozenset[str]:
        """The words that any message writes in lower case."""
        return frozenset[str]().union(*(_LOWER.findall(message.text) for message in self.trial.messages))

    def _add(self, kind: str, content: TextContent, index: int) -> None:
        first = self._first[kind]
        amounts = self._amounts[kind]
        for mention in content.mentions:
            if mention.kind in ("number", "spelt"):
                first.setdefault(("number", mention.value), index)
                amounts.append(Amount(float(mention.value), mention.unit, index))
                continue
            for key in _readings(mention.kind, mention.value):
                first.setdefault(key, index)
            self._dates[kind].append((mention, index))
        words = self._words[kind]
        words.update(dict.fromkeys(content.words - words.keys(), index))
        for number, is_spelt in content.numbers:
            if first.setdefault(("number", number), index) == index and is_spelt:
                amounts.append(Amount(float(number), "", index))
        for code in content.codes:
            first.setdefault(("code", code), index)
        self._lengths += ((length, index) for length in content.lengths)

    def find(self, kind: str, value: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` that holds a token, among some kinds of sources; None if none does."""
        if kind == "word":
            places = [
                place
                for source in sources
                if (place := self._words[source].get(value)) is not None and place < before + (source == CALLS)
            ]
            return min(places, default=None)
        keys = _readings(kind, value)
        best: int | None = None
        for source in sources:
            limit = before + (source == CALLS)  # the calls of an answer are known when it is written
            for key in keys:
                index = self._first[source].get(key)
                if index is not None and index < limit and (best is None or index < best):
                    best = index
        return best

    def amounts(self, before: int, sources: Iterable[str]) -> list[Amount]:
        """The numbers seen before a message."""
        return [
            amount
            for source in sources
            for amount in self._amounts[source]
            if amount.message < before + (source == CALLS)
        ]

    def moments(self, kind: str, before: int, sources: Iterable[str]) -> list[Mention]:
        """The times, dates or weekdays seen before a message."""
        return [
            mention
            for source in sources
            for mention, index in self._dates[source]
            if mention.kind == kind and index < before + (source == CALLS)
        ]

    def beside(self, codes: Collection[str], before: int) -> list[Amount]:
        """The numbers of the objects in results that hold one of these codes: the price of a flight that is named."""
        if self._objects is None:
            self._objects = [
                (index, ids, numbers)
                for index, message in enumerate(self.trial.messages)
                if message.role == "tool"
                for ids, numbers in read_objects(message.text)
            ]
        wanted = {code.lower() for code in codes}
        return [
            Amount(value, unit, index)
            for index, ids, numbers in self._objects
            if index < before and not ids.isdisjoint(wanted)
            for value, unit in numbers
        ]

    def longest(self, before: int) -> int:
        """The length of the longest list in a result before a message."""
        return max((length for length, index in self._lengths if index < before), default=0)

    def ending(self, digits: str, before: int, sources: Iterable[str]) -> int | None:
        """The first message before `before` with a word that ends in these digits: the last four of a card."""
        held = (self._words[source].items() for source in sources)
        ends = (index for items in held for word, index in items if word.endswith(digits))
        return min((index for index in ends if index < before), default=None)

    def text(self, text: str, before: int, sources: Collection[str]) -> int | None:
        """The first message before `before` that holds a text word for word, or all its words; None if none does."""
        wanted = word_forms(text)
        if any(self.find("word", word, before, sources) is None for word in wanted):
            return None
        for index, message in enumerate(self.trial.messages[:before]):
            if KINDS.get(message.role) in sources and word_forms(message.text) >= wanted:
                return index
        return None


def _readings(kind: str, value: str) -> list[tuple[str, str]]:
    """The keys of a token: two for a time that does not say which half of the day it means."""
    return [(kind, reading) for reading in (clock_readings(value) if kind == "time" else (value,))]
