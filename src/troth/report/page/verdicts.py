"""What a run's dialogues say beyond its scores: FGA over λ, JGA by service, which slots go wrong and how."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from troth.report.sources import ScoredSystem
from troth.storage.explorer import DialogueView, TurnView

if TYPE_CHECKING:
    import polars as pl


def tracked(one: ScoredSystem) -> Iterator[tuple[DialogueView, TurnView]]:
    """Every turn of the original test set that has a verdict."""
    for dialogue in one.source.archive.dialogues:
        if not dialogue.set:
            for track in dialogue.tracks:
                if track.system == one.system:
                    yield from ((dialogue, turn) for turn in track.tracked if turn.units)


def unpredicted(one: ScoredSystem) -> set[tuple[str, int]]:
    """Turns without a prediction, by dialogue and number. A file of right and wrong has no values at all."""
    turns = [(dialogue.id, turn) for dialogue, turn in tracked(one)]
    if all(turn.state is None for _, turn in turns):
        return set()
    return {(id, turn.number) for id, turn in turns if turn.state is None}


def flexible(one: ScoredSystem, rates: Sequence[float]) -> list[float]:
    """FGA at each λ from the verdicts: w = J + (1 − J)·(1 − exp(−λ·lag)). Empty without dialogues."""
    units = [
        (unit.joint, math.inf if unit.blamed is None else turn.number - unit.blamed)
        for _, turn in tracked(one)
        for unit in turn.units
    ]
    if not units:
        return []
    joint, lag = np.array(units, dtype=np.float64).T
    # At λ = 0 nothing is recovered, however long ago the mistake was made.
    return [float(np.mean(joint - (1.0 - joint) * np.expm1(-rate * lag) if rate else joint)) for rate in rates]


def service_rows(one: ScoredSystem) -> pl.DataFrame:
    """Joint scores of the services that gold has values of, as rows: for runs whose units are whole turns."""
    import polars as pl

    rows = []
    for dialogue, turn in tracked(one):
        gold = next((said.state or {} for said in dialogue.utterances if said.number == turn.number), {})
        rows += [(dialogue.id, service, joint, 1.0) for service, joint in turn.frames.items() if gold.get(service)]
    schema = {"dialogue": pl.String, "service": pl.String, "num": pl.Float64, "den": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@dataclass(frozen=True)
class SlotErrors:
    """Mistakes by slot and kind, counted where they are made, and the turns in which they stand."""

    made: dict[str, Counter[str]] = field(default_factory=dict)
    turns: Counter[str] = field(default_factory=Counter)

    def worst(self, number: int) -> list[str]:
        return sorted(self.made, key=lambda slot: (-self.made[slot].total(), slot))[:number]

    @property
    def total(self) -> int:
        return self.kinds().total()

    def lasting(self) -> float | None:
        """For how many turns a mistake stands, on average."""
        return self.turns.total() / self.total if self.total else None

    def kinds(self) -> Counter[str]:
        return sum(self.made.values(), Counter())


def slots(one: ScoredSystem) -> SlotErrors:
    """Mistakes made in turns that have a prediction: without one, every slot would be missing."""
    errors = SlotErrors()
    lacking = unpredicted(one)
    for dialogue, turn in tracked(one):
        for fault in turn.faults if (dialogue.id, turn.number) not in lacking else ():
            if (dialogue.id, fault.since) in lacking:
                continue
            name = f"{fault.service}.{fault.slot}" if fault.service else fault.slot
            errors.turns[name] += 1
            if fault.since == turn.number:
                errors.made.setdefault(name, Counter())[fault.kind] += 1
    return errors
