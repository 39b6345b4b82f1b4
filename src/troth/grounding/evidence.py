"""Evidence of a claim in its document: the windows that share most of its words, weighted by how rare they are there.

Entailment is asked about the few best windows only, and facts are looked up there. The choice is lexical and takes
milliseconds: a word counts with its inverse document frequency over the document's sentences, so that a name decides
and "the" does not. Words are compared in lower case and without usual endings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.text_cache import text_cache
from troth.text.sentences import split_sentences
from troth.text.words import stem_words

LONGEST_SENTENCE = 80  # words: longer ones, as tables and code have them, are cut into parts of this size


class Window(NamedTuple):
    """Neighbouring sentences of a document, as one text; `start`: the number of the first."""

    start: int
    size: int
    text: str


class Passages:
    """A document in sentences, with an index of its words to find the evidence of a claim."""

    def __init__(self, document: str) -> None:
        self.sentences = [part for sentence in split_sentences(document) for part in _split_long(sentence)]
        self._starts: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._sentences_with: dict[str, list[int]] = {}
        for index, sentence in enumerate(self.sentences):
            for word in dict.fromkeys(stem_words(sentence)):
                self._sentences_with.setdefault(word, []).append(index)

    def __contains__(self, word: str) -> bool:
        """Whether the document has a word, given without its ending."""
        return word in self._sentences_with

    def rarity(self, word: str) -> float:
        """How rare a word without its ending is: 1 where one sentence has it or none, less where more have it."""
        most = len(self.sentences)
        return math.log(1 + most / len(self._sentences_with.get(word, (0,)))) / math.log(1 + most) if most else 1.0

    def windows(self, size: int) -> int:
        """How many windows of a size there are; one where the document is shorter."""
        return max(1, len(self.sentences) - size + 1)

    def window(self, start: int, size: int) -> Window:
        return Window(start, size, " ".join(self.sentences[start : start + size]))

    def best(self, claim: str, size: int, number: int) -> list[Window]:
        """The windows of a size that share most with a claim, the best first; of equals the earlier."""
        if (count := self.windows(size)) <= number:
            return [self.window(start, size) for start in range(count)]
        scores = np.zeros(count)
        for word in dict.fromkeys(stem_words(claim)):  # not a set: the sums depend on the order
            if numbers := self._sentences_with.get(word):
                scores[self._windows_with(word, size)] += math.log(1 + len(self.sentences) / len(numbers))
        windows = []
        for _ in range(number):
            start = int(scores.argmax())  # of equals the first
            windows.append(self.window(start, size))
            scores[start] = -1.0
        return windows

    def _windows_with(self, word: str, size: int) -> NDArray[np.int64]:
        """The windows of a size in which a word stands, each once."""
        if (known := self._starts.get((word, size))) is None:
            last = self.windows(size) - 1
            spans = ((max(0, index - size + 1), min(index, last)) for index in self._sentences_with[word])
            starts = dict.fromkeys(start for first, end in spans for start in range(first, end + 1))
            known = self._starts[word, size] = np.fromiter(starts, np.int64, len(starts))
        return known


@text_cache
def passages(document: str) -> Passages:
    """The passages of a document; those of the last documents are remembered."""
    return Passages(document)


def _split_long(sentence: str) -> Iterable[str]:
    words = sentence.split()
    if len(words) <= LONGEST_SENTENCE:
        return [sentence]
    return [" ".join(words[at : at + LONGEST_SENTENCE]) for at in range(0, len(words), LONGEST_SENTENCE)]


def best_passages(claim: str, document: Passages, numbers: Iterable[tuple[int, int]]) -> list[str]:
    """The texts of the best windows, each once; `numbers`: pairs of a size and how many windows of it."""
    return list(dict.fromkeys(window.text for size, number in numbers for window in document.best(claim, size, number)))
