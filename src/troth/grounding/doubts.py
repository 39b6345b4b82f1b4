"""How much each word of a response is in doubt, given its document; all parts of troth use this definition.

By rules, and where `faith` asked a model that judges words, by both: the model's doubt of a word has a share of 0.7,
the rules' the rest. By the rules a word's doubt is 0 where the windows of the document that share most with its
sentence have it, one half where only another part of the document has it, and 1 where no part has it; words are
compared in lower case and without endings, more freely than metrics do ("carry" and "carried" are one word here).
Names, numbers, dates and times are compared as facts (`facts.py`): one that the windows have in another form ("5 pm"
and 17:00) is not in doubt, a number, date or time that no part of the document has is, and so is one that stands where
the document has another (`places.py`).
Common words ("the", "with") say nothing themselves, and take the mean of the words around them; all others are mixed
with it a little, since unsupported words come in spans. Settings were tried on WiCE's labelled words, train and dev.
Words of questions and courtesies are never unsupported (`courtesies.py`).
Facts that the rules decide (found, in the wrong place, a number, date or time that is not there) are theirs alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from troth.core.text_cache import text_cache
from troth.grounding.evidence import passages
from troth.grounding.facts import CheckedFact, check_facts
from troth.grounding.places import misplaced_facts
from troth.storage.explorer import ClaimSupport
from troth.text.courtesies import claims_nothing
from troth.text.layout import plain_document, plain_response
from troth.text.lexicon import word_set
from troth.text.normalize import compose
from troth.text.sentences import locate_sentences
from troth.text.words import stem_words

WINDOW, WINDOWS = 3, 2  # sentences of a window, and how many windows
ELSEWHERE = 0.5  # doubt of a word that another part of the document has
AROUND = 2  # words on each side
MIXED = 0.3  # share of the words around in a word's doubt
DOUBTED = 0.55  # doubt from which a word counts as unsupported
LEARNT = 0.7  # share of the model in a word's doubt, where there is one
CERTAIN = 0.2  # a word with less doubt counts as supported
_WORD = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")
_ENDINGS = re.compile(r"(?<=[^\W\d]{3})(?:ing|ed|[seyi])+$")

Support = Literal["supported", "unsupported", "free"]


class DoubtedWord(msgspec.Struct, frozen=True):
    """A word of a response, by its characters; the higher the doubt, the less the document supports it."""

    text: str
    start: int
    end: int
    doubt: float

    @property
    def unsupported(self) -> bool:
        return self.doubt >= DOUBTED

    @property
    def support(self) -> Support:
        """What the whole product says of the word; free: neither supported nor unsupported."""
        return "unsupported" if self.unsupported else "supported" if self.doubt < CERTAIN else "free"


def doubted_words(document: str, response: str, claims: Sequence[ClaimSupport] = ()) -> list[DoubtedWord]:
    """Every word of a response, in order, by white space. `claims`: what `faith` found of its sentences.

    >>> document = "The premium plan has 50 seats. It costs $20 a month."
    >>> [word.text for word in doubted_words(document, "The premium plan has 80 chairs.") if word.unsupported]
    ['80', 'chairs.']
    """
    written, document, response = compose(response), plain_document(document), plain_response(response)
    starts = [start for start, _ in locate_sentences(response)]
    learnt = [doubt for claim in claims for doubt in claim.doubts]
    if len(learnt) != len(_WORD.findall(response)):  # no model was asked, or one that judges no words
        learnt = []
    words: list[DoubtedWord] = []
    for begin, end in zip([0, *starts[1:]], [*starts[1:], len(response)], strict=True) if starts else ():
        words += _sentence_words(document, response[begin:end], begin, learnt[len(words) :])
    return words if written == response else _with_marks(written, words)


def _with_marks(written: str, words: Sequence[DoubtedWord]) -> list[DoubtedWord]:
    """The words as they are written: with the marks around them, and with marks alone, which say nothing."""
    spans = [match.span() for match in _WORD.finditer(written)]
    doubts: list[float | None] = [None] * len(spans)
    index = 0
    for word in words:
        while spans[index][1] <= word.start:
            index += 1
        doubts[index] = max(word.doubt, doubts[index] or 0.0)
    return [
        DoubtedWord(written[start:end], start, end, ELSEWHERE if doubt is None else doubt)
        for (start, end), doubt in zip(spans, doubts, strict=True)
    ]


def _sentence_words(document: str, sentence: str, at: int, learnt: Sequence[float]) -> list[DoubtedWord]:
    """The words of a sentence; `learnt`: their doubt by the model, and that of the words after them, or nothing."""
    spans = [match.span() for match in _WORD.finditer(sentence)]
    texts = [sentence[start:end] for start, end in spans]
    known = _fact_doubts(spans, texts, check_facts(document, sentence))
    doubts = _word_doubts(document, sentence, texts, known)
    if learnt:  # facts that the rules decide stay as they are
        both = enumerate(zip(doubts, learnt, strict=False))
        doubts = [rule if i in known else (1 - LEARNT) * rule + LEARNT * doubt for i, (rule, doubt) in both]
    misplaced = misplaced_facts(document, sentence)
    if claims_nothing(sentence):
        doubts, misplaced = [min(doubt, ELSEWHERE) for doubt in doubts], []
    words = []
    for (start, end), text, doubt in zip(spans, texts, doubts, strict=True):
        wrong = any(start < fact.end and fact.start < end for fact in misplaced)
        words.append(DoubtedWord(text, at + start, at + end, max(doubt, DOUBTED) if wrong else doubt))
    return words


def _fact_doubts(
    spans: Sequence[tuple[int, int]], texts: Sequence[str], facts: Sequence[CheckedFact]
) -> dict[int, float]:
    """The doubt of words that are part of a fact, by the index of the word, where the fact decides it."""
    known: dict[int, float] = {}
    for fact in facts:
        inside = [index for index, (start, end) in enumerate(spans) if start < fact.end and fact.start < end]
        if fact.found:
            known |= dict.fromkeys(inside, 0.0)
        elif fact.kind != "name" and not fact.elsewhere:  # of a name, some words may be there
            numbers = [index for index in inside if _DIGIT.search(texts[index])]  # 60 of "60 days"
            known |= dict.fromkeys(numbers or inside, 1.0)
    return known


def _word_doubts(document: str, sentence: str, words: list[str], known: dict[int, float]) -> list[float]:
    """The doubt of each word of a sentence; `known`: doubts that the facts decide, by the index of the word."""
    everywhere = _document_forms(document)
    near = {form for window in passages(document).best(sentence, WINDOW, WINDOWS) for form in _forms(window.text)}
    doubts: list[float | None] = []
    for index, text in enumerate(words):
        parts = _forms(text)
        silent = not parts or text.lower() in word_set("stop_words")
        own = None if silent else max(0.0 if s in near else ELSEWHERE if s in everywhere else 1.0 for s in parts)
        doubts.append(known.get(index, own))
    return [_mix_neighbours(doubts, index) for index in range(len(doubts))]


def _forms(text: str) -> list[str]:
    """The words of a text without their commonest endings, as many as there are."""
    return [_ENDINGS.sub("", word) for word in stem_words(text)]


@text_cache
def _document_forms(document: str) -> frozenset[str]:
    return frozenset(_forms(document))


def _mix_neighbours(doubts: list[float | None], index: int) -> float:
    around = [
        doubt
        for other in range(max(0, index - AROUND), min(len(doubts), index + AROUND + 1))
        if other != index and (doubt := doubts[other]) is not None
    ]
    mean, own_doubt = sum(around) / len(around) if around else 0.0, doubts[index]
    return mean if own_doubt is None else (1 - MIXED) * own_doubt + MIXED * mean
