"""Converts plain JSON values to records and back: type checks, states of texts, turns by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Literal

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.records import Dialogue, Frame, Pair, State, Turn
from troth.readers.decode import members
from troth.readers.source import Document
from troth.text.normalize import dialogue_id, is_empty

PlainSlots = dict[str, tuple[str, ...]]  # slot to values
PlainState = dict[str, PlainSlots]  # by service

KEEP_ONE = "keep one of the two"

_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}


def mapping(value: object, what: str) -> dict[str, Any]:
    """The value, if it is an object."""
    if not isinstance(value, dict):
        raise UserError(f"{what} is {_kind(value)}, not an object")
    return value


def sequence(value: object, what: str) -> list[Any]:
    """The value, if it is a list."""
    if not isinstance(value, list):
        raise UserError(f"{what} is {_kind(value)}, not a list")
    return value


def text(value: object, what: str) -> str:
    """The value, if it is text."""
    if not isinstance(value, str):
        raise UserError(f"{what} is {_kind(value)}, not text")
    return value


def whole_number(value: object, what: str) -> int:
    """The value as 0, 1, 2 …; text of digits is accepted, because many scripts write numbers so."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value) if len(value) < 10 else value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    raise UserError(f"{what} is {describe(value)}, not 0, 1, 2 …")


def field(row: Mapping[str, Any], key: str, what: str = "the object") -> Any:
    """The value of a key that must be there."""
    if key not in row:
        raise UserError(f"{what} has no '{key}'")
    return row[key]


def text_of(row: Mapping[str, Any], key: str, what: str = "the object", default: str | None = None) -> str:
    """The text under a key, which must be there unless there is a default."""
    return text(field(row, key, what) if default is None else row.get(key, default), f"'{key}'")


def refuse_unknown_keys(row: Mapping[str, Any], known: Sequence[str], note: str = "") -> None:
    """Raises an error for a key that a format does not have: a misspelt key must not be taken for a missing one."""
    for key in row:
        if key not in known:
            hint = suggest_name(key, known) or "known: " + ", ".join(known) + note
            raise UserError(f"key '{key}' is not known", hint=hint)


def value_text(value: object, slot: str) -> str:
    """The value of a slot, which must be text: `6` and `"6"` would compare as different."""
    if isinstance(value, str):
        return value
    if value is None:
        raise UserError(f"slot '{slot}': value is null; leave the slot out or write a text")
    number = f" {msgspec.json.encode(value).decode()}" if isinstance(value, bool | int | float) else ""
    raise UserError(f"slot '{slot}': value{number} is {_kind(value)}; write it as text")


def describe(value: object) -> str:
    """A value as errors show it: texts, cut short, and numbers; for other values, their type."""
    if isinstance(value, str):
        return f"'{value[:40]}'"
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18
    return str(value) if number else _kind(value)


def _kind(value: object) -> str:
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)


class FrameMaker:
    """Makes the frames of one dialogue's turns. A service whose raw state has not changed keeps its frame.

    Most services do not change from turn to turn, and scoring recognises an unchanged frame by its identity.
    """

    def __init__(self, parse: Callable[[str, Any], PlainSlots]) -> None:
        """`parse`: from a service and its raw state to values by slot."""
        self._parse = parse
        self._last: dict[str, tuple[Any, Frame | None]] = {}

    def __call__(self, raw: Mapping[str, Any]) -> tuple[Frame, ...]:
        """A frame for each service that has a value."""
        frames = []
        for service, value in raw.items():
            known = self._last.get(service)
            if known is None or known[0] != value:
                slots = self._parse(service, value)
                frame = Frame(service=service, state=State(slot_values=slots)) if slots else None
                known = self._last[service] = (value, frame)
            if known[1] is not None:
                frames.append(known[1])
        return tuple(frames)


def state(value: object, what: str) -> PlainState:
    """`{domain: {slot: text}}` as a state, without the texts that mean "no value" in MultiWOZ's files."""
    values: PlainState = {}
    for service, slots in mapping(value, what).items():
        for slot, raw in mapping(slots, f"{what} of '{service}'").items():
            add_value(values, service, slot, value_text(raw, f"{service}-{slot}"))
    return values


def states(turn: Turn) -> PlainState:
    """The values of each service that has a state in a turn."""
    return {frame.service: frame.state.slot_values for frame in turn.frames if frame.state is not None}


