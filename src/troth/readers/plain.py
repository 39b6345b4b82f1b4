"""Plain JSON to records and back: type checks whose errors have a place, states of texts, turns by number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.normalize import dialogue_id, is_empty
from troth.core.records import Dialogue, Frame, Pair, State, Turn
from troth.readers.decode import decode
from troth.readers.source import Document

PlainState = dict[str, dict[str, tuple[str, ...]]]  # service to slot to values

_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}


def mapping(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{what} is {_kind(value)}, not an object")
    return value


def sequence(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise UserError(f"{what} is {_kind(value)}, not a list")
    return value


def text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{what} is {_kind(value)}, not text")
    return value


def whole(value: object, what: str) -> int:
    """A number that counts: 0, 1, 2 … as a number or, since many scripts write it so, as digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value) if len(value) < 10 else value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return value
    raise UserError(f"{what} is {shown(value)}, not 0, 1, 2 …")


def field(row: Mapping[str, Any], key: str, what: str) -> Any:
    if key not in row:
        raise UserError(f"{what} has no '{key}'")
    return row[key]


def value_text(value: object, slot: str) -> str:
    """A slot's value, which is text: `6` and `"6"` are different people's ways of writing, and only one compares."""
    if isinstance(value, str):
        return value
    if value is None:
        raise UserError(f"slot '{slot}': value is null; leave the slot out or write a text")
    if isinstance(value, bool | int | float):
        shown = msgspec.json.encode(value).decode()
        raise UserError(f"slot '{slot}': value {shown} is {_kind(value)}; write it as text")
    raise UserError(f"slot '{slot}': value is {_kind(value)}; write it as text")


def state(value: object, what: str) -> PlainState:
    """`{domain: {slot: text}}` with what MultiWOZ's family writes for "no value" left out."""
    found: PlainState = {}
    for service, slots in mapping(value, what).items():
        for slot, raw in mapping(slots, f"{what} of '{service}'").items():
            held = value_text(raw, f"{service}-{slot}")
            if not is_empty(held):
                add(found, service, slot, held)
    return found


def add(state: PlainState, service: str, slot: str, value: str) -> None:
    """Put a value into a state; a second, different value of a slot is kept beside the first."""
    slots = state.setdefault(service, {})
    held = slots.get(slot, ())
    if value not in held:
        slots[slot] = (*held, value)


def frames(state: PlainState) -> tuple[Frame, ...]:
    return tuple(Frame(service=service, state=State(slot_values=slots)) for service, slots in state.items())


def services(turns: Iterable[Turn]) -> tuple[str, ...]:
    """The services of some turns in the order in which they come up."""
    return tuple(dict.fromkeys(frame.service for turn in turns for frame in turn.frames))


def dialogues(document: Document) -> Iterator[tuple[str, Any]]:
    """The entries of `{dialogue: …}`, decoded one at a time, under MultiWOZ's ids in one spelling."""
    seen: dict[str, str] = {}
    for key, raw in decode(document, dict[str, msgspec.Raw]).items():
        name = dialogue_id(key)
        if name in seen:
            raise UserError(f"stands here twice, as '{seen[name]}' and '{key}'", dialogue=name, hint="remove one")
        seen[name] = key
        yield name, decode(document, object, data=raw, dialogue=name)


def in_order(turns: Iterable[tuple[object, Any]]) -> list[Any]:
    """Turns by their numbers, which must be 0, 1, 2 …: a gap would move every later turn against the gold."""
    numbered: dict[int, Any] = {}
    for key, turn in turns:
        number = whole(key, "the turn's number")
        if number in numbered:
            raise UserError("stands here twice", turn=number, hint="remove one")
        numbered[number] = turn
    for number in range(len(numbered)):
        if number not in numbered:
            raise UserError(f"turn {number} is missing", hint="turns count 0, 1, 2 … without gaps")
    return [numbered[number] for number in range(len(numbered))]


def sides(item: Dialogue | Pair) -> tuple[Dialogue, dict[int, Turn] | None]:
    """For writing: the gold dialogue, and the predicted turns by number where the item is a pair."""
    if isinstance(item, Dialogue):
        return item, None
    if item.pred is None:
        return item.gold, None
    predicted = dict(item.pred.user_turns())
    for number in sorted(predicted.keys() - dict(item.gold.user_turns()).keys()):
        raise UserError("is predicted, but not in the gold dialogue", dialogue=item.gold.id, turn=number)
    return item.gold, predicted


def by_position(dialogue: Dialogue) -> None:
    """For writing formats that have no gaps: every user turn's number must be its position."""
    for position, (number, _) in enumerate(dialogue.user_turns()):
        if number != position:
            raise UserError(
                f"turn {position} is missing", dialogue=dialogue.id, hint="this format has no place for gaps"
            )


def shown(value: object) -> str:
    """A value as an error names it: texts and numbers themselves, cut short, of anything else the kind."""
    if isinstance(value, str):
        return f"'{value[:40]}'"
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**18
    return str(value) if number else _kind(value)


def _kind(value: object) -> str:
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)
