"""States as text and back, and states that a schema allows.

    [Hotels_2] intent: SearchHotel; where_to: Leeds; rating: dontcare; requested: phone_number [Buses_1] none

Gold may have several values for a slot, all as good: what is written is the first that stands in the dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz import fuzz, process

from troth.core.records import Service, SlotSchema, State
from troth.systems.data import TrackerTurn

NOTHING, ANYTHING, NO_INTENT = "none", "dontcare", "NONE"
INTENT, REQUESTED = "intent", "requested"
CLOSE = 70.0  # how similar a categorical value must be to a possible one to stand for it, out of 100
_RESERVED = re.compile(r"\s*[;\[\]]\s*")


def dialogue_text(turn: TrackerTurn) -> str:
    """The dialogue up to this turn, oldest first: "user: … system: … user: …"."""
    return " ".join(f"{speaker.lower()}: {text}" for speaker, text in [*turn.history, ("USER", turn.user)])


def format_states(turn: TrackerTurn) -> str:
    dialogue = dialogue_text(turn).casefold()
    return " ".join(f"[{service.name}] {_format_state(turn.gold[service.name], dialogue)}" for service in turn.services)


def value_of(values: Sequence[str], dialogue: str) -> str:
    """The value that stands in the dialogue, a case-folded text, or the first."""
    return next((value for value in values if value.casefold() in dialogue), values[0] if values else "")


def _format_state(state: State, dialogue: str) -> str:
    parts = [f"{INTENT}: {state.active_intent}"] if state.active_intent not in (None, NO_INTENT) else []
    for slot, values in state.slot_values.items():
        parts.append(f"{slot}: {_RESERVED.sub(' ', value_of(values, dialogue))}")
    parts += [f"{REQUESTED}: {', '.join(state.requested_slots)}"] if state.requested_slots else []
    return "; ".join(parts) or NOTHING


def parse_states(text: str, services: Iterable[Service]) -> dict[str, State]:
    """Parses states from a text, restricted to the schema; a service that the text does not name has an empty state."""
    by_service: dict[str, list[str]] = {}
    for name, body in re.findall(r"\[([^\[\]]*)\]([^\[\]]*)", text):
        by_service.setdefault(name.strip(), []).extend(body.split(";"))
    return {service.name: _parse_state(by_service.get(service.name, []), service) for service in services}


def _parse_state(parts: Sequence[str], service: Service) -> State:
    fields: dict[str, str] = {}
    for part in parts:
        name, colon, value = part.partition(":")
        if colon and value.strip():
            fields[name.strip()] = value.strip()
    requested = [slot.strip() for slot in fields.pop(REQUESTED, "").split(",")]
    return restrict_state(service, fields, intent=fields.pop(INTENT, ""), requested=requested)


def restrict_state(
    service: Service, values: Mapping[str, str], *, intent: str | None, requested: Sequence[str] | None
) -> State:
    """The state with these values, without slots, intents and categorical values that the schema does not have.

    `intent` and `requested`: None for a tracker that does not predict them.
    """
    slots = {slot.name: slot for slot in service.slots}
    allowed = {name: possible(slots[name], value) for name, value in values.items() if name in slots}
    known = {each.name for each in service.intents}
    active = None if intent is None or not known else intent if intent in known else NO_INTENT
    asked = None if requested is None else tuple(dict.fromkeys(slot for slot in requested if slot in slots))
    return State(active, asked, {name: (value,) for name, value in allowed.items() if value})


def possible(slot: SlotSchema, value: str) -> str:
    """The value, or for a categorical slot the matching possible value; empty if none matches."""
    text = " ".join(value.split())
    if text.lower() in ("", NOTHING):
        return ""
    if not slot.is_categorical or text.lower() == ANYTHING:
        return ANYTHING if text.lower() == ANYTHING else text
    if text in slot.possible_values:
        return text
    near = process.extractOne(text.lower(), [choice.lower() for choice in slot.possible_values], scorer=fuzz.ratio)
    return slot.possible_values[near[2]] if near is not None and near[1] >= CLOSE else ""
