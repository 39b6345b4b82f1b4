"""What the tracker knows before a turn: the states so far, and the values that the system offered for each slot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from troth.core.records import Act, State
from troth.systems.data import TrackerTurn
from troth.systems.span.layout import Layout
from troth.text.facts import SMALL

DIGITS = {word: str(number) for word, number in SMALL.items()}
DONTCARE = "dontcare"
TOLD = ("OFFER", "INFORM", "CONFIRM")  # acts by which a system gives a value
FLAGS = 15  # columns of `flags`
Flags = NDArray[np.float32]
Source = tuple[str, str]  # service and slot


@dataclass
class ServiceMemory:
    intent: str | None = None
    state: dict[str, str] = field(default_factory=dict)
    offered: dict[str, str] = field(default_factory=dict)  # the last value that the system gave for a slot
    is_latest: bool = False  # whether this was the last service to change

    def hear(self, acts: Iterable[Act], layout: Layout) -> None:
        """Remember the values that acts of the system give; of a slot with possible values, one of these."""
        for act in acts:
            if act.act in TOLD and act.slot in layout.slots and act.values:
                possible = layout.values[layout.slots.index(act.slot)]
                told = [value for value in (*act.canonical_values, *act.values) if value in possible]
                self.offered[act.slot] = (told or act.values)[0]


Memory = dict[str, ServiceMemory]  # by service


def recall(turn: TrackerTurn, layouts: Mapping[str, Layout]) -> Memory:
    """The annotation before `turn`: the states before it, and the system's offers up to the turn before.

    What the system said last is not in it: that is for the tracker to understand.
    """
    memory = {name: ServiceMemory() for name in layouts}
    for name, state in turn.before.items():
        if name in memory:
            memory[name].intent = None if state.active_intent == "NONE" else state.active_intent
            memory[name].state = {slot: values[0] for slot, values in state.slot_values.items() if values}
    last = len(turn.past) - 1
    known: dict[str, State] = {}
    for place, said in enumerate(turn.past):
        if said.speaker == "SYSTEM" and place < last:
            for frame in said.frames:
                if frame.service in memory:
                    memory[frame.service].hear(frame.acts, layouts[frame.service])
        elif said.speaker == "USER":
            now = {frame.service: frame.state for frame in said.frames if frame.state is not None}
            mark_latest(memory, [name for name, state in now.items() if _is_changed(known.get(name), state)])
            known |= now
    return memory


def _is_changed(before: State | None, now: State) -> bool:
    return now.slot_values != (before.slot_values if before is not None else {})


def mark_latest(memory: Memory, changed: Collection[str]) -> None:
    """Notes which services changed in a turn; if none did, the last ones that did stay."""
    if changed:
        for name, known in memory.items():
            known.is_latest = name in changed


def flags(layout: Layout, memory: ServiceMemory, system: str, user: str) -> Flags:
    """What is known of each query before this turn, and whether a value stands in one of the two utterances."""
    table = np.zeros((len(layout.kinds), FLAGS), dtype=np.float32)
    for number, slot in enumerate(layout.slots):
        value, offered, possible = memory.state.get(slot), memory.offered.get(slot), layout.values[number]
        table[1 + number, :4] = value is not None, value == DONTCARE, offered is not None, bool(possible)
        table[1 + number, 9:12] = (
            slot in layout.fillable,
            slot in layout.required,
            slot in layout.slots_of_intent.get(memory.intent, ()),
        )
        for choice, query in possible.items():
            words = normalize_words(choice)
            table[query, 4:8] = choice == value, choice == offered, words in user, words in system
            table[1 + number, 12:14] = np.maximum(table[1 + number, 12:14], table[query, 6:8])
    if memory.intent in layout.intents:
        table[layout.intents[memory.intent], 8] = 1
    table[0, 8] = memory.intent is not None
    table[0, 14] = memory.is_latest
    return table


def normalize_words(text: str) -> str:
    """The words of `text` in lower case, small numbers in digits, parted and framed by single spaces."""
    kept = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return f" {' '.join(DIGITS.get(word, word) for word in kept.split())} "


def sources(layouts: Mapping[str, Layout], service: str) -> list[Source]:
    """The slots of other services of a dialogue that a slot of `service` may take its value from."""
    return [(other, slot) for other, layout in layouts.items() if other != service for slot in layout.slots]


def value_at(memory: Memory, source: Source) -> str | None:
    """The value of a slot of another service: from its state, else from the system's offers."""
    known, slot = memory[source[0]], source[1]
    value = known.state.get(slot, known.offered.get(slot))
    return None if value == DONTCARE else value
