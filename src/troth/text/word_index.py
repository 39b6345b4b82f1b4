"""The words of a text, arranged so that one question takes the same time however long the text is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from troth.core.text_cache import text_cache
from troth.text.words import stem_words

LONGEST_ACRONYM = 5  # letters
_WORD = re.compile(r"\w+")
_SMALL = frozenset(("of", "the", "and", "for"))  # inside a name, without a letter in its acronym
_CODE = re.compile(r"(?<![\d.])\d++(?:\.\d++)?+(?!\.\d)")


class WordIndex:
    """Sets of a text, each made when it is first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def words(self) -> frozenset[str]:
        """The words as they are written."""
        return frozenset(_WORD.findall(self._text))

    @cached_property
    def lower(self) -> frozenset[str]:
        return frozenset(word.lower() for word in self.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(stem_words(self._text))

    @cached_property
    def codes(self) -> frozenset[str]:
        """All numbers in digits, also as a part of a code: 50 in A-50, and not 5."""
        return frozenset(_CODE.findall(self._text))

    @cached_property
    def acronyms(self) -> frozenset[str]:
        """The first letters of two to five neighbouring words: NFL of National Football League. Small words may stand
        between them."""
        return frozenset(self._acronyms())

    def _acronyms(self) -> Iterator[str]:
        matches = list(_WORD.finditer(self._text))
        following = _following_words(self._text, matches)
        for first in range(len(matches)):
            letters, at = "", first
            while at < len(matches) and len(letters) < LONGEST_ACRONYM and len(matches[at][0]) > 1:
                letters += matches[at][0][0]
                if len(letters) > 1:
                    yield letters
                at = following[at]


def _following_words(text: str, matches: list[re.Match[str]]) -> list[int]:
    """For each word the next one that is not small; the number of words if there is none.

    After a small word there is one space and nothing else.
    """
    none = len(matches)
    reached = [none] * (none + 1)  # from a word on: the first that is not small
    for at in range(none - 1, -1, -1):
        if matches[at][0] not in _SMALL:
            reached[at] = at
        elif at + 1 < none and text[matches[at].end() : matches[at + 1].start()] == " ":
            reached[at] = reached[at + 1]
    return [reached[at + 1] for at in range(none)]


@text_cache
def word_index(text: str) -> WordIndex:
    return WordIndex(text)
