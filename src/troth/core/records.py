"""The records that all parts of troth exchange: frozen, typed, and in the layout of Schema-Guided Dialogue.

SGD's layout is the richest of the field's, so it is the common one: a dialogue has turns, a turn has frames (one per
service), a frame of a user turn has the state that the user has built up so far. Field names are ours, the names on
disk are SGD's (`rename=`), so that an SGD file decodes into these classes directly and encodes back to its layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from troth.core.names import Path

Speaker = Literal["USER", "SYSTEM"]


class Span(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Position of a value in the turn's text, in characters."""

    slot: str
    start: int = -1  # below 0: the value does not stand in this text
    exclusive_end: int = -1
    value: Any = msgspec.UNSET  # MultiWOZ 2.2 repeats the value here,
    copy_from: Any = msgspec.UNSET  # or names the slot that it is taken from


class Act(msgspec.Struct, frozen=True, gc=False):
    act: str
    slot: str = ""
    values: tuple[str, ...] = ()
    canonical_values: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True, gc=False):
    """What the user has asked of one service so far. A slot never mentioned is absent, not "none"."""

    active_intent: str | None = None  # None: not annotated or not predicted
    requested_slots: tuple[str, ...] | None = None
    slot_values: dict[str, tuple[str, ...]] = {}  # gold: alternatives of one value; prediction: the first counts


class ServiceCall(msgspec.Struct, frozen=True, gc=False):
    method: str
    parameters: dict[str, Any] = {}


class Frame(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={"spans": "slots", "acts": "actions"}):
    service: str
    state: State | None = None
    spans: tuple[Span, ...] | None = None  # None: no spans given, which is not the same as none found
    acts: tuple[Act, ...] = ()
    service_call: ServiceCall | None = None
    service_results: tuple[dict[str, Any], ...] | None = None


class Turn(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={"text": "utterance"}):
    speaker: Speaker
    text: str = ""
    frames: tuple[Frame, ...] = ()
    number: int | None = None  # which user turn of the dialogue this is, where the file says so; else by position
    correct: dict[str, bool] | None = None  # right or wrong per slot, where a file has that in place of values (TripPy)
    context: str | None = None  # all that was said up to this turn, where a file has it whole and the turns do not
    coref: bool | None = None  # whether the turn's state needs coreference to be resolved, where annotated


class Dialogue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={"id": "dialogue_id"}):
    id: str
    turns: tuple[Turn, ...]
    services: tuple[str, ...] = ()

    def user_turns(self) -> Iterator[tuple[int, Turn]]:
        """The user's turns with their numbers, 0-based, counting the user's turns alone."""
        position = 0
        for turn in self.turns:
            if turn.speaker == "USER":
                yield (position if turn.number is None else turn.number), turn
                position += 1


Gold = Path | Sequence[Dialogue]  # gold dialogues: a file or folder, or records in memory


class Pair(msgspec.Struct, frozen=True, gc=False):
    """A gold dialogue and one system's prediction for it; None if there is no prediction."""

    gold: Dialogue
    pred: Dialogue | None


class SlotSchema(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    is_categorical: bool = False
    possible_values: tuple[str, ...] = ()


class Intent(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    is_transactional: bool = False
    required_slots: tuple[str, ...] = ()
    optional_slots: dict[str, Any] = {}
    result_slots: tuple[str, ...] = ()


class Service(msgspec.Struct, frozen=True, rename={"name": "service_name"}):
    name: str
    description: str = ""
    slots: tuple[SlotSchema, ...] = ()
    intents: tuple[Intent, ...] = ()


Schema = dict[str, Service]  # by service name


class Grounded(msgspec.Struct, frozen=True, omit_defaults=True):
    """A response that should follow from a document, with the conversation before it and people's label, if any."""

    id: str
    document: str
    response: str
    history: tuple[str, ...] = ()  # oldest first
    label: int | None = None  # 1: people found the response supported by the document, 0: not
    source: str = ""  # where the data has several: "wow", "cmu-dog", a system's name
    conversation: str = ""  # the conversation that several answers belong to; intervals resample conversations
