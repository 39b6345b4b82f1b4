"""troth's own JSON Lines: one user turn per line, with its state and, if there is one, the prediction.

    {"dialogue": "a1", "turn": 0, "user": "…", "system": "…", "state": {"Hotels_1": {"city": "Leeds"}}}

docs/formats.md has the whole layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.core.errors import UserError, suggest_name
from troth.core.records import Dialogue, Frame, Pair, State, Turn
from troth.readers import plain
from troth.readers.decode import error_context, lines
from troth.readers.format import Format
from troth.readers.source import Document
from troth.text.normalize import dialogue_id

FORMAT = Format(
    name="jsonl", about="troth's own JSON Lines: one user turn per line, with its state or a prediction or both",
    writes=True, pairs=True, ending=".jsonl", streams=True,
)  # fmt: skip

NEEDED = ("dialogue", "turn", "state")
KEYS = (*NEEDED, "system", "user", "intent", "requested", "coref", "pred", "meta")

_MARKS = tuple(re.compile(rb'"%s"\s*:' % key.encode()) for key in NEEDED)


class _Row(msgspec.Struct, frozen=True):
    line: int
    gold: tuple[Turn, ...]  # the system's turn before, if the line has it, and the user's
    pred: Turn | None


def detect(document: Document) -> bool:
    return document.starts(b"{") and all(mark.search(document.head) for mark in _MARKS)


def resembles(document: Document) -> bool:
    """Whether the first line has two of the needed keys and a similar one: reading it reports the mistake."""
    try:
        row = msgspec.json.decode(document.head, type=dict[str, msgspec.Raw])
    except DECODING_ERRORS:
        return False
    missing = [key for key in NEEDED if key not in row]
    return len(missing) == 1 and ("pred" in row or any(suggest_name(key, missing) for key in row if key not in KEYS))


def read(document: Document) -> Iterator[Dialogue | Pair]:
    dialogues: dict[str, dict[int, _Row]] = {}
    for line, record in lines(document):
        with error_context(line=line):
            plain.refuse_unknown_keys(record, KEYS, "; put your own notes under 'meta'")
            name = dialogue_id(plain.text_of(record, "dialogue"))
            with error_context(dialogue=name):
                number = plain.whole_number(plain.field(record, "turn"), "'turn'")
            with error_context(dialogue=name, turn=number):
                rows = dialogues.setdefault(name, {})
                if number in rows:
                    raise UserError(f"duplicate turn, already on line {rows[number].line}", hint=plain.KEEP_ONE)
                rows[number] = _row(line, number, record)
    paired = any(row.pred is not None for rows in dialogues.values() for row in rows.values())
    for name, rows in dialogues.items():
        with error_context(dialogue=name):
            ordered: list[_Row] = plain.sort_turns(rows.items())
        yield _item(name, ordered, paired=paired)


def write(dialogues: Iterable[Dialogue | Pair], out: BinaryIO) -> None:
    """One line per user turn, in order."""
    plain.write_lines((row for item in dialogues for row in _lines(item)), out)


def _row(line: int, number: int, record: dict[str, Any]) -> _Row:
    coref = record.get("coref")
    if not isinstance(coref, bool | None):
        raise UserError("'coref' is not true or false")
    text = plain.text_of(record, "user", default="")
    frames = _frames(plain.field(record, "state"), record.get("intent", {}), record.get("requested", {}))
    user = Turn(speaker="USER", text=text, frames=frames, number=number, coref=coref)
    pred = Turn(speaker="USER", frames=_frames(record["pred"], {}, {}), number=number) if "pred" in record else None
    before = (Turn(speaker="SYSTEM", text=plain.text_of(record, "system")),) if "system" in record else ()
    return _Row(line, (*before, user), pred)


def _frames(state: object, intent: object, requested: object) -> tuple[Frame, ...]:
    """A frame for every service that is named, even with an empty state: its presence is information."""
    states, intents = plain.mapping(state, "a state"), plain.mapping(intent, "'intent'")
    requests = plain.mapping(requested, "'requested'")
    frames: list[Frame] = []
    for service in dict.fromkeys((*states, *intents, *requests)):
        slots = plain.mapping(states.get(service, {}), f"the state of '{service}'")
        state_of = State(
            active_intent=plain.text(intents[service], f"intent of '{service}'") if service in intents else None,
            requested_slots=_texts(requests[service], service) if service in requests else None,
            slot_values={slot: _values(value, f"{service}-{slot}") for slot, value in slots.items()},
        )
        frames.append(Frame(service=service, state=state_of))
    return tuple(frames)


def _values(value: object, slot: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (plain.value_text(value, slot),)
    if not value:
        raise UserError(f"slot '{slot}': the list of values is empty; leave the slot out")
    return tuple(plain.value_text(item, slot) for item in value)


def _texts(value: object, service: str) -> tuple[str, ...]:
    slots = plain.sequence(value, f"the list of requested slots of '{service}'")
    return tuple(plain.text(slot, f"an entry of the requested slots of '{service}'") for slot in slots)


def _item(name: str, rows: list[_Row], *, paired: bool) -> Dialogue | Pair:
    gold = plain.dialogue(name, [turn for row in rows for turn in row.gold])
    if not paired:
        return gold
    predicted = [row.pred for row in rows if row.pred is not None]
    return Pair(gold, plain.dialogue(name, predicted) if predicted else None)


def _lines(item: Dialogue | Pair) -> Iterator[dict[str, Any]]:
    gold, predicted = plain.sides(item)
    plain.refuse_gaps(gold)
    number = 0
    before: Turn | None = None
    for turn in gold.turns:
        if turn.speaker == "USER":
            pred = predicted.get(number)
            yield _line(gold.id, number, before, turn) | ({} if pred is None else {"pred": _plain(pred)})
            number += 1
        before = turn


def _line(name: str, number: int, before: Turn | None, turn: Turn) -> dict[str, Any]:
    row: dict[str, Any] = {"dialogue": name, "turn": number}
    if before is not None and before.speaker == "SYSTEM":
        row["system"] = before.text
    states = {frame.service: frame.state for frame in turn.frames if frame.state is not None}
    row |= {"user": turn.text, "state": _plain(turn)}
    for key, field in (("intent", "active_intent"), ("requested", "requested_slots")):
        values = {service: value for service, state in states.items() if (value := getattr(state, field)) is not None}
        row |= {key: values} if values else {}
    return row if turn.coref is None else row | {"coref": turn.coref}


def _plain(turn: Turn) -> dict[str, dict[str, str | tuple[str, ...]]]:
    return {
        service: {slot: values[0] if len(values) == 1 else values for slot, values in slots.items() if values}
        for service, slots in plain.states(turn).items()
    }
