"""A small service with a slot of every sort, and turns with acts: what the tests of responses are written in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from troth import readers
from troth.core.records import Act, Dialogue, Frame, Intent, Schema, Service, SlotSchema, Turn
from troth.models import Entailment

TRUE_FALSE = ("True", "False")

STAYS = Service(
    "Stays_1",
    "A place to sleep",
    slots=(
        SlotSchema("place_name", "Name of the hotel."),
        SlotSchema("kids_friendly", "Whether the place is kids friendly", True, TRUE_FALSE),
        SlotSchema("has_wifi", "Whether there is wifi", True, TRUE_FALSE),
        SlotSchema("is_unisex", "Whether the salon is unisex", True, TRUE_FALSE),
        SlotSchema("purchase_date", "Day of purchase"),
        SlotSchema("start_time", "When it begins"),
        SlotSchema("price_per_night", "Price of a night"),
        SlotSchema("stars", "Number of stars", True, ("1", "2", "3")),
        SlotSchema("area", "Part of the town", True, ("North", "South", "East")),
        SlotSchema("phone"),
    ),
    intents=(
        Intent("SearchHotel", "Find a hotel at a given place."),
        Intent("ReserveHotel", "Reserve rooms in a hotel"),
    ),
)
SCHEMA: Schema = {"Stays_1": STAYS}


def dialogue(name: str, *turns: tuple[str, str, Sequence[Act]]) -> Dialogue:
    """Pairs of turns: what the user says, what the system says, and the system's acts."""
    made: list[Turn] = []
    for user, system, acts in turns:
        made += [
            Turn("USER", user, (Frame("Stays_1"),)),
            Turn("SYSTEM", system, (Frame("Stays_1", acts=tuple(acts)),) if acts else ()),
        ]
    return Dialogue(name, tuple(made), ("Stays_1",))


NAME = Act("OFFER", "place_name", ("Grand Budapest",), ("Grand Budapest",))
OTHER = Act("OFFER", "place_name", ("Fawlty Towers",), ("Fawlty Towers",))
WIFI = Act("INFORM", "has_wifi", ("True",), ("True",))
AREA = Act("CONFIRM", "area", ("North",), ("North",))
COUNT = Act("INFORM_COUNT", "count", ("2",), ("2",))
REQUEST = Act("REQUEST", "area")
BYE = Act("GOODBYE")

CORPUS = [
    dialogue(
        "a",
        ("A hotel, please.", "Grand Budapest is a hotel in the north.", [NAME, AREA]),
        ("Is there wifi?", "Yes, there is.", [WIFI]),
        ("Thanks!", "Have a good day.", [BYE]),
    ),
    dialogue(
        "b",
        ("Somewhere to sleep.", "I found 2. What about Fawlty Towers?", [COUNT, OTHER]),
        ("Where is that?", "Which area do you want?", [REQUEST]),
    ),
]


def yes() -> Entailment:
    return Entailment(0.9, 0.08, 0.02)


def no(entailment: float = 0.1) -> Entailment:
    return Entailment(entailment, 0.9 - entailment, 0.1)


def write(folder: Path, dialogues: Sequence[Dialogue] = CORPUS, schema: Schema = SCHEMA) -> str:
    """The corpus on disk in SGD's layout."""
    path = str(folder / "gold")
    readers.write(list(dialogues), path, "sgd")
    (folder / "gold" / "schema.json").write_bytes(msgspec.json.encode(list(schema.values())))
    return path


def responses(folder: Path, texts: Mapping[tuple[str, int], str], name: str = "system.jsonl") -> str:
    path = folder / name
    rows = [{"dialogue": dialogue, "turn": turn, "response": text} for (dialogue, turn), text in texts.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


GOLD = {
    (one.id, number): turn.text for one in CORPUS for number, turn in enumerate(one.turns) if turn.speaker == "SYSTEM"
}
