"""Slot names and values brought to one form: pure functions, named in the signature of every score they move.

MultiWOZ has been written down in many ways: `restaurant-book_people` (TripPy), `restaurant-book people` (TRADE),
`restaurant-bookpeople` (2.2), `people` (mwzeval, CheckDST), `arriveBy`, `arriveby`, `arrive`. Gold in one of them and
predictions in another can be compared only under one name.
"""

from __future__ import annotations

import re

MULTIWOZ_DOMAINS = frozenset(
    ("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train", "booking")
)
MULTIWOZ_SLOTS = 30  # domain-slot pairs of MultiWOZ 2.1 as TRADE and its successors count them

_MULTIWOZ_ID = re.compile(r"(?i)^((?:p?mul|s?sng|woz)\d+)(?:\.json)?$")
_ALIASES = {"arrive": "arriveby", "leave": "leaveat", "price": "pricerange"}

# The value map of the CheckDST authors' script.
_CHECKDST_VALUES = {"centre": "center", **{f"{stars}-star": str(stars) for stars in range(6)}}


def dialogue_id(name: str) -> str:
    """`MUL0484.json`, `MUL0484` and `mul0484` are one dialogue; ids that are not MultiWOZ's stay as they are."""
    found = _MULTIWOZ_ID.match(name)
    return found[1].lower() if found else name


def multiwoz_slot(domain: str, slot: str) -> str:
    """One name for a MultiWOZ slot, without domain and without `book`: `hotel-book_people` is `people`."""
    name = slot.lower().replace(" ", "").replace("_", "")
    name = name.removeprefix(f"{domain.lower()}-").removeprefix("semi-")
    name = name.removeprefix("book-").removeprefix("book")
    return _ALIASES.get(name, name) or slot.lower()


def is_empty(value: str) -> bool:
    """How MultiWOZ and TRADE write that a slot has no value."""
    return value in ("", "none", "not mentioned")


def checkdst_value(value: str) -> str | None:
    """CheckDST's value map; None for `dontcare`, which its script leaves out of both states."""
    return None if value == "dontcare" else _CHECKDST_VALUES.get(value, value)
