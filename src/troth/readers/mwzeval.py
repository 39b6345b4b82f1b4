"""mwzeval's JSON: predicted states and responses, a list of turns per MultiWOZ dialogue.

`{dialogue: [{"state": {domain: {slot: value}}, "response": text}, …]}`, without the user's texts. A predicted `none` is
kept: mwzeval counts it as a value like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, BinaryIO

from troth.core.errors import UserError
from troth.core.records import Dialogue, Turn
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(
    name="mwzeval", about="mwzeval's files: predicted states and responses", profile="mwzeval", side="pred", writes=True
)

_START = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*[{\]]')
_KEY = re.compile(rb'"(?:state|response)"\s*:')


def detect(document: Document) -> bool:
    data = document.data
    return bool(_START.match(data)) and bool(_KEY.search(data)) and b'"turns"' not in data


def read(document: Document) -> Iterator[Dialogue]:
    for name, raw in plain.dialogues(document):
        turns: list[Turn] = []
        frames = plain.FrameMaker(_slots)
        with error_context(dialogue=name):
            for number, item in enumerate(plain.sequence(raw, "the dialogue")):
                with error_context(turn=number):
                    turns.extend(_turns(number, plain.mapping(item, "the turn"), frames))
        yield plain.dialogue(name, turns)


def _turns(number: int, row: dict[str, Any], frames: plain.FrameMaker) -> Iterator[Turn]:
    if "state" not in row and "response" not in row:
        raise UserError("has neither 'state' nor 'response'")
    yield Turn(speaker="USER", number=number, frames=frames(plain.mapping(row.get("state", {}), "'state'")))
    if "response" in row:
        yield Turn(speaker="SYSTEM", text=plain.text_of(row, "response"))


def _slots(service: str, raw: object) -> plain.PlainSlots:
    slots = plain.mapping(raw, f"'state' of '{service}'")
    return {slot: (plain.value_text(value, f"{service}-{slot}"),) for slot, value in slots.items()}


def write(dialogues: Iterable[Dialogue], out: BinaryIO) -> None:
    """One JSON object. A slot has only its first value, which is the one that counts in a prediction."""
    plain.write_object(((item.id, _rows(item)) for item in dialogues), out)


def _rows(dialogue: Dialogue) -> list[dict[str, Any]]:
    plain.refuse_gaps(dialogue)
    rows: list[dict[str, Any]] = []
    for turn, after in pairwise((*dialogue.turns, None)):
        if turn is None or turn.speaker != "USER":
            continue
        state = {
            service: {slot: values[0] for slot, values in slots.items() if values}
            for service, slots in plain.states(turn).items()
        }
        response = {"response": after.text} if after is not None and after.speaker == "SYSTEM" else {}
        rows.append({"state": state, **response})
    return rows
