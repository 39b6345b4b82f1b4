"""Converts states in memory, columns as lists of dictionaries, to `Dialogue` records.

A state is `{service: {slot: value}}`, or `{slot: value}` with or without the domain before the slot (`hotel-area`); a
value is a text, or several that count as the same. A list holds one state per turn, one list of states per dialogue, or
records of `troth.readers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from troth.core.errors import PredictionError, UserError
from troth.core.records import Dialogue, Frame, State, Turn
from troth.readers import plain

NO_SERVICE = ""  # where slots have no domain before them


class Columns(NamedTuple):
    """What is scored, column by column; all that are not None have an entry for each prediction."""

    predictions: list[Any]
    references: list[Any]
    dialogue_ids: list[Any] | None = None
    turn_ids: list[Any] | None = None
    histories: list[Any] | None = None


class DialogueSides(NamedTuple):
    """Gold and predicted dialogues."""

    golds: list[Dialogue]
    preds: list[Dialogue]
    grouped: bool  # whether it is known which turns belong to one dialogue


def dialogues_of(columns: Columns) -> DialogueSides:
    """Both sides as dialogues. A turn that stands alone is a dialogue of its own."""
    shapes = {_shape(item) for item in columns.references} | {
        _shape(item) for item in columns.predictions if item is not None
    }
    if len(shapes) > 1:
        what = f"{' and '.join(sorted(shapes))} are mixed"
        raise UserError(what, hint="states, lists of states, or records: one of them, on both sides")
    if shapes == {"records"}:
        _refuse(columns, "records have ids of their own")
        return DialogueSides(columns.references, [item for item in columns.predictions if item is not None], True)
    if shapes == {"dialogues"}:
        if columns.turn_ids is not None:
            raise UserError("turn_ids go with single turns", hint="the states of a dialogue are in order")
        return _by_dialogue(columns)
    return _by_turn(columns)


def _shape(item: object) -> str:
    if isinstance(item, Dialogue):
        return "records"
    return "dialogues" if isinstance(item, Sequence) and not isinstance(item, str) else "turns"


def _refuse(columns: Columns, why: str) -> None:
    for name in ("dialogue_ids", "turn_ids"):
        if getattr(columns, name) is not None:
            raise UserError(f"{name} are given", hint=why)


def _by_dialogue(columns: Columns) -> DialogueSides:
    golds, preds = [], []
    names = _names(columns.dialogue_ids, len(columns.references))
    for name, gold, pred in zip(names, columns.references, columns.predictions, strict=True):
        if pred is not None and len(pred) != len(gold):
            what = f"{len(pred)} predicted states for {len(gold)} of gold"
            raise UserError(what, dialogue=name, hint="None stands for a turn without a prediction")
        golds.append(_dialogue(name, "references", enumerate(gold)))
        if pred is not None:
            preds.append(_dialogue(name, "predictions", enumerate(pred)))
    return DialogueSides(golds, preds, True)


def _by_turn(columns: Columns) -> DialogueSides:
    count = len(columns.references)
    dialogues: dict[str, dict[int, tuple[Any, Any]]] = {}
    numbers = columns.turn_ids
    for place, name in enumerate(_names(columns.dialogue_ids, count)):
        turns = dialogues.setdefault(name, {})
        number = len(turns) if numbers is None else plain.whole_number(numbers[place], "a turn's id")
        if number in turns:
            raise UserError("duplicate turn id", dialogue=name, turn=number, hint="remove one")
        turns[number] = (columns.references[place], columns.predictions[place])
    golds, preds = [], []
    for name, turns in dialogues.items():
        ordered = sorted(turns.items())
        golds.append(_dialogue(name, "references", ((number, gold) for number, (gold, _) in ordered)))
        preds.append(_dialogue(name, "predictions", ((number, pred) for number, (_, pred) in ordered)))
    return DialogueSides(golds, preds, columns.dialogue_ids is not None)


def _names(ids: Sequence[Any] | None, count: int) -> list[str]:
    return [str(name) for name in (range(count) if ids is None else ids)]


def _dialogue(name: str, side: str, states: Any) -> Dialogue:
    turns = []
    for number, state in states:
        if state is None and side == "predictions":
            continue  # a missing prediction: it scores worst and is counted
        try:
            turns.append(Turn("USER", frames=_frames(state), number=number))
        except UserError as error:
            kind = PredictionError if side == "predictions" else UserError
            raise kind(error.what, hint=error.hint).at(file=side, dialogue=name, turn=number) from error
    return plain.dialogue(name, turns)


def _frames(state: object) -> tuple[Frame, ...]:
    if not isinstance(state, Mapping):
        raise UserError(f"a state is {plain.describe(state)}, not a mapping of slots to values")
    nested = [isinstance(value, Mapping) for value in state.values()]
    if any(nested) and not all(nested):
        raise UserError("a state holds slots and services", hint="{service: {slot: value}} or {slot: value}")
    services: dict[str, dict[str, tuple[str, ...]]] = {}
    for service, slot, value in _slots(state, nested=any(nested)):
        services.setdefault(service, {})
        if slot is not None:
            services[service][slot] = tuple(_values(value, slot))
    return tuple(Frame(service, state=State(slot_values=slots)) for service, slots in services.items())


def _slots(state: Mapping[Any, Any], *, nested: bool) -> Iterator[tuple[str, str | None, Any]]:
    """Service, slot and value; no slot for a service that is named and empty, which is information."""
    for key, value in state.items():
        name = plain.text(key, "the name of a slot or service")
        if not nested:
            domain, dash, slot = name.partition("-")
            yield (domain, slot, value) if dash else (NO_SERVICE, name, value)
            continue
        yield name, None, None
        yield from ((name, plain.text(slot, "the name of a slot"), held) for slot, held in value.items())


def _values(value: object, slot: str) -> Iterator[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        yield plain.value_text(value, slot)
        return
    if not value:
        raise UserError(f"slot '{slot}': the list of values is empty; leave the slot out")
    yield from (plain.value_text(item, slot) for item in value)
