"""A small world of MultiWOZ: three hotels, two trains, four goals, and two systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VENUE = {"area": "north", "pricerange": "cheap", "type": "hotel", "internet": "yes"}
TRAIN = {"day": "monday", "departure": "cambridge", "destination": "ely"}
DATABASE: dict[str, list[dict[str, Any]]] = {
    "hotel": [
        {"id": "0", "name": "alder court", "location": [1, 2], **VENUE},
        {"id": "1", "name": "birch house", **VENUE, "area": "south"},
        {"id": "2", "name": "cedar lodge", **VENUE, "pricerange": "?"},
    ],
    "restaurant": [{"id": "5", "name": "the oven", "food": "north american", "area": "north"}],
    "attraction": [{"id": "7", "name": "old museum", "type": "museum", "area": "north", "entrance fee": "?"}],
    "train": [
        {"trainID": "TR1", "leaveAt": "08:00", "arriveBy": "08:30", **TRAIN},
        {"trainID": "TR2", "leaveAt": "10:00", "arriveBy": "10:30", **TRAIN},
    ],
}
GOALS: dict[str, Any] = {
    "mul0001": {"hotel": {"informable": {"area": "north"}, "requestable": ["PHONE"]}},
    "mul0002": {"train": {"informable": {"arrive": "09:00"}, "requestable": ["TRAINID"]}},
    "mul0003": {"taxi": {"informable": {}, "requestable": ["PHONE"]}},
    "mul0004": {
        "hotel": {"informable": {"area": "south"}, "requestable": ["REFERENCE"]},
        "restaurant": {"informable": {"name": "the oven"}, "requestable": []},
    },
}
BOOKED: dict[str, Any] = {"mul0001": [[], []], "mul0002": [[]], "mul0003": [[]], "mul0004": [["hotel"], ["hotel"]]}
NORTH, SOUTH = {"hotel": {"area": "north"}}, {"hotel": {"area": "south"}}
GOOD: dict[str, Any] = {
    "mul0001": [
        {"response": "[hotel_name] is nice .", "state": NORTH},
        {"response": "call [value_phone] .", "state": NORTH},
    ],
    "mul0002": [{"response": "take [trainid] .", "state": {"train": {"arriveBy": "9:00"}}}],
    "mul0003": [{"response": "a car , call [taxi_phone] .", "state": {"taxi": {"leave": "9"}}}],
    "mul0004": [
        {"response": "[name] is booked , [ref] .", "state": SOUTH},
        {"response": "anything else ?", "state": SOUTH},
    ],
}
BAD: dict[str, Any] = {
    "mul0001": [{"response": "[hotel_name] is [nonsense] .", "state": SOUTH}, {"response": "ok", "state": SOUTH}],
    "mul0002": [{"response": "take [trainid] .", "state": {"train": {"arriveBy": "9:00"}}}],
    "mul0003": [{"response": "a car .", "state": {"taxi": {"leave": "9"}}}],
    "mul0004": GOOD["mul0004"],
}


def write(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(value))
    return str(path)


def write_world(folder: Path) -> dict[str, Any]:
    """Goals, booked domains and database as files: the options of a run."""
    tables = folder / "database"
    tables.mkdir(parents=True, exist_ok=True)
    for domain, rows in DATABASE.items():
        write(tables, f"{domain}_db.json", rows)
    return {
        "goals": write(folder, "goals.json", GOALS),
        "booked": write(folder, "booked.json", BOOKED),
        "database": str(tables),
    }
