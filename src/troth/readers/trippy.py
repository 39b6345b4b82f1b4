"""TripPy's correctness on MultiWOZ: right or wrong per slot and turn, without values.

`{dialogue: {turn: [1, 0, …]}}`, one number per slot, as the authors of FGA publish TripPy's result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from troth.core.errors import UserError
from troth.core.records import Dialogue, Pair, Turn
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(
    name="trippy", about="TripPy's correctness per slot and turn, without values", profile="trippy", correctness=True
)

# The order of TripPy's `dataset_config/multiwoz21.json`, which is the order of the numbers in the file.
SLOTS = (
    "taxi-leaveAt", "taxi-destination", "taxi-departure", "taxi-arriveBy",
    "restaurant-book_people", "restaurant-book_day", "restaurant-book_time",
    "restaurant-food", "restaurant-pricerange", "restaurant-name", "restaurant-area",
    "hotel-book_people", "hotel-book_day", "hotel-book_stay",
    "hotel-name", "hotel-area", "hotel-parking", "hotel-pricerange", "hotel-stars", "hotel-internet", "hotel-type",
    "attraction-type", "attraction-name", "attraction-area",
    "train-book_people", "train-leaveAt", "train-destination", "train-day", "train-arriveBy", "train-departure",
)  # fmt: skip

# "not part of the official MultiWOZ test data": FGA's script and its published numbers leave it out.
LEFT_OUT = frozenset(("pmul1455",))

_START = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"\d+"\s*:\s*\[\s*[01]\s*[,\]]')


def detect(document: Document) -> bool:
    return bool(_START.match(document.data))


def read(document: Document) -> Iterator[Pair]:
    for name, raw in plain.dialogues(document):
        if name in LEFT_OUT:
            continue
        with error_context(dialogue=name):
            pred = tuple(map(_turn, count(), plain.sort_turns(plain.mapping(raw, "the dialogue").items())))
        gold = tuple(Turn(speaker="USER", number=turn.number) for turn in pred)
        yield Pair(gold=Dialogue(id=name, turns=gold), pred=Dialogue(id=name, turns=pred))


def _turn(number: int, raw: object) -> Turn:
    with error_context(turn=number):
        marks = plain.sequence(raw, "the turn")
        if not marks:  # neither right nor wrong
            raise UserError("the turn's list is empty")
        for mark in marks:
            if mark not in (0, 1):
                raise UserError(f"{plain.describe(mark)} where 0 or 1 is expected")
    slots = SLOTS if len(marks) == len(SLOTS) else [f"slot_{index:02d}" for index in range(len(marks))]
    correct = {slot: mark == 1 for slot, mark in zip(slots, marks, strict=True)}
    return Turn(speaker="USER", number=number, correct=correct)
