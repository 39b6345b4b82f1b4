"""Where the arguments of calls come from: values that nobody said and no result held.

Checked are identifiers, e-mail addresses, dates, times, names and numbers, also inside objects and lists. A value has a
source if the user said it, or it stood in a result or in the system's instructions before the call; if it follows from
them by arithmetic (`troth.agents.arithmetic`); if it is the code of a place that was named; or if it is a number of
four digits or more that was named, behind a prefix (`LC-46003`). The assistant's own words are no source. Of calls that
only read, identifiers and dates are checked: an invented id of a customer shows somebody else's data; the words of a
search are the assistant's to choose. Not checked: choices from a closed list, truth values, numbers below 10, words in
lower case, and texts that the assistant writes (titles, notes, more than six words).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from troth.agents.arithmetic import Basis, date_follows, follows, time_follows
from troth.agents.expansions import expansions
from troth.agents.mentions import Mention, find_codes, find_mentions
from troth.agents.sources import CALLS, Amount, Sources, word_forms, write_number
from troth.core.trajectories import Call, LocatedCall, Tool
from troth.text.identifiers import split_identifier
from troth.text.lexicon import word_set

SOURCES = ("tools", "user", "system")
LONGEST = 6  # words
_PLAIN = (str, int, float)
SMALLEST = 10.0
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PREFIXED = re.compile(r"[A-Za-z]{1,5}[-_#]?(\d{4,})")  # `LC-46003`, which a customer may call 46003
_CAPITALISED = re.compile(r"[A-ZÀ-ÖØ-Þ]")


class Unsourced(NamedTuple):
    """A value of a call's argument that has no source."""

    argument: str  # dotted: `passengers.0.dob`
    value: str


class Leaf(NamedTuple):
    """A text or a number somewhere in the arguments, and its part of the tool's schema."""

    argument: str
    value: Any
    schema: Any


