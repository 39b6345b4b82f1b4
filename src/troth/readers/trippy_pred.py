"""TripPy's `pred_res.*.json`: predicted and true values of every slot, turn by turn.

A list of turns with `guid`, `slot_prediction_{domain-slot}` and `slot_groundtruth_{domain-slot}` among many other keys.
Values are converted to the form in which TripPy's own script compares them: predictions are word pieces ("17 : 15"), so
both sides are tokenised. Its list of equivalent spellings (`label_maps`) is not applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Pair, Turn
from troth.readers import plain
from troth.readers.decode import decode_unique, error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.text.normalize import dialogue_id

FORMAT = Format(name="trippy-pred", about="TripPy's `pred_res.*.json`: predicted and true values of every slot")

_PRED, _GOLD = "slot_prediction_", "slot_groundtruth_"
_INFORMED = "§§"  # marks a value that comes from a system turn


def detect(document: Document) -> bool:
    return document.starts(b"[") and b'"guid"' in document.data and b'"slot_prediction_' in document.data


def read(document: Document) -> Iterator[Pair]:
    turns: dict[str, list[tuple[object, Any]]] = {}
    for position, raw in enumerate(decode_unique(document, list[Any])):
        row = plain.mapping(raw, f"entry {position}")
        name, number = _parse_guid(plain.field(row, "guid", f"entry {position}"), position)
        turns.setdefault(name, []).append((number, row))
    for name, rows in turns.items():
        with error_context(dialogue=name):
            yield _pair(name, plain.sort_turns(rows))


def _parse_guid(guid: object, position: int) -> tuple[str, int]:
    """`["test", "MUL0484.json", "0"]` or `"test-MUL0484.json-0"`."""
    parts = guid
    if isinstance(guid, str):
        front, _, number = guid.rpartition("-")
        parts = [*front.split("-", 1), number]
    if not isinstance(parts, list) or len(parts) != 3:
        raise UserError(f"'guid' of entry {position} is not [set, dialogue, turn]")
    name = dialogue_id(plain.text(parts[1], f"the dialogue in 'guid' of entry {position}"))
    with error_context(dialogue=name):
        return name, plain.whole_number(parts[2], f"the turn in 'guid' of entry {position}")


def _pair(name: str, rows: list[dict[str, Any]]) -> Pair:
    gold: list[Turn] = []
    pred: list[Turn] = []
    before: plain.PlainState = {}
    for number, row in enumerate(rows):
        with error_context(turn=number):
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
        value = tokenize(informed.removeprefix(_INFORMED))
        if informed.startswith(_INFORMED) and value == "none":  # no value to copy: the slot does not change
            for earlier in before.get(domain, {}).get(slot, ()):
                plain.add(state, domain, slot, earlier)
        else:
            plain.add_value(state, domain, slot, value)
    return state


def tokenize(value: str) -> str:
    """The value with spaces between words and other characters, as in TripPy's script; `Ġ` is RoBERTa's space."""
    if "Ġ" in value:
        value = value.replace(" ", "").replace("Ġ", " ").strip()
    return " ".join(piece.strip() for piece in re.split(r"(\W+)", value) if piece.strip())
