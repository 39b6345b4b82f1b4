"""Word lists and phrases of the perturbations: data files in `data/`, read on first use."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, TypeVar

from troth.text import lexicon

PACKAGE = "troth.perturb"
Half = Literal["all", "first", "second"]  # of phrases to draw from: training takes one, so that tests have others
T = TypeVar("T")


def load_table(name: str) -> dict[str, Any]:
    """The content of a data file: `words`, `phrases` or `answers`."""
    return lexicon.load_table(name, PACKAGE)


def word_set(name: str, table: str = "words") -> frozenset[str]:
    """A set of words, by its name in a data file."""
    return lexicon.word_set(name, table, PACKAGE)


@cache
def word_list(name: str) -> tuple[str, ...]:
    """A list to draw from, by its name in `words.toml`. An entry that is in the list twice is drawn twice as often."""
    return tuple(load_table("words")[name])


def select_half(phrases: Sequence[T], half: Half) -> Sequence[T]:
    """The phrases of one half, which their first two words decide; all of them if the half would be empty."""
    if half == "all":
        return phrases
    wanted = ("first", "second").index(half)
    own = [phrase for phrase in phrases if _beginning_digest(str(phrase)) % 2 == wanted]
    return own or phrases


def _beginning_digest(phrase: str) -> int:
    return zlib.crc32(" ".join(phrase.lower().split()[:2]).encode())


class HalfRandom(random.Random):
    """A generator whose `choice` draws from one half of the phrases."""

    def __init__(self, seed: int, half: Half) -> None:
        super().__init__(seed)
        self.half = half

    def choice(self, seq: Any) -> Any:
        return super().choice(select_half(seq, self.half))
