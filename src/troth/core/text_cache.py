"""Caches of what was computed from texts: bounded by the length of the texts, and cleared together.

The limit is on the length of the texts, because a limit on their number would not bound the memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

MAX_LENGTH = 1 << 22  # characters of the texts that one cache holds
WORD_LENGTH = 8  # characters of a word, about
Function = TypeVar("Function", bound=Callable[..., Any])

_clearing: list[Callable[[], None]] = []  # one function per cache


def text_cache(function: Function) -> Function:
    """Caches a function of texts (or tuples and sets of texts). A cache that is full is emptied."""
    answers: dict[tuple[Any, ...], Any] = {}
    length = 0

    @wraps(function)
    def cached(*texts: Any) -> Any:
        nonlocal length
        try:
            return answers[texts]
        except KeyError:
            answer = function(*texts)
        own = 2 + len(texts[0]) if len(texts) == 1 and type(texts[0]) is str else _length(texts)
        if length + own > MAX_LENGTH:
            clear()
        if own <= MAX_LENGTH:
            length += own
            answers[texts] = answer
        return answer

    def clear() -> None:
        nonlocal length
        answers.clear()
        length = 0

    _clearing.append(clear)
    cached.answers = answers  # type: ignore[attr-defined]
    return cached  # type: ignore[return-value]


def clear_with_texts(cached: Function) -> Function:
    """Makes `forget_texts` clear a function that has a cache of `functools`, too."""
    _clearing.append(cached.cache_clear)  # type: ignore[attr-defined]
    return cached


def forget_texts() -> None:
    """Empties every cache of texts."""
    for clear in _clearing:
        clear()


def _length(value: Any) -> int:
    if isinstance(value, frozenset):  # of words; a set of a whole document comes with each of its sentences
        return 1 + WORD_LENGTH * len(value)
    if isinstance(value, tuple):
        return 1 + sum(map(_length, value))
    return 1 + len(value) if isinstance(value, str | bytes) else 1
