"""A user turn as features of its services, and as what the annotation says that the network should answer.

The text of a turn is the system's utterance and the user's. Everything older reaches the network through the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.records import Frame
from troth.systems.data import TrackerTurn
from troth.systems.span.layout import Layout
from troth.systems.span.memory import (
    DONTCARE,
    TOLD,
    Flags,
    Memory,
    ServiceMemory,
    Source,
    flags,
    normalize_words,
    recall,
    sources,
    value_at,
)  # fmt: skip

IGNORED = -100  # a label that no loss counts
SPOKEN = 60  # tokens of one utterance that are read: the last of the system's, the first of the user's
Labels = NDArray[np.int64]
Place = tuple[int, int]


class Status(IntEnum):
    """Where the value of a slot comes from in this turn."""

    NONE = 0  # it stays as it was
    DONTCARE = 1
    SPAN = 2  # words of the user
    VALUE = 3  # a possible value of the schema
    OFFER = 4  # what the system offered for the slot
    CARRY = 5  # the value of a slot of another service


class Words(NamedTuple):
    """The tokens of a turn: [CLS] system [SEP] user [SEP]."""

    ids: list[int]
    user: int  # where the user's tokens begin
    offsets: NDArray[np.int64]  # of each token in its utterance; -1 for the special ones

    def find_place(self, span: Place, *, user: bool) -> Place | None:
        """The first and the last token of a span of characters of one utterance."""
        begin, end = (self.user, len(self.ids) - 1) if user else (1, self.user - 1)
        offsets = self.offsets[begin:end]
        inside = np.flatnonzero((offsets[:, 1] > span[0]) & (offsets[:, 0] < span[1]))
        return (begin + int(inside[0]), begin + int(inside[-1])) if inside.size else None


class Target(NamedTuple):
    """What the network should answer about one service, slot by slot. Places are places of tokens."""

    status: Labels
    user: Labels  # first and last token of the value among the user's words
    system: Labels  # the same among the system's words
    offers: Labels  # 1 where the system gives a value
    value: Labels  # the query of the value that the user chose
    offered: Labels  # the query of the value that the system gave
    requested: Labels
    intent: Labels  # one number: the query of the active intent; 0 for none
    carried: Labels  # slots by sources: 1 where a source holds the value, 0 where it holds another, -1 where none


class Row(NamedTuple):
    layout: Layout
    flags: Flags
    sources: list[Source]
    target: Target | None


class TurnFeatures(NamedTuple):
    words: Words
    rows: list[Row]


class Tokens:
    def __init__(self, tokenizer: Any, padding: int) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer, self.padding = tokenizer, padding
        self._first, *_, self._parted = tokenizer.encode("a").ids

    @classmethod
    def read(cls, file: Path, padding: int) -> Tokens:
        from tokenizers import Tokenizer

        from troth.models import hub

        with hub.tokenizing(str(file)):
            return cls(Tokenizer.from_file(str(file)), padding)

    def __call__(self, system: str, user: str) -> Words:
        one, two = self._tokenizer.encode_batch([system, user], add_special_tokens=False)
        none = (-1, -1)
        ids = [self._first, *one.ids[-SPOKEN:], self._parted, *two.ids[:SPOKEN], self._parted]
        offsets = [none, *one.offsets[-SPOKEN:], none, *two.offsets[:SPOKEN], none]
        return Words(ids, min(len(one.ids), SPOKEN) + 2, np.array(offsets))

    def whole(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]


def build_features(turn: TrackerTurn, layouts: Mapping[str, Layout], memory: Memory, tokens: Tokens) -> TurnFeatures:
    """The features of a turn for the services that it asks for."""
    heard, said = normalize_words(turn.system), normalize_words(turn.user)
    rows = []
    for service in turn.services:
        layout = layouts[service.name]
        known = flags(layout, memory[service.name], heard, said)
        rows.append(Row(layout, known, sources(layouts, service.name), None))
    return TurnFeatures(tokens(turn.system, turn.user), rows)


def label_turn(turn: TrackerTurn, layouts: Mapping[str, Layout], tokens: Tokens) -> TurnFeatures:
    """The features and the targets of a turn for all services of its dialogue so far, also those that rest."""
    memory = recall(turn, layouts)
    words = tokens(turn.system, turn.user)
    heard, said = normalize_words(turn.system), normalize_words(turn.user)
    known = {name: flags(layout, memory[name], heard, said) for name, layout in layouts.items()}
    for name, acts in turn.acts.items():
        if name in memory:
            memory[name].hear(acts, layouts[name])
    rows = []
    for name, layout in layouts.items():
        others = sources(layouts, name)
        labels = _Labels(layout, memory[name], words, [value_at(memory, source) for source in others])
        rows.append(Row(layout, known[name], others, labels.label(turn)))
    return TurnFeatures(words, rows)


class _Labels:
    """The labels of one service in one turn, filled in from its annotation."""

    def __init__(self, layout: Layout, memory: ServiceMemory, words: Words, held: Sequence[str | None]) -> None:
        self.layout, self.memory, self.words, self.held = layout, memory, words, held
        count = len(layout.slots)
        self.target = Target(
            status=np.zeros(count, np.int64),
            user=np.full((count, 2), IGNORED),
            system=np.full((count, 2), IGNORED),
            offers=np.zeros(count, np.int64),
            value=np.full(count, IGNORED),
            offered=np.full(count, IGNORED),
            requested=np.zeros(count, np.int64),
            intent=np.array(IGNORED if memory.intent else 0),
            carried=np.full((count, len(held)), -1),
        )

    def label(self, turn: TrackerTurn) -> Target:
        answer = turn.past[-1] if turn.past and turn.past[-1].speaker == "SYSTEM" else None
        for frame in answer.frames if answer else ():
            if frame.service == self.layout.service:
                self._system(frame)
        for frame in turn.turn.frames:
            if frame.service == self.layout.service and frame.state is not None:
                self._user(frame)
        return self.target

    def _system(self, frame: Frame) -> None:
        places = self._find_spans(frame, user=False)
        for act in frame.acts:
            if act.act in TOLD and act.slot in self.layout.slots and act.values:
                number = self.layout.slots.index(act.slot)
                possible = self.layout.values[number]
                chosen = self._query(number, (*act.canonical_values, *act.values))
                known = chosen is not None or (act.slot in places and not possible)
                self.target.offers[number] = 1 if known else IGNORED
                if chosen is not None:
                    self.target.offered[number] = chosen
                elif known:
                    self.target.system[number] = places[act.slot]

    def _user(self, frame: Frame) -> None:
        assert frame.state is not None
        intent = frame.state.active_intent
        if intent is not None:
            self.target.intent[...] = 0 if intent == "NONE" else self.layout.intents.get(intent, IGNORED)
        places = self._find_spans(frame, user=True)
        told = {act.slot for act in frame.acts if act.act == "INFORM"}
        for number, slot in enumerate(self.layout.slots):
            values = frame.state.slot_values.get(slot)
            self.target.requested[number] = slot in (frame.state.requested_slots or ())
            if values:
                self._slot(number, values, places.get(slot), told=slot in told)

    def _slot(self, number: int, values: Sequence[str], place: Place | None, *, told: bool) -> None:
        """The status of a slot that has a value after this turn."""
        target, slot = self.target, self.layout.slots[number]
        changed = self.memory.state.get(slot) not in values
        chosen = self._query(number, values)
        carried = [-1 if value is None else int(value in values) for value in self.held]
        if DONTCARE in values:
            target.status[number] = Status.DONTCARE if changed or told else Status.NONE
        elif chosen is not None and told:
            target.status[number], target.value[number] = Status.VALUE, chosen
        elif place is not None and not self.layout.values[number]:
            target.status[number] = Status.SPAN
            target.user[number] = place
        elif not changed:
            target.status[number] = Status.NONE
        elif self.memory.offered.get(slot) in values:
            target.status[number] = Status.OFFER
        elif 1 in carried:
            target.status[number] = Status.CARRY
            target.carried[number] = carried
        elif chosen is not None:
            target.status[number], target.value[number] = Status.VALUE, chosen
        else:
            target.status[number] = IGNORED

    def _query(self, number: int, values: Sequence[str]) -> int | None:
        possible = self.layout.values[number]
        return next((possible[value] for value in values if value in possible), None)

    def _find_spans(self, frame: Frame, *, user: bool) -> dict[str, Place]:
        found = {}
        for span in frame.spans or ():
            place = self.words.find_place((span.start, span.exclusive_end), user=user) if span.start >= 0 else None
            if place is not None:
                found[span.slot] = place
        return found
