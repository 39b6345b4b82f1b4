"""Words of a text without their usual endings, for comparisons that ignore grammar."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?<=\w{3})(?:'s|ies|ing|ed|es|s|ly|y|e)$")


def stem(word: str) -> str:
    """A word without its usual ending: `plays`, `played` and `playing` give the same stem."""
    return _ENDING.sub("", word)


def stem_words(text: str) -> list[str]:
    """The words of a text, in lower case and without their usual endings."""
    return [stem(word) for word in _WORD.findall(text.lower())]
