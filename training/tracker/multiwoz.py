"""MultiWOZ's training dialogues in SGD's layout, and five wordings of its schema, written for troth.

The release of the training part has states and no acts. What the system offers is found in its texts: a value that a
later state takes over and that the system says is marked there, so that the tracker learns to remember it. A turn is
annotated for the services that the dialogue has had so far and for another one, drawn, that stays empty: a tracker is
asked for all services of MultiWOZ in every turn.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec

from troth.core.randomness import generator
from troth.core.records import Act, Dialogue, Frame, Intent, Schema, Service, SlotSchema, Span, State, Turn
from troth.perturb.users.values import find_words, to_lower
from troth.readers.multiwoz_sgd import CATEGORICAL

OFFERED = ("name", "departure", "destination", "leaveat", "arriveby", "food", "area", "type", "book time", "day")
SPELLINGS = {
    "center": "centre", "city center": "centre", "town center": "centre", "town centre": "centre",
    "guest house": "guesthouse", "guesthouses": "guesthouse", "bed and breakfast": "guesthouse", "guest": "guesthouse",
    "concert hall": "concerthall", "night club": "nightclub", "swimming pool": "swimmingpool", "pool": "swimmingpool",
    "theater": "theatre", "sports": "multiple sports", "mutiple sports": "multiple sports", "colleges": "college",
    "museums": "museum", "dont care": "dontcare", "don't care": "dontcare", "doesn't care": "dontcare",
    "moderately": "moderate", "free": "yes", "free parking": "yes", "y": "yes", "n": "no",
}  # fmt: skip
EMPTY = State("NONE", (), {})


class Words(NamedTuple):
    """A name and a description."""

    name: str
    description: str


TABLE = tomllib.loads((Path(__file__).parent / "multiwoz_wordings.toml").read_text("utf-8"))
SERVICES: dict[str, list[str]] = TABLE["services"]
INTENTS: dict[str, list[str]] = TABLE["intents"]
SLOTS = {slot: [Words(*words) for words in wordings] for slot, wordings in TABLE["slots"].items()}
WORDINGS = 5


def convert(dialogues: Iterable[Dialogue], schema: Schema, seed: int = 0) -> Iterator[Dialogue]:
    """Dialogues with the annotations that training needs, for the services that each turn is about."""
    for dialogue in dialogues:
        rng = generator(seed, "multiwoz", dialogue.id)
        clean = (_with_known_values(turn, schema) for turn in dialogue.turns)
        turns = list(_with_services(clean, list(schema), rng))
        used = dict.fromkeys(frame.service for turn in turns for frame in turn.frames)
        dialogue_id = f"multiwoz_{dialogue.id}"
        yield Dialogue(dialogue_id, tuple(_with_offers(turns)), tuple(used))


def _with_known_values(turn: Turn, schema: Schema) -> Turn:
    """A turn without the values that its categorical slots cannot have: "center", "guesthouses", "ch"."""
    frames = []
    for frame in turn.frames:
        if frame.service in schema and frame.state is not None:
            possible = {slot.name: slot.possible_values for slot in schema[frame.service].slots if slot.is_categorical}
            values = {slot: tuple(map(_normal, own)) for slot, own in frame.state.slot_values.items()}
            kept = {slot: own for slot, own in values.items() if slot not in possible or _known(own, possible[slot])}
            frames.append(msgspec.structs.replace(frame, state=msgspec.structs.replace(frame.state, slot_values=kept)))
    return msgspec.structs.replace(turn, frames=tuple(frames))


def _normal(value: str) -> str:
    return SPELLINGS.get(value.lower(), value.lower())


def _known(values: Iterable[str], possible: Iterable[str]) -> bool:
    return "dontcare" in values or not set(values).isdisjoint(possible)


def _with_services(turns: Iterable[Turn], names: list[str], rng: Random) -> Iterator[Turn]:
    active: dict[str, str] = {}  # services by their last intent: a service that rests keeps it, as in SGD
    for turn in turns:
        frames = {frame.service: frame for frame in turn.frames if frame.state and frame.state.slot_values}
        for name, frame in frames.items():
            assert frame.state is not None
            intent = frame.state.active_intent or "NONE"
            active[name] = active.get(name, intent) if intent == "NONE" else intent
            state = msgspec.structs.replace(frame.state, active_intent=active[name])
            frames[name] = msgspec.structs.replace(frame, state=state)
        if turn.speaker == "SYSTEM":
            yield turn
            continue
        others = [name for name in names if name not in active]
        asked = [*active, *([rng.choice(others)] if others else [])]
        empty = {name: Frame(name, EMPTY, ()) for name in asked}
        yield msgspec.structs.replace(turn, frames=tuple(frames.get(name, empty[name]) for name in asked))


def _with_offers(turns: list[Turn]) -> Iterator[Turn]:
    for place, turn in enumerate(turns):
        if turn.speaker == "USER":
            yield turn
            continue
        text, spans, acts = to_lower(turn.text), dict[str, list[Span]](), dict[str, list[Act]]()
        for (service, slot), values in _find_later(turns[place + 1 :]).items():
            for value in values:
                for start, end in find_words(text, to_lower(value)):
                    said = turn.text[start:end]
                    acts.setdefault(service, []).append(Act("OFFER", slot, (said,), (value,)))
                    if slot not in CATEGORICAL:
                        spans.setdefault(service, []).append(Span(slot, start, end))
                    break
        frames = (Frame(name, None, tuple(spans.get(name, ())), tuple(mine)) for name, mine in acts.items())
        yield msgspec.structs.replace(turn, frames=tuple(frames))


def _find_later(turns: Iterable[Turn]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The values of the slots that a system may offer, in the next state that has one."""
    later: dict[tuple[str, str], tuple[str, ...]] = {}
    for frame in (frame for turn in turns for frame in turn.frames if frame.state is not None):
        assert frame.state is not None
        for slot, values in frame.state.slot_values.items():
            if slot in OFFERED:
                later.setdefault((frame.service, slot), values)
    return later


def reword(schema: Schema, number: int) -> list[Service]:
    """The services in wording `number`, from 1; elements keep their order."""
    return [_reword_service(service, number - 1) for service in schema.values()]


def _reword_service(service: Service, at: int) -> Service:
    names: Mapping[str, Words] = {slot.name: SLOTS[slot.name][at] for slot in service.slots}
    slots = tuple(
        SlotSchema(names[slot.name].name, names[slot.name].description, slot.is_categorical, slot.possible_values)
        for slot in service.slots
    )
    intents = tuple(
        Intent(
            INTENTS[intent.name.split("_")[0]][at] + service.name.capitalize(),
            f"{INTENTS[intent.name.split('_')[0]][at]}: {SERVICES[service.name][at].lower()}",
            intent.is_transactional,
            required_slots=tuple(names[slot].name for slot in intent.required_slots),
            optional_slots={names[slot].name: value for slot, value in intent.optional_slots.items()},
        )
        for intent in service.intents
    )
    return Service(f"{service.name}_{at + 1}", SERVICES[service.name][at], slots, intents)
