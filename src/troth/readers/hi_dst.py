"""Hi-DST's `log_test_*.json`: gold state and predicted changes of every turn, with the texts.

`{dialogue: {turn: {"a_usr": …, "gt": {"hotel-area": value}, "pr_turn": {…}, …}}}`. The predicted state is the
union of all `pr_turn` up to a turn, as in the scripts of its authors and of FGA's. Both scripts then compare values by
their own rules (substrings, times within 15 minutes, TripPy's spellings), which are not applied here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from troth.core.records import Pair, Turn
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(name="hi-dst", about="Hi-DST's `log_test_*.json`: gold state and predicted changes of every turn")

_MARKS = re.compile(rb'"pr_turn"\s*:\s*\{'), re.compile(rb'"gt"\s*:\s*\{')


def detect(document: Document) -> bool:
    return document.starts(b"{") and all(mark.search(document.data) for mark in _MARKS)


def read(document: Document) -> Iterator[Pair]:
    for name, raw in plain.dialogues(document):
        gold: list[Turn] = []
        pred: list[Turn] = []
        predicted: dict[str, Any] = {}
        with error_context(dialogue=name):
            for number, item in enumerate(plain.sort_turns(plain.mapping(raw, "the dialogue").items())):
                with error_context(turn=number):
                    row = plain.mapping(item, "the turn")
                    gold += _gold_turns(number, row)
                    predicted |= plain.mapping(plain.field(row, "pr_turn", "the turn"), "'pr_turn'")
                    pred.append(plain.user_turn(number, _state(predicted)))
        yield Pair(plain.dialogue(name, gold), plain.dialogue(name, pred))


def _gold_turns(number: int, row: dict[str, Any]) -> Iterator[Turn]:
    if number:
        yield Turn(speaker="SYSTEM", text=plain.text_of(row, "a_sys", default=""))
    state = _state(plain.mapping(plain.field(row, "gt", "the turn"), "'gt'"))
    text = plain.text_of(row, "a_usr", default="")
    yield Turn(speaker="USER", text=text, frames=plain.frames(state), number=number)


def _state(slots: dict[str, Any]) -> plain.PlainState:
    state: plain.PlainState = {}
    for name, raw in slots.items():
        plain.add_value(state, *plain.domain_slot(name), plain.value_text(raw, name))
    return state
