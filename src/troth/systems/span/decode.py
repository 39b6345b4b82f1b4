"""From the network's scores to states: what each slot becomes in one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from troth.core.records import State
from troth.systems.data import TrackerTurn
from troth.systems.span.batches import Floats
from troth.systems.span.examples import Status, TurnFeatures, Words
from troth.systems.span.layout import Layout
from troth.systems.span.memory import DONTCARE, Memory, mark_latest, value_at

LONGEST = 16  # tokens of a value
UNSURE = -5.0  # logarithm of the probability at or below which a slot has no words
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
    before = {name: dict(known.state) for name, known in memory.items()}
    states = {one.layout.service: reading.state(row) for row, one in enumerate(example.rows)}
    mark_latest(memory, [name for name, known in memory.items() if known.state != before[name]])
    return states


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
            mine.state |= self._values(row)
        requested = tuple(slot for number, slot in enumerate(layout.slots) if scores[1 + number, REQUESTED] > 0)
        return State(mine.intent or "NONE", requested, {slot: (value,) for slot, value in mine.state.items()})

    def _values(self, row: int) -> dict[str, str]:
        """The slots that get a value in this turn."""
        layout, scores = self.example.rows[row].layout, self.answers.scores[row]
        values, said = dict[str, str | None](), dict[str, Floats]()
        for number, slot in enumerate(layout.slots):
            statuses = scores[1 + number, : len(Status)].copy()
            statuses[Status.SPAN if layout.values[number] else Status.VALUE] = -np.inf  # what such a slot cannot have
            status = Status(int(statuses.argmax()))
            if slot in layout.fillable and status is Status.SPAN:
                said[slot] = self.answers.places[:2, row, 1 + number]
            elif slot in layout.fillable:
                values[slot] = self._value(row, number, status)
        found = _read_spans(self.turn.user, self.example.words, said)
        return {slot: value for slot in layout.slots if (value := values.get(slot) or found.get(slot))}

    def _value(self, row: int, number: int, status: Status) -> str | None:
        """The new value of a slot that is not in the user's words; None where it stays."""
        layout = self.example.rows[row].layout
        match status:
            case Status.DONTCARE:
                return DONTCARE
            case Status.VALUE:
                return self._choice(layout, number, self.answers.scores[row, :, VALUE])
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


def _read_spans(text: str, words: Words, slots: Mapping[str, Floats]) -> dict[str, str]:
    """The words of slots. No word belongs to two of them: the surest slot takes its words first."""
    tables = {slot: _span_table(words, places) for slot, places in slots.items()}
    found = {}
    while tables:
        slot = max(tables, key=lambda slot: tables[slot].max())
        table = tables.pop(slot)
        first, last = np.unravel_index(table.argmax(), table.shape)
        if table[first, last] > UNSURE and (value := _words_between(text, words, int(first), int(last))):
            found[slot] = value
            for other in tables.values():
                other[: last + 1, first:] = -np.inf  # spans that overlap with this one
    return found


def _read_span(text: str, words: Words, places: Floats) -> str | None:
    """The words between the best first and last token; None where nothing was said."""
    table = _span_table(words, places)
    first, last = np.unravel_index(table.argmax(), table.shape)
    return _words_between(text, words, int(first), int(last))


def _span_table(words: Words, places: Floats) -> Floats:
    """Logarithm of the probability of each first and last token, at most `LONGEST` apart."""
    count = len(words.ids)
    first, last = (one - np.logaddexp.reduce(one) for one in places[:, :count])
    far = np.arange(count)[None, :] - np.arange(count)[:, None]
    table: Floats = np.where((far >= 0) & (far < LONGEST), first[:, None] + last[None, :], -np.inf)
    return table


def _words_between(text: str, words: Words, first: int, last: int) -> str | None:
    begin, end = words.offsets[first, 0], words.offsets[last, 1]
    return text[begin:end].strip() or None if 0 <= begin < end else None
