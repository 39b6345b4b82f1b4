"""Proper names of a text, by capital letters alone: people, places, organisations, works.

A name is one or more capitalised words, with small words between them (`University of Michigan`). The first word of a
sentence is always capitalised, so it counts as a name only if this text, or another one, capitalises it elsewhere. No
names are found in a text without lower-case words (a heading) or without capitals (chat).
"""

from __future__ import annotations

import re

from troth.core.text_cache import text_cache
from troth.text.facts import Fact
from troth.text.lexicon import word_set

MIN_LOWER = 0.15  # share of a text's words that must be in lower case

_WORD = r"(?:(?:[A-Z]\.){2,}|[A-Z]\.(?=\s[A-Z])|[A-ZÀ-ÖØ-Þ](?:[\w&]|['’.-](?=\w))*)"
_NAME = re.compile(rf"(?<![\w'’]){_WORD}(?:(?:\s(?:of|the|de|la|le|du|da|di|del|von|van|der|al|for)){{0,2}}\s{_WORD})*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;]['\"”’)]*|[\n\"“(#*-])\s*$")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


@text_cache
def find_names(text: str, known: frozenset[str] = frozenset()) -> tuple[Fact, ...]:
    """Proper names of a text, in order; `known`: words, in lower case, that are names even at the start of a sentence.

    >>> [fact.value for fact in find_names("In May the mayor of Easton met Alice Binney at the University of Essex.")]
    ['easton', 'alice binney', 'university of essex']
    """
    words = _LETTERS.findall(text)
    if not words or sum(word.islower() for word in words) < MIN_LOWER * len(words):
        return ()
    inside = _words_capitalised_inside(text)
    openers, not_names = word_set("sentence_openers"), word_set("not_names")
    names: list[Fact] = []
    for match in _NAME.finditer(text):
        start, end = match.span()
        at_start = _starts_sentence(text, start)
        parts = match[0].split()
        while parts and at_start and _plain(parts[0]) in openers:  # in "In London", "In" is not a part of the name
            start += len(parts[0]) + 1
            at_start = False
            parts = text[start:end].split()
            while parts and not parts[0][0].isupper():
                start += len(parts[0]) + 1
                parts = text[start:end].split()
        plain = [_plain(part) for part in parts]
        if not parts or all(word in not_names for word in plain):
            continue
        if len(parts) == 1 and (plain[0] in openers or (at_start and plain[0] not in known and plain[0] not in inside)):
            continue
        while plain and plain[-1] in not_names:
            end -= len(parts.pop()) + 1
            plain.pop()
        end = start + len(re.sub(r"['’]s$", "", text[start:end]))
        if end > start:
            names.append(Fact("name", re.sub(r"['’]s\b", "", text[start:end]).lower(), start, end))
    return tuple(names)


@text_cache
def name_words(text: str) -> frozenset[str]:
    """All words, in lower case, of the names of a text."""
    return frozenset(_plain(word) for fact in find_names(text) for word in text[fact.start : fact.end].split())


def _words_capitalised_inside(text: str) -> frozenset[str]:
    """Words that are capitalised inside a sentence, and never in lower case."""
    lower = frozenset(re.findall(r"\b[a-z][\w'’-]*", text))
    words = {_plain(match[0]) for match in re.finditer(_WORD, text) if not _starts_sentence(text, match.start())}
    return frozenset(words - lower)


def _starts_sentence(text: str, start: int) -> bool:
    return _SENTENCE_START.search(text, max(0, start - 12), start) is not None


def _plain(word: str) -> str:
    return re.sub(r"['’]s$", "", word.strip(".,'’")).lower()
