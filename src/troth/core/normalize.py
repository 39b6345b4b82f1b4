"""Slot names and values in one form: pure functions, named in the signature of every score that they move.

MultiWOZ has been written down in many ways: `restaurant-book_people` (TripPy), `restaurant-book people` (TRADE),
`restaurant-bookpeople` (2.2), `people` (mwzeval, CheckDST), `arriveBy`, `arriveby`, `arrive`. Gold in one of them and
predictions in another can be compared only under one name. The normaliser of mwzeval has a file of its own.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

MULTIWOZ_DOMAINS = frozenset(
    ("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train", "booking")
)
MULTIWOZ_SLOTS = 30  # domain-slot pairs of MultiWOZ 2.1 as TRADE and its successors count them

_MULTIWOZ_ID = re.compile(r"(?i)^((?:p?mul|s?sng|woz)\d+)(?:\.json)?$")
_ALIASES = {"arrive": "arriveby", "leave": "leaveat", "price": "pricerange"}

# The value map of the CheckDST authors' script.
_CHECKDST_VALUES = {"centre": "center", **{f"{stars}-star": str(stars) for stars in range(6)}}


def dialogue_id(name: str) -> str:
    """A dialogue id in one spelling: `MUL0484.json`, `MUL0484` and `mul0484` are one. Others stay as they are."""
    known = _MULTIWOZ_ID.match(name)
    return known[1].lower() if known else name


def multiwoz_file(id: str) -> str:
    """A dialogue id in the spelling of MultiWOZ's own files: `mul0484` is `MUL0484.json`."""
    known = _MULTIWOZ_ID.match(id)
    return f"{known[1].upper()}.json" if known else id


def multiwoz_slot(domain: str, slot: str) -> str:
    """The one name of a MultiWOZ slot, without domain and without `book`: `hotel-book_people` is `people`."""
    name = slot.lower().replace(" ", "").replace("_", "")
    name = name.removeprefix(f"{domain.lower()}-").removeprefix("semi-")
    name = name.removeprefix("book-").removeprefix("book")
    return _ALIASES.get(name, name) or slot.lower()


@cache
def _named_entities() -> dict[str, Any]:
    return tomllib.loads((files("troth.core") / "named_entities.toml").read_text(encoding="utf-8"))


def is_named_entity(service: str, slot: str, slots: frozenset[str] | None = None) -> bool:
    """Whether a slot holds a named entity: by `slots` ("slot" or "service.slot"), else by `named_entities.toml`."""
    if slots is not None:
        return slot in slots or f"{service}.{slot}" in slots
    domain = service.lower()
    if domain in MULTIWOZ_DOMAINS:
        return multiwoz_slot(domain, slot) in _named_entities()["multiwoz"].get(domain, ())
    return slot in _named_entities()["sgd"]["slots"]


def is_empty(value: str) -> bool:
    """Whether a text is how MultiWOZ and TRADE write that a slot has no value."""
    return value in ("", "none", "not mentioned")


def checkdst_value(value: str) -> str | None:
    """A value under CheckDST's value map; None for `dontcare`, which its script leaves out of both states."""
    return None if value == "dontcare" else _CHECKDST_VALUES.get(value, value)
