"""Proper names of a text, by capital letters alone: people, places, organisations, works.

A name is one capitalised word or several, with small words between them (`University of Michigan`). The first word of a
sentence is capitalised anyway, so alone it counts only where the text, or another text, has it capitalised elsewhere. A
text without lower-case words (a heading) or without capitals (chat) has no names that could be found in this way.
"""

from __future__ import annotations

import re
from functools import lru_cache

from troth.core.facts import MONTHS, REMEMBERED, Fact

# Words that begin sentences, and are no names where they are capitalised.
COMMON = frozenset((
    "a", "about", "according", "actually", "additionally", "after", "again", "all", "almost", "already", "also",
    "although", "an", "and", "another", "any", "anyway", "are", "as", "at", "awesome", "aside", "based", "be",
    "because", "before", "best", "being", "besides", "between", "both", "but", "by", "can", "could", "cool",
    "currently", "definitely", "depending", "despite", "did", "do", "does", "done", "due", "during", "each", "either",
    "especially", "even", "every", "everyone", "everything", "exactly", "finally", "first", "five", "for", "formerly",
    "four", "from", "further", "good", "great", "had", "happy", "has", "have", "having", "he", "hello", "here", "hey",
    "hi", "his", "historically", "how", "however", "i", "if", "in", "indeed", "initially", "instead", "interesting",
    "interestingly", "is", "isn't", "it", "it's", "its", "just", "last", "later", "least", "less", "like", "look",
    "luckily", "many", "maybe", "me", "more", "most", "mostly", "much", "my", "neither", "never", "new", "next", "nice",
    "no", "none", "nope", "nor", "not", "nothing", "now", "of", "oh", "ok", "okay", "old", "on", "once", "one", "only",
    "or", "originally", "other", "others", "otherwise", "our", "over", "overall", "perhaps", "please", "probably",
    "rather", "really", "recently", "right", "same", "second", "see", "several", "shall", "she", "should", "similarly",
    "since", "six", "so", "some", "someone", "something", "sometimes", "soon", "still", "such", "sure", "ten", "thank",
    "thanks", "that", "that's", "the", "their", "them", "then", "there", "there's", "these", "they", "they're", "third",
    "this", "those", "though", "three", "through", "thus", "to", "today", "together", "too", "true", "two", "typically",
    "under", "unfortunately", "unless", "unlike", "until", "up", "upon", "us", "usually", "very", "was", "we", "well",
    "were", "what", "what's", "when", "where", "whereas", "whether", "which", "while", "who", "who's", "whose", "why",
    "will", "with", "within", "without", "wow", "would", "yeah", "yep", "yes", "yet", "you", "your", "you're", "mr",
    "mrs", "ms", "dr", "sir", "st", "title", "published",
))  # fmt: skip
NO_NAMES = frozenset((*MONTHS, "i", "i'm", "i've", "i'd", "i'll", "ok", "tv", "pm", "am", "monday", "tuesday",
                      "wednesday", "thursday", "friday", "saturday", "sunday"))  # fmt: skip
ENOUGH_LOWER = 0.15  # share of a text's words that must be in lower case

_WORD = r"(?:(?:[A-Z]\.){2,}|[A-Z]\.(?=\s[A-Z])|[A-ZÀ-ÖØ-Þ](?:[\w&]|['’.-](?=\w))*)"
_NAME = re.compile(rf"(?<![\w'’]){_WORD}(?:(?:\s(?:of|the|de|la|le|du|da|di|del|von|van|der|al|for)){{0,2}}\s{_WORD})*")
_START = re.compile(r"(?:^|[.!?…:;]['\"”’)]*|[\n\"“(#*-])\s*$")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


@lru_cache(maxsize=REMEMBERED)
def names(text: str, known: frozenset[str] = frozenset()) -> tuple[Fact, ...]:
    """Proper names of a text, in order; `known`: words, in lower case, that are names though they begin a sentence.

    >>> [fact.value for fact in names("In May the mayor of Easton met Alice Binney at the University of Michigan.")]
    ['easton', 'alice binney', 'university of michigan']
    """
    words = _LETTERS.findall(text)
    if not words or sum(word.islower() for word in words) < ENOUGH_LOWER * len(words):
        return ()
    inside = known | _certain(text)
    found: list[Fact] = []
    for match in _NAME.finditer(text):
        start, end = match.span()
        begins = _START.search(text, max(0, start - 12), start) is not None
        parts = match[0].split()
        while (
            parts and begins and _plain(parts[0]) in COMMON
        ):  # "In London": the sentence's word is no part of the name
            start += len(parts[0]) + 1
            begins = False
            parts = text[start:end].split()
            while parts and not parts[0][0].isupper():
                start += len(parts[0]) + 1
                parts = text[start:end].split()
        plain = [_plain(part) for part in parts]
        if not parts or all(word in NO_NAMES for word in plain):
            continue
        if len(parts) == 1 and (plain[0] in COMMON or (begins and plain[0] not in inside)):
            continue
        while plain and plain[-1] in NO_NAMES:
            end -= len(parts.pop()) + 1
            plain.pop()
        end = start + len(re.sub(r"['’]s$", "", text[start:end]))
        if end > start:
            found.append(Fact("name", re.sub(r"['’]s\b", "", text[start:end]).lower(), start, end))
    return tuple(found)


@lru_cache(maxsize=REMEMBERED)
def name_words(text: str) -> frozenset[str]:
    """All words, in lower case, of the names of a text."""
    return frozenset(_plain(word) for fact in names(text) for word in text[fact.start : fact.end].split())


def _certain(text: str) -> frozenset[str]:
    """Words that are capitalised inside a sentence, and never in lower case."""
    lower = frozenset(re.findall(r"\b[a-z][\w'’-]*", text))
    found = set()
    for match in re.finditer(_WORD, text):
        word = _plain(match[0])
        if word not in lower and _START.search(text, max(0, match.start() - 12), match.start()) is None:
            found.add(word)
    return frozenset(found)


def _plain(word: str) -> str:
    return re.sub(r"['’]s$", "", word.strip(".,'’")).lower()
