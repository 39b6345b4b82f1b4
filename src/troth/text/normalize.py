"""Normal forms of dialogue ids, slot names and values. The signature of a score names those that it uses.

The slots of MultiWOZ have many spellings: `restaurant-book_people` (TripPy), `restaurant-book people` (TRADE),
`restaurant-bookpeople` (2.2), `people` (mwzeval, CheckDST), `arriveBy`, `arriveby`, `arrive`. Gold and predictions with
different spellings can be compared only under one name. `troth.text.mwzeval` has the normaliser of mwzeval.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TypeVar

from troth.text.lexicon import load_table

T = TypeVar("T")

MULTIWOZ_DOMAINS = frozenset(
    ("attraction", "bus", "hospital", "hotel", "police", "restaurant", "taxi", "train", "booking")
)
MULTIWOZ_SLOTS = 30  # domain-slot pairs of MultiWOZ 2.1 as TRADE and its successors count them

_MULTIWOZ_ID = re.compile(r"(?i)^((?:p?mul|s?sng|woz)\d+)(?:\.json)?$")
_ALIASES = {"arrive": "arriveby", "leave": "leaveat", "price": "pricerange"}

# The value map of the CheckDST authors' script.
_CHECKDST_VALUES = {"centre": "center", **{f"{stars}-star": str(stars) for stars in range(6)}}


def compose(value: T) -> T:
    """Text in Unicode's composed form (NFC), also inside lists and as values of objects; anything else as it is.

    An `é` may be one character or two, a letter and its accent, which look the same. Metrics of troth's own compare
    composed texts; metrics that reproduce a public script compare texts as they are.

    >>> compose(["cafe\u0301", 1]) == ["caf\u00e9", 1]
    True
    """
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)  # type: ignore[return-value]
    if isinstance(value, dict):
        return {key: compose(item) for key, item in value.items()}  # type: ignore[return-value]
    if isinstance(value, list | tuple):
        return type(value)(map(compose, value))
    return value


def dialogue_id(name: str) -> str:
    """The normal form of a dialogue id: `mul0484` for `MUL0484.json` and `MUL0484`. Ids of other data do not change."""
    match = _MULTIWOZ_ID.match(name)
    return match[1].lower() if match else name


def multiwoz_file(id: str) -> str:
    """A dialogue id in the spelling of MultiWOZ's own files: `mul0484` is `MUL0484.json`."""
    match = _MULTIWOZ_ID.match(id)
    return f"{match[1].upper()}.json" if match else id


def multiwoz_slot(domain: str, slot: str) -> str:
    """The normal form of a MultiWOZ slot, without domain and without `book`: `hotel-book_people` is `people`."""
    name = slot.lower().replace(" ", "").replace("_", "")
    name = name.removeprefix(f"{domain.lower()}-").removeprefix("semi-")
    name = name.removeprefix("book-").removeprefix("book")
    return _ALIASES.get(name, name) or slot.lower()


def is_named_entity(service: str, slot: str, slots: frozenset[str] | None = None) -> bool:
    """Whether a slot holds a named entity: by `slots` ("slot" or "service.slot"), else by `named_entities.toml`."""
    if slots is not None:
        return slot in slots or f"{service}.{slot}" in slots
    domain = service.lower()
    if domain in MULTIWOZ_DOMAINS:
        return multiwoz_slot(domain, slot) in load_table("named_entities")["multiwoz"].get(domain, ())
    return slot in load_table("named_entities")["sgd"]["slots"]


def is_empty(value: str) -> bool:
    """Whether MultiWOZ or TRADE writes this text for a slot without a value."""
    return value in ("", "none", "not mentioned")


def checkdst_value(value: str) -> str | None:
    """A value under CheckDST's value map; None for `dontcare`, which its script leaves out of both states."""
    return None if value == "dontcare" else _CHECKDST_VALUES.get(value, value)
