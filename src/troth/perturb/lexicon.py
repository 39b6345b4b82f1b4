"""Word lists and phrases of the perturbations: data files in `data/`, read on first use."""

from __future__ import annotations

from functools import cache
from typing import Any

from troth.text import lexicon

PACKAGE = "troth.perturb"


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
