"""Services as their files describe them, and sentences with the values that they tell."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ANY = "dontcare"
SLOT = re.compile(r"\{(?:(a|on) )?(\w+)(?:=(\w+)\|([^}]*)|~([^}]*))?\}")
PART = re.compile(r"\[([^\]]*)\]")
Values = dict[str, str]
Json = dict[str, Any]


@dataclass
class Line:
    """Words with the values that they tell, and where these stand."""

    text: str = ""
    told: Values = field(default_factory=dict)
    carried: Values = field(default_factory=dict)
    spans: list[tuple[str, int, int]] = field(default_factory=list)

    def __add__(self, other: Line) -> Line:
        shift = len(self.text) + 1 if self.text else 0
        spans = [(slot, start + shift, end + shift) for slot, start, end in other.spans]
        text = f"{self.text} {other.text}".strip()
        return Line(text, self.told | other.told, self.carried | other.carried, self.spans + spans)


class DeadEndError(Exception):
    """No sentence and no thing fits; another dialogue is tried."""


def slots_of(template: str) -> Values:
    """The slots of a sentence that are always there, with their value where the sentence fixes it."""
    return {found[2]: found[3] or "" for found in SLOT.finditer(PART.sub("", template))}


def act(name: str, slot: str = "", *values: str) -> Json:
    return {"act": name, "slot": slot, "values": list(values), "canonical_values": list(values)}


class Service:
    """A file of `services`."""

    def __init__(self, file: Path) -> None:
        self.data: Json = tomllib.loads(file.read_text("utf-8"))
        self.name: str = self.data["name"]
        self.slots: dict[str, Json] = self.data["slots"]
        self.search, self.book = self.data["intents"]
        intents = self.data["intents"]
        self.held = list(dict.fromkeys(slot for one in intents for slot in (*one["required"], *one["optional"])))

    def is_closed(self, slot: str) -> bool:
        return "possible" in self.slots[slot]

    def schema(self) -> Json:
        slots = [
            {
                "name": name, "description": slot["description"], "is_categorical": "possible" in slot,
                "possible_values": slot.get("possible", []),
            }
            for name, slot in self.slots.items()
        ]  # fmt: skip
        intents = [
            {
                "name": one["name"], "description": one["description"], "is_transactional": one is self.book,
                "required_slots": one["required"], "optional_slots": dict.fromkeys(one["optional"], ANY),
                "result_slots": one["results"],
            }
            for one in self.data["intents"]
        ]  # fmt: skip
        return {
            "service_name": self.name, "description": self.data["description"], "slots": slots, "intents": intents,
        }  # fmt: skip

    def wordings(self) -> Json:
        slots = {name: {"names": s["names"], "descriptions": s["wordings"]} for name, s in self.slots.items()}
        intents = {one["name"]: {"names": one["names"]} for one in self.data["intents"]}
        return {"descriptions": self.data["wordings"], "slots": slots, "intents": intents}
