"""Text to sentences, by rules: what entailment is asked about, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# After a mark and the quotes or brackets that close with it, before white space. Line breaks end a sentence by
# themselves only where they stand for a paragraph or an item of a list.
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n\s*|\n(?=\s*(?:[-*•]|\d+[.)])\s)")
_SHORT = re.compile(  # initials (J. R. R., L.F., e.g.) and what people shorten
    r"(?:^|[\s(\"'“‘\[])(?:(?:[A-Za-z]\.)*[A-Za-z]|mr|mrs|ms|dr|prof|st|jr|sr|vs|no|inc|ltd|co|corp|fig|approx|dept|est|gen|"
    r"gov|hon|rev|sgt|capt|lt|col|cf|ph\.d|jan|feb|mar|apr|aug|sept|sep|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")


def sentences(text: str) -> list[str]:
    """The sentences of a text. One that has no word in it joins the one before; a mark after an abbreviation ends none.

    A full stop that stands apart, as in tokenised text, ends a sentence whatever is before it.
    """
    made: list[str] = []
    start = 0
    for end in _END.finditer(text):
        before = text[start : end.start()]
        if _SHORT.search(before) and "\n" not in end[0]:
            continue
        _add(made, text[start : end.end()])
        start = end.end()
    _add(made, text[start:])
    return made


def placed(response: str) -> Iterator[tuple[int, str]]:
    """The sentences of a response with the character at which each begins."""
    at = 0
    for sentence in sentences(response):
        place = response.find(sentence, at)
        at = place if place >= 0 else at  # joined pieces differ by white space
        yield at, response[at : at + len(sentence)]
        at += len(sentence)


def _add(made: list[str], piece: str) -> None:
    piece = piece.strip()
    if not piece:
        return
    if made and not _WORD.search(piece):
        made[-1] = f"{made[-1]} {piece}"
    else:
        made.append(piece)


def windows(parts: Sequence[str], size: int) -> list[str]:
    """Every run of `size` sentences, or all of them where there are no more, as one text each."""
    return [" ".join(parts[start : start + size]) for start in range(max(1, len(parts) - size + 1))]