def leaves(value: Any, schema: Any, path: str = "") -> Iterator[Leaf]:
    """Every text and number in the arguments of a call."""
    if isinstance(value, dict):
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for key, inner in value.items():
            yield from leaves(inner, (properties or {}).get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        items = schema.get("items") if isinstance(schema, dict) else None
        for index, inner in enumerate(value):
            yield from leaves(inner, items, f"{path}.{index}")
    elif isinstance(value, _PLAIN) and not isinstance(value, bool):
        yield Leaf(path, value, schema)


def is_checked(leaf: Leaf, *, writes: bool = True) -> bool:
    """Whether a value is one that must come from somewhere."""
    schema = leaf.schema if isinstance(leaf.schema, dict) else {}
    if "enum" in schema or "const" in schema:
        return False
    key = key_words(leaf.argument)
    if not isinstance(leaf.value, str):
        return abs(leaf.value) >= SMALLEST and (writes or not key.isdisjoint(word_set("naming_arguments", "speech")))
    text = leaf.value.strip()
    if not text or len(text.split()) > LONGEST or not key.isdisjoint(word_set("written_arguments", "speech")):
        return False
    if is_identifier(text) or any(mention.kind in ("date", "time") for mention in find_mentions(text)):
        return True
    return writes and _CAPITALISED.match(text) is not None


@lru_cache(maxsize=4096)
def key_words(argument: str) -> frozenset[str]:
    """The words of the last name in the path of an argument."""
    return frozenset(word.lower() for word in split_identifier(re.sub(r"\.\d+", "", argument).rpartition(".")[2]))


def is_identifier(text: str) -> bool:
    """Whether a text is an e-mail address, a code, or digits only."""
    if _MAIL.fullmatch(text) or (text.isdecimal() and len(text) > 1):
        return True
    codes = find_codes(text)
    return bool(codes) and codes[0].end - codes[0].start == len(text)


def check_values(
    numbered: LocatedCall, seen: Sources, tool: Tool | None, *, writes: bool = True
) -> tuple[int, tuple[Unsourced, ...]]:
    """How many values of a call are checked, and those that nobody said and no result held before it."""
    schema = None if tool is None else tool.parameters
    checked = [leaf for leaf in leaves(numbered.call.arguments, schema) if is_checked(leaf, writes=writes)]
    lacking = (leaf for leaf in checked if not has_source(leaf.value, seen, numbered.message, numbered.call))
    return len(checked), tuple(Unsourced(leaf.argument, str(leaf.value)) for leaf in lacking)


def has_source(value: Any, seen: Sources, before: int, call: Call | None = None) -> bool:
    """Whether a value was said or stood in a result before a message, or follows from what did."""
    if not isinstance(value, str):
        mention = Mention("number", write_number(value), 0, 0)
        if seen.find("number", mention.value, before, SOURCES) is not None:
            return True
        basis = _make_basis(seen, before, call)
        parts = [mention, *(_add(mention, other.value) for other in basis.shown)]  # a total that is paid in parts
        return any(follows(part, len(part.value.partition(".")[2]), basis) for part in parts)
    if seen.text(value, before, SOURCES) is not None or _is_code_of_place(value, seen, before):
        return True
    mentions = find_mentions(value)
    if moments := [mention for mention in mentions if mention.kind in ("date", "time")]:
        return all(_moment_has_source(mention, seen, before, call) for mention in moments)
    if is_identifier(value):
        prefixed = _PREFIXED.fullmatch(value)
        return prefixed is not None and seen.find("word", prefixed[1], before, SOURCES) is not None
    return all(seen.find("word", word, before, SOURCES) is not None for word in word_forms(value))


def _make_basis(seen: Sources, before: int, call: Call | None = None) -> Basis:
    words = (word_forms(message.text) for message in seen.trial.messages[:before] if message.role == "user")
    times, dates = (
        # `before - 1`: the calls of a message are no source of each other's values
        seen.moments(kind, before, SOURCES) + seen.moments(kind, before - 1, (CALLS,))
        for kind in ("time", "date")
    )
    beside: list[Amount] = []
    counts: list[Amount] = []
    if call is not None:
        values = [leaf.value for leaf in leaves(call.arguments, None)]
        beside = seen.beside([value for value in values if isinstance(value, str)], before)
        lists = [float(len(value)) for value in call.arguments.values() if isinstance(value, list)]
        numbers = [float(abs(value)) for value in values if not isinstance(value, str)]
        sourced = [
            number for number in numbers if seen.find("number", write_number(number), before, SOURCES) is not None
        ]
        counts = [Amount(count, "", -1) for count in (*lists, *sourced)]
    amounts, said = seen.amounts(before, SOURCES), frozenset[str]().union(*words)
    return Basis("total", counts, amounts, beside, times, dates, said)


def _moment_has_source(mention: Mention, seen: Sources, before: int, call: Call | None) -> bool:
    """Whether a day or a time was named, or follows, also from another one of the call that has a source itself."""
    basis = _make_basis(seen, before)
    if _moment_follows(mention, seen, before, basis):
        return True
    texts = [leaf.value for leaf in leaves(call.arguments, None) if isinstance(leaf.value, str)] if call else []
    others = [
        other
        for text in texts
        for other in find_mentions(text)
        if other.kind == mention.kind and other.value != mention.value and _moment_follows(other, seen, before, basis)
    ]
    if not others:
        return False
    if mention.kind == "date":
        return _moment_follows(mention, seen, before, replace(basis, dates=[*basis.dates, *others]))
    return _moment_follows(mention, seen, before, replace(basis, times=[*basis.times, *others]))


def _moment_follows(mention: Mention, seen: Sources, before: int, basis: Basis) -> bool:
    """Whether a day or a time was named, or follows; where no day is known, "tomorrow" may be any."""
    if seen.find(mention.kind, mention.value, before, SOURCES) is not None:
        return True
    if mention.kind == "time":
        hours = {str(int(mention.value[:2])), str(int(mention.value[:2]) % 12 + 12)}
        named = mention.value[3:5] == "00" and any(
            seen.find("number", hour, before, ("user",)) is not None for hour in hours
        )
        return named or time_follows(mention, basis)
    if not basis.dates:
        return not word_set("relative_days", "speech").isdisjoint(basis.words)
    weekdays = {int(one.value) for one in seen.moments("weekday", before, SOURCES)}
    return date_follows(mention, basis, weekdays)


def _add(mention: Mention, value: float) -> Mention:
    return mention._replace(value=write_number(round(float(mention.value) + value, 2)))


def _is_code_of_place(value: str, seen: Sources, before: int) -> bool:
    """Whether a value is the code of something whose name was said (`JFK` of New York)."""
    return any(
        all(seen.find("word", word, before, SOURCES) is not None for word in name.split())
        for name in expansions().names.get(value, ())
    )
