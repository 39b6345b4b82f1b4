"""The venues and trains of MultiWOZ, and the query of mwzeval.

Names, food, departure and destination match by fuzzywuzzy's partial ratio, computed by difflib as fuzzywuzzy does
without python-Levenshtein. rapidfuzz finds better alignments, so its partial ratio gives other venues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from troth.core.text_cache import clear_with_texts
from troth.text.mwzeval import mwzeval_slot, mwzeval_value

DOMAINS = ("attraction", "hotel", "restaurant", "train")
LEAST_RATIO = 90
LONGEST = 1000  # letters of a value: the time of difflib grows with the square
NO_CONSTRAINT = ("dontcare", "not mentioned", "don't care", "dont care", "do n't care", "do not care")
UNKNOWN = "?"  # a value of the database that any constraint fits
_FUZZY = {
    "attraction": ("name",),
    "hotel": ("name",),
    "restaurant": ("name", "food"),
    "train": ("departure", "destination"),
}
_IGNORED = {
    "attraction": ("location", "openhours"),
    "hotel": ("location", "price", "takesbookings"),
    "restaurant": ("location", "introduction", "signature"),
}
_CLOCK = re.compile(r"[0-9][0-9]:[0-9][0-9]")


class VenueDatabase:
    """The rows of each domain's table, by the constraints that they fit."""

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """`tables`: rows of attraction, hotel, restaurant and train, as MultiWOZ's files have them."""
        self._rows = {
            domain: [{mwzeval_slot(column): value for column, value in row.items()} for row in rows]
            for domain, rows in tables.items()
        }
        # As in mwzeval, the first row says which columns a table has.
        self._columns = {
            domain: frozenset(rows[0] if rows else ()) - frozenset(_IGNORED.get(domain, ()))
            for domain, rows in self._rows.items()
        }
        self._fitting: dict[tuple[str, str, str], frozenset[int]] = {}

    def query(self, domain: str, constraints: Mapping[str, str]) -> frozenset[str]:
        """The ids of the venues or trains that fit all constraints; those on other columns are ignored."""
        rows = self._rows.get(domain, [])
        fitting = frozenset(range(len(rows)))
        for column, value in constraints.items():
            if column in self._columns.get(domain, ()) and value not in NO_CONSTRAINT:
                fitting &= self._fit(domain, column, mwzeval_value(column, value))
        key = "trainid" if domain == "train" else "id"
        return frozenset(str(rows[index].get(key)) for index in fitting)

    def _fit(self, domain: str, column: str, wanted: str) -> frozenset[int]:
        """The rows that fit one constraint."""
        key = domain, column, wanted
        if key not in self._fitting:
            values = [row.get(column) for row in self._rows[domain]]
            fits = {value: _fits(domain, column, value, wanted) for value in {v for v in values if isinstance(v, str)}}
            self._fitting[key] = frozenset(
                index for index, value in enumerate(values) if isinstance(value, str) and fits[value]
            )
        return self._fitting[key]


def _fits(domain: str, column: str, value: str, wanted: str) -> bool:
    if value == UNKNOWN:
        return True
    if column == "arrive":
        return _minutes(value) <= _minutes(wanted)
    if column == "leave":
        return _minutes(value) >= _minutes(wanted)
    if column in _FUZZY[domain]:
        return partial_ratio(value, wanted) >= LEAST_RATIO
    return value == wanted


def _minutes(time: str) -> int:
    """The minute of the day; 0 for a text that does not begin with a time, as in mwzeval."""
    return int(time[:2]) * 60 + int(time[3:5]) if _CLOCK.match(time) else 0


@clear_with_texts
@lru_cache(maxsize=1 << 16)
def partial_ratio(one: str, other: str) -> int:
    """fuzzywuzzy's `partial_ratio`: how well the shorter text fits the best of some parts of the longer, in percent.

    >>> partial_ratio("cambridge", "cambridge train station")
    100
    """
    if one == other:
        return 100
    if not one or not other or max(len(one), len(other)) > LONGEST:
        return 0
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    best = 0.0
    for block in SequenceMatcher(None, short, long).get_matching_blocks():
        start = max(block.b - block.a, 0)
        ratio = SequenceMatcher(None, short, long[start : start + len(short)]).ratio()
        if ratio > 0.995:  # fuzzywuzzy calls this equal
            return 100
        best = max(best, ratio)
    return round(100 * best)
