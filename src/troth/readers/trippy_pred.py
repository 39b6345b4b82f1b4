"""TripPy's `pred_res.*.json`: predicted and true values of every slot, turn by turn.

A list of turns with `guid`, `slot_prediction_{domain-slot}` and `slot_groundtruth_{domain-slot}` among many other keys.
Values are brought to the form in which TripPy's own script compares them: predictions come as word pieces ("17 : 15"),
so both sides are tokenised. Its list of equally good spellings (`label_maps`) is not applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Pair, Turn
from troth.readers import plain
from troth.readers.decode import unique, where
from troth.readers.format import Format
from troth.readers.source import Document
from troth.text.normalize import dialogue_id

FORMAT = Format(name="trippy-pred", about="TripPy's `pred_res.*.json`: predicted and true values of every slot")

_PRED, _GOLD = "slot_prediction_", "slot_groundtruth_"
_INFORMED = "§§"  # marks a value that was taken from what the system said


def detect(document: Document) -> bool:
    return document.starts(b"[") and b'"guid"' in document.data and b'"slot_prediction_' in document.data


def read(document: Document) -> Iterator[Pair]:
    turns: dict[str, list[tuple[object, Any]]] = {}
    for position, raw in enumerate(unique(document, list[Any])):
        row = plain.mapping(raw, f"entry {position}")
        name, number = _place(plain.field(row, "guid", f"entry {position}"), position)
        turns.setdefault(name, []).append((number, row))
    for name, rows in turns.items():
        with where(dialogue=name):
            yield _pair(name, plain.in_order(rows))


def _place(guid: object, position: int) -> tuple[str, int]:
    """`["test", "MUL0484.json", "0"]` or `"test-MUL0484.json-0"`."""
    parts = guid
    if isinstance(guid, str):
        front, _, number = guid.rpartition("-")
        parts = [*front.split("-", 1), number]
    if not isinstance(parts, list) or len(parts) != 3:
        raise UserError(f"'guid' of entry {position} is not [set, dialogue, turn]")
    name = dialogue_id(plain.text(parts[1], f"the dialogue in 'guid' of entry {position}"))
    with where(dialogue=name):
        return name, plain.whole(parts[2], f"the turn in 'guid' of entry {position}")


def _pair(name: str, rows: list[dict[str, Any]]) -> Pair:
    gold: list[Turn] = []
    pred: list[Turn] = []
    before: plain.PlainState = {}
    for number, row in enumerate(rows):
        with where(turn=number):
            slots = {key.removeprefix(_PRED) for key in row if key.startswith(_PRED)}
            for slot in slots.symmetric_difference(key.removeprefix(_GOLD) for key in row if key.startswith(_GOLD)):
                raise UserError(f"slot '{slot}' needs both '{_PRED}{slot}' and '{_GOLD}{slot}'")
            gold.append(plain.user_turn(number, _state(row, _GOLD, {})))
            before = _state(row, _PRED, before)
            pred.append(plain.user_turn(number, before))
    return Pair(plain.dialogue(name, gold), plain.dialogue(name, pred))


def _state(row: dict[str, Any], prefix: str, before: plain.PlainState) -> plain.PlainState:
    state: plain.PlainState = {}
    for key, raw in row.items():
        if not key.startswith(prefix):
            continue
        name = key.removeprefix(prefix)
        domain, slot = plain.domain_slot(name)
        informed = plain.value_text(raw, name)
        value = tokenised(informed.removeprefix(_INFORMED))
        if informed.startswith(_INFORMED) and value == "none":  # nothing to take over: the slot stays as it was
            for earlier in before.get(domain, {}).get(slot, ()):
                plain.add(state, domain, slot, earlier)
        else:
            plain.put(state, domain, slot, value)
    return state


def tokenised(value: str) -> str:
    """Words and runs of other characters apart, as in TripPy's script; `Ġ` is RoBERTa's mark for a space."""
    if "Ġ" in value:
        value = value.replace(" ", "").replace("Ġ", " ").strip()
    return " ".join(piece.strip() for piece in re.split(r"(\W+)", value) if piece.strip())
