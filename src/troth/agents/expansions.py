"""Codes and what they stand for: airports and cities, countries, currencies, states of the United States."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from troth.agents.sources import fold
from troth.text.lexicon import load_table


class Expansions(NamedTuple):
    """Names by code (`JFK`), and codes by name in lower case and without accents (`new york`)."""

    names: dict[str, tuple[str, ...]]
    codes: dict[str, tuple[str, ...]]


@cache
def expansions() -> Expansions:
    """The table of `data/codes.toml`."""
    names: dict[str, list[str]] = {}
    codes: dict[str, list[str]] = {}
    for lines in load_table("codes").values():
        for entry in lines.replace("\n", "|").strip("|").split("|"):
            code, _, meanings = entry.partition(" ")
            for meaning in map(normalize_name, meanings.split(",")):
                names.setdefault(code, []).append(meaning)
                codes.setdefault(meaning, []).append(code)
    return Expansions({key: tuple(value) for key, value in names.items()}, {k: tuple(v) for k, v in codes.items()})


def normalize_name(name: str) -> str:
    """A name in the form in which names are compared: lower case, no accents, no full stops."""
    return fold(name.lower()).replace(".", "").strip()
