"""From the network's scores to states: what each slot becomes in one turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from troth.core.records import State
from troth.systems.data import TrackerTurn
from troth.systems.span.batches import Floats
from troth.systems.span.examples import Status, TurnFeatures, Words
from troth.systems.span.layout import Layout
from troth.systems.span.memory import DONTCARE, Memory, value_at

LONGEST = 16  # tokens of a value
OFFERS, REQUESTED, VALUE, OFFERED, INTENT = range(len(Status), len(Status) + 5)  # columns of scores after `Status`
SCORES = len(Status) + 5


class Answers(NamedTuple):
    """Scores of each query in each row."""

    scores: Floats  # R, Q, SCORES
    places: Floats  # 4, R, Q, L: first and last token among the user's words, then among the system's
    carried: Floats  # R, Q, C: how well each source fits


def update(memory: Memory, turn: TrackerTurn, example: TurnFeatures, answers: Answers) -> dict[str, State]:
    """Bring the memory up to this turn; returns the states of the services that were asked for."""
    reading = _Reading(memory, turn, example, answers)
    for row in range(len(example.rows)):
        reading.hear(row)
    return {one.layout.service: reading.state(row) for row, one in enumerate(example.rows)}


class _Reading:
    def __init__(self, memory: Memory, turn: TrackerTurn, example: TurnFeatures, answers: Answers) -> None:
        self.memory, self.turn, self.example, self.answers = memory, turn, example, answers

    def hear(self, row: int) -> None:
        """Remember the values that the system gave in this turn."""
        layout, scores = self.example.rows[row].layout, self.answers.scores[row]
        for number, slot in enumerate(layout.slots):
            if scores[1 + number, OFFERS] > 0:
                offered = self._choice(layout, number, scores[:, OFFERED])
                offered = offered or _read_span(
                    self.turn.system, self.example.words, self.answers.places[2:, row, 1 + number]
                )
                if offered:
                    self.memory[layout.service].offered[slot] = offered

    def state(self, row: int) -> State:
        layout, scores = self.example.rows[row].layout, self.answers.scores[row]
        mine = self.memory[layout.service]
        queries: Sequence[int] = [0, *layout.intents.values()]
        mine.intent = [None, *layout.intents][int(scores[queries, INTENT].argmax())]
        if mine.intent or mine.state or not layout.intents:  # else nobody has asked for anything of this service yet
            values = {slot: self._value(row, number) for number, slot in enumerate(layout.slots)}
            mine.state.update({slot: value for slot, value in values.items() if value})
        requested = tuple(slot for number, slot in enumerate(layout.slots) if scores[1 + number, REQUESTED] > 0)
        return State(mine.intent or "NONE", requested, {slot: (value,) for slot, value in mine.state.items()})

    def _value(self, row: int, number: int) -> str | None:
        """The new value of a slot; None where it stays."""
        layout, scores = self.example.rows[row].layout, self.answers.scores[row]
        statuses = scores[1 + number, : len(Status)].copy()
        statuses[Status.SPAN if layout.values[number] else Status.VALUE] = -np.inf  # what such a slot cannot have
        match Status(int(statuses.argmax())):
            case Status.DONTCARE:
                return DONTCARE
            case Status.SPAN:
                return _read_span(self.turn.user, self.example.words, self.answers.places[:2, row, 1 + number])
            case Status.VALUE:
                return self._choice(layout, number, scores[:, VALUE])
            case Status.OFFER:
                return self.memory[layout.service].offered.get(layout.slots[number])
            case Status.CARRY:
                held = [value_at(self.memory, source) for source in self.example.rows[row].sources]
                fits = self.answers.carried[row, 1 + number]
                return max(((fits[at], value) for at, value in enumerate(held) if value), default=(0, None))[1]
        return None

    def _choice(self, layout: Layout, number: int, scores: Floats) -> str | None:
        possible = layout.values[number]
        return max(possible, key=lambda value: scores[possible[value]]) if possible else None


def _read_span(text: str, words: Words, places: Floats) -> str | None:
    """The words between the best first and last token, at most `LONGEST` apart; None where nothing was said."""
    count = len(words.ids)
    both = places[0, :count, None] + places[1, None, :count]
    far = np.arange(count)[None, :] - np.arange(count)[:, None]
    first, last = np.unravel_index(np.where((far >= 0) & (far < LONGEST), both, -np.inf).argmax(), both.shape)
    begin, end = words.offsets[first, 0], words.offsets[last, 1]
    return text[begin:end].strip() or None if 0 <= begin < end else None
