"""TRADE and SOM-DST results: gold and predicted state of every turn in one JSON object.

`{dialogue: {turn: {"gt": {domain: {slot: value}}, "pr": …}}}`, or the older form that TRADE's own code writes, in which
a state is a list of `domain-slot-value` under `turn_belief` and `pred_bs_ptr` (or `pred_bs_gen`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.normalize import is_empty
from troth.core.records import Dialogue, Pair, Turn
from troth.readers.decode import where
from troth.readers.format import Format
from troth.readers.plain import PlainState, add, dialogues, frames, in_order, mapping, sequence, services, state, text
from troth.readers.source import Document

FORMAT = Format(name="trade", about="Result files of TRADE and SOM-DST: gold and predicted state of every turn")

GOLD = ("gt", "turn_belief")
PRED = ("pr", "pred_bs_ptr", "pred_bs_gen")

_STATES = re.compile(rb'"gt"\s*:\s*\{'), re.compile(rb'"pr"\s*:\s*\{')
_LISTS = re.compile(rb'"turn_belief"\s*:\s*\['), re.compile(rb'"pred_bs_(?:ptr|gen)"\s*:\s*\[')


def detect(document: Document) -> bool:
    if document.data.lstrip()[:1] != b"{":
        return False
    return any(all(mark.search(document.data) for mark in marks) for marks in (_STATES, _LISTS))


def read(document: Document) -> Iterator[Pair]:
    for name, raw in dialogues(document):
        gold: list[Turn] = []
        pred: list[Turn] = []
        with where(dialogue=name):
            for number, turn in enumerate(in_order(mapping(raw, "the dialogue").items())):
                with where(turn=number):
                    row = mapping(turn, "the turn")
                    gold.append(_turn(number, row, GOLD))
                    pred.append(_turn(number, row, PRED))
        yield Pair(
            gold=Dialogue(id=name, turns=tuple(gold), services=services(gold)),
            pred=Dialogue(id=name, turns=tuple(pred), services=services(pred)),
        )


def _turn(number: int, row: dict[str, Any], keys: tuple[str, ...]) -> Turn:
    key = next((key for key in keys if key in row), None)
    if key is None:
        raise UserError("has no " + " or ".join(f"'{name}'" for name in keys))
    held = row[key]
    found = _listed(held, key) if isinstance(held, list) else state(held, f"'{key}'")
    return Turn(speaker="USER", number=number, frames=frames(found))


def _listed(items: object, key: str) -> PlainState:
    found: PlainState = {}
    for item in sequence(items, f"'{key}'"):
        parts = text(item, f"an entry of '{key}'").split("-", 2)
        if len(parts) < 3:
            raise UserError(f"'{item}' in '{key}' is not of the form domain-slot-value")
        if not is_empty(parts[2]):
            add(found, *parts)
    return found
