"""Hi-DST's `log_test_*.json`: gold state and predicted changes of every turn, with what was said.

`{dialogue: {turn: {"a_usr": …, "gt": {"hotel-area": value}, "pr_turn": {…}, …}}}`. The predicted state is what all
`pr_turn` up to a turn add up to, as in the scripts of its authors and of FGA's. Both scripts then compare values by
rules of their own (substrings, times within 15 minutes, TripPy's spellings), which are not applied here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Pair, Turn
from troth.readers.decode import where
from troth.readers.format import Format
from troth.readers.plain import (
    PlainState,
    dialogue,
    dialogues,
    field,
    frames,
    in_order,
    mapping,
    put,
    text,
    user_turn,
    value_text,
)
from troth.readers.source import Document

FORMAT = Format(name="hi-dst", about="Hi-DST's `log_test_*.json`: gold state and predicted changes of every turn")

_CHANGES, _GOLD = re.compile(rb'"pr_turn"\s*:\s*\{'), re.compile(rb'"gt"\s*:\s*\{')


def detect(document: Document) -> bool:
    data = document.data
    return data.lstrip()[:1] == b"{" and bool(_CHANGES.search(data)) and bool(_GOLD.search(data))


def read(document: Document) -> Iterator[Pair]:
    for name, raw in dialogues(document):
        gold: list[Turn] = []
        pred: list[Turn] = []
        predicted: dict[str, Any] = {}
        with where(dialogue=name):
            for number, item in enumerate(in_order(mapping(raw, "the dialogue").items())):
                with where(turn=number):
                    row = mapping(item, "the turn")
                    gold += _said(number, row)
                    predicted |= mapping(field(row, "pr_turn", "the turn"), "'pr_turn'")
                    pred.append(user_turn(number, _state(predicted)))
        yield Pair(dialogue(name, gold), dialogue(name, pred))


def _said(number: int, row: dict[str, Any]) -> Iterator[Turn]:
    if number:
        yield Turn(speaker="SYSTEM", text=text(row.get("a_sys", ""), "'a_sys'"))
    said = text(row.get("a_usr", ""), "'a_usr'")
    held = _state(mapping(field(row, "gt", "the turn"), "'gt'"))
    yield Turn(speaker="USER", text=said, frames=frames(held), number=number)


def _state(slots: dict[str, Any]) -> PlainState:
    held: PlainState = {}
    for name, raw in slots.items():
        domain, dash, slot = name.partition("-")
        if not dash:
            raise UserError(f"slot '{name}' is not of the form domain-slot")
        put(held, domain, slot, value_text(raw, name))
    return held
