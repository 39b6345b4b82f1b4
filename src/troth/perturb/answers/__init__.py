"""Minimal corruptions of answers: a supported answer in, answers out that its document no longer supports.

Each corruption changes a few words in one way, and names it: a fact replaced by another of the same document, two roles
exchanged, a negation, a quantifier, another relation, an added claim, a dropped condition. Most use words of the
document itself, which overlap metrics cannot detect. Rules alone, no model; the same seed gives the same corruptions.
The rules skip changes that would not be fluent, so an answer has corruptions of some kinds, not of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.core.names import parse_names
from troth.core.randomness import generator
from troth.core.registry import Registry
from troth.text.facts import Fact, find_facts
from troth.text.proper_names import find_names, name_words

KINDS: Registry[CorruptionKind] = Registry(
    "corruption of answers",
    "troth.corruptions",
    {
        "name": "troth.perturb.answers.swaps:NAME",
        "number": "troth.perturb.answers.swaps:NUMBER",
        "date": "troth.perturb.answers.swaps:DATE",
        "unit": "troth.perturb.answers.swaps:UNIT",
        "new_number": "troth.perturb.answers.swaps:NEW_NUMBER",
        "roles": "troth.perturb.answers.roles:ROLES",
        "negation": "troth.perturb.answers.logic:NEGATION",
        "quantifier": "troth.perturb.answers.logic:QUANTIFIER",
        "relation": "troth.perturb.answers.logic:RELATION",
        "addition": "troth.perturb.answers.logic:ADDITION",
        "condition": "troth.perturb.answers.logic:CONDITION",
    },
)
SUPPORTED = 0.4  # minimum share of a sentence's long words that are in the document; below, it is small talk

_SENTENCE = re.compile(r"\S.*?(?:[.!?…](?=\s|$)|\n|$)", re.DOTALL)
_ABBREVIATION = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|St|vs|Jr|Sr|Prof|Inc|No|Co))\.$")
_LONG = re.compile(r"[^\W\d_]{4,}|\d+")


class Replacement(NamedTuple):
    """Characters `start` to `end` of the answer become `text`."""

    start: int
    end: int
    text: str


class ChangedWords(msgspec.Struct, frozen=True):
    """Character positions of changed words, in the answer and in the corrupted answer."""

    start: int
    end: int
    new_start: int
    new_end: int


class Corruption(msgspec.Struct, frozen=True):
    """A corrupted answer, the kind of corruption, and the changed words."""

    kind: str
    text: str
    changes: tuple[ChangedWords, ...]


class AnswerSentence(NamedTuple):
    """A sentence of the answer and its position."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class SupportedAnswer:
    """An answer with its document, and the sentences, words and facts of both that corruptions use."""

    document: str
    text: str

    @cached_property
    def sentences(self) -> list[AnswerSentence]:
        """The sentences that state something from the document: no questions, no small talk."""
        statements = (sentence for sentence in _split_sentences(self.text) if not sentence.text.endswith("?"))
        return [sentence for sentence in statements if self._is_grounded(sentence.text)]

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the document, in lower case."""
        return frozenset(re.findall(r"\w+", self.document.lower()))

    @cached_property
    def facts(self) -> list[Fact]:
        """Numbers, dates, times and names in the statements of the answer."""
        every = [*find_facts(self.text), *find_names(self.text, name_words(self.document))]
        ranges = [(sentence.start, sentence.end) for sentence in self.sentences]
        inside = [fact for fact in every if any(start <= fact.start < end for start, end in ranges)]
        return sorted(inside, key=lambda fact: fact.start)

    @cached_property
    def document_facts(self) -> list[Fact]:
        every = [*find_facts(self.document), *find_names(self.document, name_words(self.text))]
        return sorted(every, key=lambda fact: fact.start)

    def _is_grounded(self, sentence: str) -> bool:
        long = _LONG.findall(sentence.lower())
        shared = sum(word in self.words or word.removesuffix("s") in self.words for word in long)
        return shared >= min(2, len(long)) and shared >= SUPPORTED * len(long) and bool(long)


@dataclass(frozen=True)
class CorruptionKind:
    """A kind of corruption: its name, a description, and a function that gives all ways to change an answer."""

    name: str
    about: str
    ways: Callable[[SupportedAnswer], Iterable[Sequence[Replacement]]]
    shortens: bool = False  # it removes words, so the result may be in the document word for word


def corruptions(
    document: str, answer: str, *, kinds: str | Iterable[str] = (), seed: int = 0, id: str = "", each: int = 1
) -> list[Corruption]:
    """Minimal corruptions of an answer that its document supports, at most `each` of a kind.

    `kinds`: names of `KINDS`; all by default. `id`: id of the answer, so that its draw does not depend on other
    answers.

    >>> corrupted = corruptions("The pool opens at 9 am and closes at 5 pm.", "The pool opens at 9 am.", kinds="date")
    >>> corrupted[0].text
    'The pool opens at 5 pm.'
    """
    if each < 1:
        raise UserError(f"the number of corruptions of a kind must be 1 or more, not {each}")
    supported = SupportedAnswer(document, answer)
    corrupted: list[Corruption] = []
    for name in parse_names(kinds) or list(KINDS):
        kind = KINDS.load(name)
        ways = list(kind.ways(supported))
        generator(seed, f"corruption {name}", id or answer).shuffle(ways)
        texts: set[str] = {_normalize(answer)}
        for way in ways:
            corruption = _apply(kind.name, answer, way)
            in_document = not kind.shortens and _normalize(corruption.text).strip(" .") in _normalize(document)
            if _normalize(corruption.text) not in texts and not in_document:
                texts.add(_normalize(corruption.text))
                corrupted.append(corruption)
            if len(texts) > each:
                break
    return corrupted


def _apply(kind: str, answer: str, way: Sequence[Replacement]) -> Corruption:
    text, at, changes = "", 0, []
    for start, end, new in sorted(way):
        text += answer[at:start]
        changes.append(ChangedWords(start, end, len(text), len(text) + len(new)))
        text += new
        at = end
    return Corruption(kind, text + answer[at:], tuple(changes))


def _normalize(text: str) -> str:
    return " ".join(text.lower().split())


def _split_sentences(text: str) -> Iterator[AnswerSentence]:
    """Sentences with their positions; an initial or a title does not end a sentence."""
    start: int | None = None
    for match in _SENTENCE.finditer(text):
        start = match.start() if start is None else start
        if _ABBREVIATION.search(match[0]) and match.end() < len(text):
            continue
        yield AnswerSentence(start, match.end(), text[start : match.end()])
        start = None
    if start is not None:
        yield AnswerSentence(start, len(text), text[start:])
