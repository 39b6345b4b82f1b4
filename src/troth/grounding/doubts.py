"""Which words of a response does its document not support? By rules alone, no model.

A word's doubt is 0 where the windows of the document that share most with its sentence have it, one half where only
another part of the document has it, and 1 where no part has it; words are compared in lower case and without endings.
A name or number that stands where the document has another one counts as unsupported, too (`places.py`).
Common words ("the", "with") say nothing themselves, and take the mean of the words around them; all others are mixed
with it a little, since unsupported words come in spans. Settings were tried on WiCE's labelled words, train and dev.
"""

from __future__ import annotations

import re

import msgspec

from troth.grounding.evidence import passages
from troth.grounding.places import misplaced_facts
from troth.text.lexicon import word_set
from troth.text.normalize import compose
from troth.text.sentences import locate_sentences
from troth.text.words import stem_words

WINDOW, WINDOWS = 3, 2  # sentences of a window, and how many windows
ELSEWHERE = 0.5  # doubt of a word that another part of the document has
AROUND = 2  # words on each side
MIXED = 0.3  # share of the words around in a word's doubt
DOUBTED = 0.55  # doubt from which a word counts as unsupported


class DoubtedWord(msgspec.Struct, frozen=True):
    """A word of a response, by its characters; the higher the doubt, the less the document supports it."""

    text: str
    start: int
    end: int
    doubt: float

    @property
    def unsupported(self) -> bool:
        return self.doubt >= DOUBTED


def doubted_words(document: str, response: str) -> list[DoubtedWord]:
    """Every word of a response, in order, by white space.

    >>> document = "The premium plan has 50 seats. It costs $20 a month."
    >>> [word.text for word in doubted_words(document, "The premium plan has 80 chairs.") if word.unsupported]
    ['80', 'chairs.']
    """
    document, response = compose(document), compose(response)
    words: list[DoubtedWord] = []
    for start, sentence in locate_sentences(response):
        spans = [match.span() for match in re.finditer(r"\S+", sentence)]
        doubts = word_doubts(document, sentence, [sentence[begin:end] for begin, end in spans])
        misplaced = misplaced_facts(document, sentence)
        for (begin, end), doubt in zip(spans, doubts, strict=True):
            wrong = any(begin < fact.end and fact.start < end for fact in misplaced)
            word_doubt = max(doubt, DOUBTED) if wrong else doubt
            words.append(DoubtedWord(sentence[begin:end], start + begin, start + end, word_doubt))
    return words


def word_doubts(document: str, sentence: str, words: list[str]) -> list[float]:
    """The doubt of each word of a sentence, however it was cut into words."""
    known = passages(document)
    near = {word for window in known.best(sentence, WINDOW, WINDOWS) for word in stem_words(window.text)}
    doubts: list[float | None] = []
    for text in words:
        parts = stem_words(text)
        silent = not parts or text.lower() in word_set("stop_words")
        doubts.append(None if silent else max(0.0 if s in near else ELSEWHERE if s in known else 1.0 for s in parts))
    return [_mix_neighbours(doubts, index) for index in range(len(doubts))]


def _mix_neighbours(doubts: list[float | None], index: int) -> float:
    around = [
        doubt
        for other in range(max(0, index - AROUND), min(len(doubts), index + AROUND + 1))
        if other != index and (doubt := doubts[other]) is not None
    ]
    mean, own_doubt = sum(around) / len(around) if around else 0.0, doubts[index]
    return mean if own_doubt is None else (1 - MIXED) * own_doubt + MIXED * mean
