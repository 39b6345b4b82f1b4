"""Result files of TRADE and SOM-DST: gold and predicted state of every turn in one JSON object.

`{dialogue: {turn: {"gt": {domain: {slot: value}}, "pr": …}}}`, or the older form that TRADE's own code writes, in which
a state is a list of `domain-slot-value` under `turn_belief` and `pred_bs_ptr` (or `pred_bs_gen`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Pair, Turn
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(name="trade", about="Result files of TRADE and SOM-DST: gold and predicted state of every turn")

GOLD = ("gt", "turn_belief")
PRED = ("pr", "pred_bs_ptr", "pred_bs_gen")

_STATES = re.compile(rb'"gt"\s*:\s*\{'), re.compile(rb'"pr"\s*:\s*\{')
_LISTS = re.compile(rb'"turn_belief"\s*:\s*\['), re.compile(rb'"pred_bs_(?:ptr|gen)"\s*:\s*\[')


def detect(document: Document) -> bool:
    if not document.starts(b"{") or b'"pr_turn"' in document.data:  # Hi-DST has `gt` and `pr`, too
        return False
    return any(all(mark.search(document.data) for mark in marks) for marks in (_STATES, _LISTS))


def read(document: Document) -> Iterator[Pair]:
    for name, raw in plain.dialogues(document):
        with error_context(dialogue=name):
            rows = plain.sort_turns(plain.mapping(raw, "the dialogue").items())
            gold, pred = ([_turn(number, row, keys) for number, row in enumerate(rows)] for keys in (GOLD, PRED))
        yield Pair(plain.dialogue(name, gold), plain.dialogue(name, pred))


def _turn(number: int, row: Any, keys: tuple[str, ...]) -> Turn:
    with error_context(turn=number):
        key = next((key for key in keys if key in plain.mapping(row, "the turn")), None)
        if key is None:
            raise UserError("has no " + " or ".join(f"'{name}'" for name in keys))
        state = row[key]
        values = _parse_list(state, key) if isinstance(state, list) else plain.state(state, f"'{key}'")
        return plain.user_turn(number, values)


def _parse_list(items: object, key: str) -> plain.PlainState:
    state: plain.PlainState = {}
    for item in plain.sequence(items, f"'{key}'"):
        parts = plain.text(item, f"an entry of '{key}'").split("-", 2)
        if len(parts) < 3:
            raise UserError(f"'{item}' in '{key}' is not of the form domain-slot-value")
        plain.add_value(state, *parts)
    return state
