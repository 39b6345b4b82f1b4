"""Sources of an assistant's answers: each number, time, date and name in them, and the message that it comes from.

An answer may rest on what the assistant had seen before it: results of tools, the user's words and the system's
instructions (`context`). No model is asked. A number that is the sum, the difference or a small multiple of supported
numbers in the same answer counts as supported. Not checked: numbers below 10 without a currency or a decimal, which are
mostly counts and list marks. A name is a code (letters and digits, or capitals), or capitalised words that the
conversation never writes in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from troth.agents.sources import Mention, Sources, find_mentions, is_derived
from troth.core.trajectories import Trajectory
from troth.text.lexicon import word_set

CONTEXT = ("tools", "user", "system")
SMALLEST = 10.0
# Capitals that are no names of anything in particular.
CAPITALS = frozenset((
    "EST", "EDT", "PST", "PDT", "CST", "CDT", "MST", "UTC", "GMT", "USD", "EUR", "GBP", "USA", "FAQ", "ASAP", "URL",
    "API", "PDF", "STOP", "YES", "NOT", "AND", "THE", "ETA", "VIP",
))  # fmt: skip
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{3,}\b|\b[A-Z]{3,}\b")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|am|pm|x|kg|lb|lbs|hrs?|mins?|h|m|s)", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z][a-z]+(?:[ '-][A-Z][a-z]+)+\b|(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_PART = re.compile(r"[A-Za-z]+")
_LOWER = re.compile(r"\b[a-z]{2,}\b")
_MARK = re.compile(r"(?:^|\n)\s*$")
_HEADING = re.compile(r"(?:\s?\([^)\n]*\))?\*{0,2}:")
_ENDING = re.compile(r"(?:ending|ends|end) (?:in|with) \W*$", re.IGNORECASE)


class Detail(NamedTuple):
    """Something checkable in an answer, and the message that it rests on."""

    message: int
    start: int
    end: int
    text: str
    kind: str  # "number", "time" (times and dates) or "name"
    supported: bool
    source: int | None  # None: nothing supports it, or it is calculated from other numbers of the answer


def find_details(trial: Trajectory, seen: Sources, context: Sequence[str] = CONTEXT) -> Iterator[Detail]:
    """Every number, time, date and name in the assistant's answers, in order."""
    common = word_set("headings").union(*(_LOWER.findall(message.text) for message in trial.messages))
    for index, message in enumerate(trial.messages):
        if message.role == "assistant" and message.text:
            yield from _numbers_and_times(index, message.text, seen, context)
            yield from _names(index, message.text, seen, context, common)


def _numbers_and_times(index: int, text: str, seen: Sources, context: Sequence[str]) -> Iterator[Detail]:
    mentions = [token for token in find_mentions(text) if token.kind != "number" or _is_checked(text, token)]
    sources = [
        seen.ending(token.value, index, context)
        if _ENDING.search(text[max(0, token.start - 20) : token.start])
        else seen.find(token.kind, token.value, index, context)
        for token in mentions
    ]
    known = [
        float(t.value) for t, source in zip(mentions, sources, strict=True) if t.kind == "number" and source is not None
    ]
    for token, source in zip(mentions, sources, strict=True):
        supported = source is not None or (token.kind == "number" and is_derived(float(token.value), known))
        kind = "number" if token.kind == "number" else "time"
        yield Detail(index, token.start, token.end, text[token.start : token.end], kind, supported, source)


def _is_checked(text: str, token: Mention) -> bool:
    """Whether a number must come from somewhere: no list mark, no small count."""
    if _MARK.search(text[max(0, token.start - 20) : token.start]) and text[token.end : token.end + 1] in (".", ")"):
        return False
    return float(token.value) >= SMALLEST or "." in token.value or text[token.start] in "$€£"


def _names(index: int, text: str, seen: Sources, context: Sequence[str], common: frozenset[str]) -> Iterator[Detail]:
    for match in _CODE.finditer(text):
        if match[0] in CAPITALS or _ORDINAL.fullmatch(match[0]) or match[0].lower() in common:
            continue
        source = seen.find("word", match[0].lower(), index, context)
        yield Detail(index, match.start(), match.end(), match[0], "name", source is not None, source)
    for match in _NAME.finditer(text):
        parts = [word.lower() for word in _PART.findall(match[0])]
        words = [word for word in parts if word not in common and word.removesuffix("s") not in common]
        if not words or _HEADING.match(text, match.end()):
            continue
        sources = [seen.find("word", word, index, context) for word in words]
        known = [source for source in sources if source is not None]
        supported = len(known) == len(sources)
        yield Detail(index, match.start(), match.end(), match[0], "name", supported, max(known) if supported else None)
