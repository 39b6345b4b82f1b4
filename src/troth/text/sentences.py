"""Splits a text into sentences, by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# After a mark and the quotes or brackets that close with it, before white space. A line break alone ends a sentence
# only at the end of a paragraph or before an item of a list.
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n\s*|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
_ABBREVIATION = re.compile(  # also initials: J. R. R., L.F., e.g.
    r"(?:^|[\s(\"'“‘\[])(?:(?:[A-Za-z]\.)*[A-Za-z]|mr|mrs|ms|dr|prof|st|jr|sr|vs|no|inc|ltd|co|corp|fig|approx|dept|est|gen|"
    r"gov|hon|rev|sgt|capt|lt|col|cf|ph\.d|jan|feb|mar|apr|aug|sept|sep|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text. A piece without a word joins the sentence before it.

    A mark after an abbreviation does not end a sentence. A full stop after white space, as in tokenised text, always
    does.
    """
    sentences: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if _ABBREVIATION.search(text[start : end.start()]) and "\n" not in end[0]:
            continue
        _append(sentences, text[start : end.end()])
        start = end.end()
    _append(sentences, text[start:])
    return sentences


def locate_sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with the index of its first character."""
    end = 0
    for sentence in split_sentences(text):
        start = text.find(sentence, end)
        if start < 0:  # joined pieces differ by white space
            start = end
        yield start, text[start : start + len(sentence)]
        end = start + len(sentence)


def join_windows(sentences: Sequence[str], size: int) -> list[str]:
    """Every run of `size` neighbouring sentences as one text; all sentences as one text if there are fewer."""
    return [" ".join(sentences[start : start + size]) for start in range(max(1, len(sentences) - size + 1))]


def _append(sentences: list[str], piece: str) -> None:
    piece = piece.strip()
    if not piece:
        return
    if sentences and not _WORD.search(piece):
        sentences[-1] = f"{sentences[-1]} {piece}"
    else:
        sentences.append(piece)
