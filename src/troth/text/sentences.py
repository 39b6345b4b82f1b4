"""Splits a text into sentences, by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from troth.text.layout import CITATION, LIST_NUMBER

# After a mark and the quotes or brackets that close with it, before white space. A line break alone ends a sentence
# only at the end of a paragraph or before an item of a list.
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n\s*|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
_ABBREVIATION = re.compile(  # also initials: J. R. R., L.F., e.g.
    r"(?:(?:[A-Za-z]\.)*[A-Za-z]|mr|mrs|ms|dr|prof|st|jr|sr|vs|no|inc|ltd|co|corp|fig|approx|dept|est|gen|"
    r"gov|hon|rev|sgt|capt|lt|col|cf|ph\.d|jan|feb|mar|apr|aug|sept|sep|oct|nov|dec)\.",
    re.IGNORECASE,
)
_BEFORE_WORD = frozenset("(\"'“‘[")  # besides white space
_WORD = re.compile(r"\w")
LONGEST_NUMBER = 8  # characters of an item's number with the white space before it


def split_sentences(text: str) -> list[str]:
    """The sentences of a text. A piece without a word, or a citation alone, joins the sentence before it.

    A mark after an abbreviation or after the number of a list's item does not end a sentence. A full stop after white
    space, as in tokenised text, always does.
    """
    return [" ".join(pieces) for _, pieces in _pieces(text)]


def locate_sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with the index of its first character."""
    end = 0
    for first, pieces in _pieces(text):
        sentence = " ".join(pieces)
        start = first if text.startswith(sentence, first) else end  # joined pieces differ by white space
        yield start, text[start : start + len(sentence)]
        end = start + len(sentence)


class SentenceBuffer:
    """A text that is still being written, and its sentences that are complete."""

    def __init__(self) -> None:
        self.text, self._done = "", 0

    def add(self, text: str, *, last: bool = False) -> list[tuple[int, str]]:
        """The sentences that this completes, with their places; the last one is complete when the text is."""
        self.text += text
        rest = self.text[self._done :]
        sentences = [(self._done + start, sentence) for start, sentence in locate_sentences(rest)]
        complete = sentences if last else sentences[:-1]
        if complete:
            self._done = len(self.text) if last else sentences[-1][0]
        return complete


def _pieces(text: str) -> list[tuple[int, list[str]]]:
    """The pieces of each sentence, with the index of its first character."""
    sentences: list[tuple[int, list[str]]] = []
    start = 0
    for end in (*_END.finditer(text), None):
        if end is not None and "\n" not in end[0] and _goes_on(text, start, end.start()):
            continue
        whole = text[start:] if end is None else text[start : end.end()]
        piece = whole.strip()
        if piece and sentences and not _WORD.search(CITATION.sub("", piece)):
            sentences[-1][1].append(piece)
        elif piece:
            sentences.append((start + len(whole) - len(whole.lstrip()), [piece]))
        start = len(text) if end is None else end.end()
    return sentences


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether the mark at `end` does not end a sentence: after an abbreviation, or after a number that begins an item.

    Only the last word is looked at, because sentences may be long.
    """
    if end - start <= LONGEST_NUMBER and LIST_NUMBER.fullmatch(text, start, end):
        return True
    first = end
    while first > start and not (text[first - 1].isspace() or text[first - 1] in _BEFORE_WORD):
        first -= 1
    return _ABBREVIATION.fullmatch(text, first, end) is not None


def join_windows(sentences: Sequence[str], size: int) -> list[str]:
    """Every run of `size` neighbouring sentences as one text; all sentences as one text if there are fewer."""
    return [" ".join(sentences[start : start + size]) for start in range(max(1, len(sentences) - size + 1))]
