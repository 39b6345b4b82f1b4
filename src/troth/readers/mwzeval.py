"""mwzeval's JSON: predicted states and responses, a list of turns per MultiWOZ dialogue.

`{dialogue: [{"state": {domain: {slot: value}}, "response": text}, …]}`; the user's words are not in it. A predicted
`none` is kept: mwzeval counts it as a value like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, BinaryIO

import msgspec

from troth.core.errors import UserError
from troth.core.records import Dialogue, Turn
from troth.readers.decode import where
from troth.readers.format import Format
from troth.readers.plain import (
    PlainState,
    by_position,
    dialogue,
    dialogues,
    mapping,
    sequence,
    text,
    user_turn,
    value_text,
)
from troth.readers.source import Document

FORMAT = Format(
    name="mwzeval",
    about="mwzeval input files: predicted states and responses per MultiWOZ dialogue",
    profile="mwzeval",
    writes=True,
)

_START = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*[{\]]')
_KEY = re.compile(rb'"(?:state|response)"\s*:')


def detect(document: Document) -> bool:
    data = document.data
    return bool(_START.match(data)) and bool(_KEY.search(data)) and b'"turns"' not in data


def read(document: Document) -> Iterator[Dialogue]:
    for name, raw in dialogues(document):
        turns: list[Turn] = []
        with where(dialogue=name):
            for number, item in enumerate(sequence(raw, "the dialogue")):
                with where(turn=number):
                    turns.extend(_turns(number, mapping(item, "the turn")))
        yield dialogue(name, turns)


def _turns(number: int, row: dict[str, Any]) -> Iterator[Turn]:
    if "state" not in row and "response" not in row:
        raise UserError("has neither 'state' nor 'response'")
    yield user_turn(number, _state(row.get("state", {})))
    if "response" in row:
        yield Turn(speaker="SYSTEM", text=text(row["response"], "'response'"))


def _state(value: object) -> PlainState:
    held: PlainState = {}
    for service, slots in mapping(value, "'state'").items():
        for slot, raw in mapping(slots, f"'state' of '{service}'").items():
            held.setdefault(service, {})[slot] = (value_text(raw, f"{service}-{slot}"),)
    return held


def write(dialogues: Iterable[Dialogue], out: BinaryIO) -> None:
    """One JSON object. A slot has one value here: the first, which is the one that counts in a prediction."""
    out.write(b"{")
    for position, item in enumerate(dialogues):
        by_position(item)
        out.write(b",\n" if position else b"\n")
        out.write(msgspec.json.encode(item.id) + b": " + msgspec.json.encode(_rows(item)))
    out.write(b"\n}\n")


def _rows(dialogue: Dialogue) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for turn, after in pairwise((*dialogue.turns, None)):
        if turn is None or turn.speaker != "USER":
            continue
        row: dict[str, Any] = {
            "state": {
                frame.service: {slot: values[0] for slot, values in frame.state.slot_values.items() if values}
                for frame in turn.frames
                if frame.state is not None
            }
        }
        if after is not None and after.speaker == "SYSTEM":
            row["response"] = after.text
        rows.append(row)
    return rows
