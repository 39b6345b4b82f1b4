"""Counts of a run's dialogues besides its scores, made in one pass.

JGA by service, which slots are wrong and how, which turns have no prediction, and the acts of responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from troth.core.parts import Parts
from troth.storage.explorer import ActView, AnswerView, DialogueView, ResponseView, States, TurnView


class Answered(NamedTuple):
    """A response, with its dialogue and turn."""

    dialogue: str
    set: str
    answer: AnswerView


@dataclass(frozen=True)
class SlotErrors:
    """Mistakes by slot and kind, counted in the turn where they are made, and the number of turns that they last."""

    made: dict[str, Counter[str]] = field(default_factory=dict)
    turns: Counter[str] = field(default_factory=Counter)

    def worst_slots(self, number: int) -> list[str]:
        return sorted(self.made, key=lambda slot: (-self.made[slot].total(), slot))[:number]

    @property
    def total(self) -> int:
        return self.kinds().total()

    def mean_duration(self) -> float | None:
        """The mean number of turns that a mistake lasts."""
        return self.turns.total() / self.total if self.total else None

    def kinds(self) -> Counter[str]:
        return sum(self.made.values(), Counter())


class TrackTally:
    """Counts of one system on the dialogues of a run; verdicts on states are counted on the original test set only."""

    def __init__(self) -> None:
        self.answers: list[Answered] = []
        self._frames: dict[tuple[str, str], list[float]] = {}  # by dialogue and service: sums of num and den
        self._lacking: set[tuple[str, int]] = set()
        self._predicts = False  # a file of right and wrong has no values at all
        self._slots = SlotErrors()  # of turns with a prediction
        self._all_slots = SlotErrors()

    def add(self, dialogue: DialogueView, turns: Sequence[TurnView], gold: dict[int, States]) -> None:
        """Counts the turns of one dialogue. `gold`: its states by the number of the turn."""
        scored = [turn for turn in turns if turn.units]
        lacking = {turn.number for turn in scored if turn.state is None}
        self._lacking |= {(dialogue.id, number) for number in lacking}
        self._predicts = self._predicts or len(lacking) < len(scored)
        for turn in scored:
            for service, joint in turn.frames.items():
                if gold.get(turn.number, {}).get(service):
                    sums = self._frames.setdefault((dialogue.id, service), [0.0, 0.0])
                    sums[0] += joint
                    sums[1] += 1.0
            for fault in turn.faults:
                name = f"{fault.service}.{fault.slot}" if fault.service else fault.slot
                known = turn.number not in lacking and fault.since not in lacking
                for errors in (self._all_slots, self._slots) if known else (self._all_slots,):
                    errors.turns[name] += 1
                    if fault.since == turn.number:
                        errors.made.setdefault(name, Counter())[fault.kind] += 1

    @property
    def unpredicted(self) -> set[tuple[str, int]]:
        """Turns without a prediction, by dialogue and number."""
        return self._lacking if self._predicts else set()

    @property
    def slots(self) -> SlotErrors:
        """Mistakes made in turns that have a prediction: without one, every slot would be missing."""
        return self._slots if self._predicts else self._all_slots

    def by_service(self) -> dict[str, Parts]:
        """Joint scores of the services that gold has values of, for runs with whole turns as units."""
        services = sorted({service for _, service in self._frames})
        return {
            service: Parts.from_fractions(
                [(num, den) for (_, name), (num, den) in self._frames.items() if name == service],
                [(dialogue, 0, "") for dialogue, name in self._frames if name == service],
            )
            for service in services
        }

    @property
    def acts(self) -> Iterator[tuple[Answered, ActView]]:
        """Every act that the system's responses should convey."""
        return ((answered, act) for answered in self.answers for act in answered.answer.acts)


class Tallies:
    """Counts of the dialogues, or of the responses to documents, of a run."""

    def __init__(self, wanted: Collection[tuple[str, int | None]]) -> None:
        """`wanted`: turns, by dialogue and number, to keep the text of."""
        self.dialogues = 0
        self.responses: list[ResponseView] = []
        self.texts: dict[tuple[str, int | None], str] = {}
        self._wanted = frozenset(wanted)
        self._tracks: dict[str, TrackTally] = {}

    def add(self, view: DialogueView) -> None:
        self.dialogues += 1
        gold = {said.number: said.state or {} for said in view.utterances if said.number is not None}
        for said in view.utterances if self._wanted else ():
            if (view.id, said.number) in self._wanted:
                self.texts[view.id, said.number] = said.text
        for track in view.tracks:
            tally = self._tracks.get(track.system) or self._tracks.setdefault(track.system, TrackTally())
            if not view.set and not track.wording:
                tally.add(view, track.tracked, gold)
            tally.answers += (Answered(view.id, view.set, answer) for answer in track.answers)

    def track(self, system: str) -> TrackTally:
        return self._tracks.get(system) or TrackTally()

    @property
    def is_empty(self) -> bool:
        """Whether the run has neither dialogues nor responses."""
        return not self.dialogues and not self.responses
