"""What kept dialogues say beyond the scores: curves over λ, joint scores by service, which slots go wrong and how."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from troth.report.page.model import Source
from troth.storage.explorer import DialogueView, TurnView

if TYPE_CHECKING:
    import polars as pl


def tracked(source: Source, system: str, set: str = "") -> Iterator[tuple[DialogueView, TurnView]]:
    """Every turn of a system that has a verdict."""
    for dialogue in source.archive.dialogues if source.archive is not None else ():
        if dialogue.set != set:
            continue
        for track in dialogue.tracks:
            if track.system == system:
                yield from ((dialogue, turn) for turn in track.tracked if turn.units)


def unpredicted(source: Source, system: str) -> set[tuple[str, int]]:
    """Turns without a prediction, by dialogue and number. A file of right and wrong has no values at all."""
    turns = [(dialogue.id, turn) for dialogue, turn in tracked(source, system)]
    if all(turn.state is None for _, turn in turns):
        return set()
    return {(id, turn.number) for id, turn in turns if turn.state is None}


def flexible(source: Source, system: str, rates: Sequence[float]) -> list[float] | None:
    """FGA at each λ from the kept verdicts: w = J + (1 − J)·(1 − exp(−λ·lag)). None without dialogues."""
    units = [
        (unit.joint, math.inf if unit.blamed is None else turn.number - unit.blamed)
        for _, turn in tracked(source, system)
        for unit in turn.units
    ]
    if not units:
        return None
    joint, lag = np.array(units, dtype=np.float64).T
    # At λ = 0 nothing is forgiven, however long ago it was.
    return [float(np.mean(joint - (1.0 - joint) * np.expm1(-rate * lag) if rate else joint)) for rate in rates]


def by_service(source: Source, system: str) -> pl.DataFrame | None:
    """Joint scores per service as rows, for runs whose units are whole turns."""
    import polars as pl

    rows = [
        (dialogue.id, service, joint, 1.0)
        for dialogue, turn in tracked(source, system)
        for service, joint in turn.frames.items()
    ]
    schema = {"dialogue": pl.String, "service": pl.String, "num": pl.Float64, "den": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row") if rows else None


@dataclass(frozen=True)
class Slots:
    """Mistakes by slot and kind, counted where they are made, and the turns in which they stand."""

    made: dict[str, Counter[str]] = field(default_factory=dict)
    turns: Counter[str] = field(default_factory=Counter)

    def worst(self, number: int) -> list[str]:
        order = sorted(self.made, key=lambda slot: (-self.made[slot].total(), slot))
        return order[:number]

    @property
    def total(self) -> int:
        return sum(kinds.total() for kinds in self.made.values())

    def lasting(self) -> float | None:
        """For how many turns a mistake stands, on average."""
        return self.turns.total() / self.total if self.total else None

    def kinds(self) -> Counter[str]:
        summed: Counter[str] = Counter()
        for kinds in self.made.values():
            summed += kinds
        return summed


def slots(source: Source, system: str) -> Slots:
    """Of turns that have a prediction, what was made in such a turn: where there is none, every slot is missing."""
    found = Slots()
    lacking = unpredicted(source, system)
    for dialogue, turn in tracked(source, system):
        if (dialogue.id, turn.number) in lacking:
            continue
        for fault in turn.faults:
            if (dialogue.id, fault.since) in lacking:
                continue
            name = f"{fault.service}.{fault.slot}" if fault.service else fault.slot
            found.turns[name] += 1
            if fault.since == turn.number:
                found.made.setdefault(name, Counter())[fault.kind] += 1
    return found