def domain_slot(name: str) -> tuple[str, str]:
    """`hotel-area` as domain and slot."""
    domain, dash, slot = name.partition("-")
    if not dash:
        raise UserError(f"slot '{name}' is not of the form domain-slot")
    return domain, slot


def add_value(state: PlainState, service: str, slot: str, value: str) -> None:
    """Adds a value to a state, unless it means "no value"."""
    if not is_empty(value):
        add(state, service, slot, value)


def add(state: PlainState, service: str, slot: str, value: str) -> None:
    """Adds a value to a state; a second, different value of a slot is kept beside the first."""
    slots = state.setdefault(service, {})
    values = slots.get(slot, ())
    if value not in values:
        slots[slot] = (*values, value)


def frames(state: PlainState) -> tuple[Frame, ...]:
    """A frame for each service of a state."""
    return tuple(Frame(service=service, state=State(slot_values=slots)) for service, slots in state.items())


def user_turn(number: int, state: PlainState) -> Turn:
    """A user turn with only a number and a state."""
    return Turn(speaker="USER", number=number, frames=frames(state))


def dialogue(name: str, turns: Iterable[Turn]) -> Dialogue:
    """A dialogue of these turns, with their services in the order in which they first occur."""
    turns = tuple(turns)
    services = dict.fromkeys(frame.service for turn in turns for frame in turn.frames)
    return Dialogue(id=name, turns=turns, services=tuple(services))


def dialogues(document: Document) -> Iterator[tuple[str, Any]]:
    """The entries of `{dialogue: …}`, one at a time, with the ids of MultiWOZ in one spelling."""
    seen: dict[str, str] = {}
    for key, value in members(document):
        name = dialogue_id(key)
        if name in seen:
            raise UserError(f"duplicate dialogue: '{seen[name]}' and '{key}'", dialogue=name, hint=KEEP_ONE)
        seen[name] = key
        yield name, value


def sort_turns(turns: Iterable[tuple[object, Any]]) -> list[Any]:
    """The turns sorted by number. Numbers must be 0, 1, 2 …: after a gap, later turns would not match the gold."""
    numbered: dict[int, Any] = {}
    for key, turn in turns:
        number = whole_number(key, "the turn's number")
        if number in numbered:
            raise UserError("duplicate turn", turn=number, hint=KEEP_ONE)
        numbered[number] = turn
    for number in range(len(numbered)):
        if number not in numbered:
            raise UserError(f"turn {number} is missing", hint="turns count 0, 1, 2 … without gaps")
    return [numbered[number] for number in range(len(numbered))]


def encode_indented(value: object, indent: int = 2, order: Literal["sorted"] | None = None) -> bytes:
    """A value as the content of a JSON file, indented."""
    return msgspec.json.format(msgspec.json.encode(value, order=order), indent=indent) + b"\n"


def write_lines(rows: Iterable[object], out: BinaryIO) -> None:
    """One JSON value per line."""
    for row in rows:
        out.write(msgspec.json.encode(row) + b"\n")


def write_object(entries: Iterable[tuple[str, object]], out: BinaryIO) -> None:
    """One JSON object, with an entry per line."""
    for position, (key, value) in enumerate(entries):
        out.write((b",\n" if position else b"{\n") + msgspec.json.encode(key) + b": " + msgspec.json.encode(value))
    out.write(b"\n}\n" if out.tell() else b"{\n}\n")


def sides(item: Dialogue | Pair) -> tuple[Dialogue, dict[int, Turn]]:
    """The gold dialogue, and the predicted turns by number if the item is a pair."""
    if isinstance(item, Dialogue) or item.pred is None:
        return (item if isinstance(item, Dialogue) else item.gold), {}
    predicted = dict(item.pred.user_turns())
    for number in sorted(predicted.keys() - dict(item.gold.user_turns()).keys()):
        raise UserError("is predicted, but not in the gold dialogue", dialogue=item.gold.id, turn=number)
    return item.gold, predicted


def refuse_gaps(dialogue: Dialogue) -> None:
    """Raises an error for a dialogue with missing turns, in a format that numbers turns by position."""
    for position, (number, _) in enumerate(dialogue.user_turns()):
        if number != position:
            raise UserError(f"turn {position} is missing", dialogue=dialogue.id, hint="this format cannot have gaps")
