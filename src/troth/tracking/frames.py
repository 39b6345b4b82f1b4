"""The table that all metrics of state tracking are made from: one row per frame, and how to make units of it.

FGA needs each state to be right or wrong. With fuzzy matching, a joint score J may be between 0 and 1. A unit is then
exact only where J is 1, and its weight is J + (1 - J)·(1 - exp(-λ·lag)). That is the paper's weight where J is 0 or 1;
it equals JGA at λ = 0 in every profile, and grows with λ.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.parts import NONE, Floats, Ints, Mask, Parts, Units
from troth.tracking.profiles import Profile

NAN = float("nan")


class FrameRow(NamedTuple):
    """A row of the table: the scores of one frame. NaN where something does not apply."""

    dialogue: float
    turn: float
    service: float  # -1: a turn in which neither side has a frame, or a file without services
    joint: float  # product of the slots' scores; joint_cat and joint_noncat over one kind of slots
    joint_cat: float
    joint_noncat: float
    right: float  # sum of scores over the slots that gold has
    active: float  # number of slots that gold has
    right_cat: float
    active_cat: float
    predicted: float  # number of slots that the prediction has
    union: float  # number of slots that either has
    wrong: float  # how much is wrong over all slots, a wrong value counted once; infinite for a missing prediction
    size: float  # slots of the service's schema
    local: float  # 1 if what changed in this turn is right on both sides
    intent: float = NAN
    requested_f1: float = NAN
    requested_precision: float = NAN
    requested_recall: float = NAN
    tagging_f1: float = NAN
    tagging_precision: float = NAN
    tagging_recall: float = NAN


class SlotRow(NamedTuple):
    """The score of one slot that gold or prediction has, recorded if scores by slot are requested."""

    dialogue: float
    turn: float
    service: float
    slot: float
    score: float
    active: float  # whether gold has it


COLUMN = {name: place for place, name in enumerate(FrameRow._fields)}
SLOT_COLUMN = {name: place for place, name in enumerate(SlotRow._fields)}


@dataclass(frozen=True)
class Frames:
    """One system's rows under one profile, with the names that its codes stand for."""

    table: Floats  # a row per frame, a column per field of `FrameRow`; frames of a turn stand together
    profile: Profile
    slots: int | None  # size of the ontology, for slot accuracy over turns; None if not known
    dialogues: list[str]
    services: list[str]

    def take(self, mask: Mask) -> Frames:
        """Some of the frames; of profiles that average over turns, with an ontology of these services alone."""
        part = replace(self, table=self.table[mask])
        if self.profile.average == "frame":
            return part
        sizes = dict(zip(part.column("service").tolist(), part.column("size").tolist(), strict=True))
        return replace(part, slots=int(sum(sizes.values())) or None)

    def on(self, names: Collection[str]) -> Frames:
        """The frames of some dialogues, as if there were no others."""
        chosen = [code for code, name in enumerate(self.dialogues) if name in names]
        codes = np.full(len(self.dialogues), -1.0)
        codes[chosen] = np.arange(len(chosen))
        table = self.table.copy()
        table[:, COLUMN["dialogue"]] = codes[table[:, COLUMN["dialogue"]].astype(np.int64)]
        rest = table[table[:, COLUMN["dialogue"]] >= 0]
        return replace(self, table=rest, dialogues=[self.dialogues[code] for code in chosen])

    def column(self, name: str) -> Floats:
        values: Floats = self.table[:, COLUMN[name]]
        return values

    @cached_property
    def turns(self) -> Ints:
        """Index of the first frame of each turn."""
        if not len(self.table):
            return np.zeros(0, dtype=np.int64)
        key = self.table[:, :2]
        return np.flatnonzero(np.r_[True, np.any(key[1:] != key[:-1], axis=1)])

    def fold(self, function: np.ufunc, values: NDArray[np.generic]) -> Floats:
        """The frames of each turn combined."""
        folded: Floats = function.reduceat(values, self.turns) if len(self.turns) else np.zeros(0)
        return folded

    def parts(self, values: Floats, *, by_turn: bool = False) -> Parts:
        """Parts of a mean of `values`, one per frame or per turn; NaN where the metric does not apply."""
        applies = ~np.isnan(values)
        return Parts(np.where(applies, values, 0.0), applies.astype(float), self.units(by_turn=by_turn))

    def units(self, *, by_turn: bool) -> Units:
        rows = self.table[self.turns] if by_turn else self.table
        keys = [rows[:, COLUMN[name]].astype(np.int64) for name in ("dialogue", "turn", "service")]
        return Units(self.dialogues, keys[0], keys[1], self.services, np.full(len(rows), NONE) if by_turn else keys[2])

    @cached_property
    def lags(self) -> tuple[Floats, Floats]:
        """Joint score and lag of each unit: how many turns ago the error was made that this one inherits.

        0 for an error of this turn (type 1), infinite where the paper's algorithm has no earlier error to blame. The
        authors' code (`fga="code"`) blames the turn itself whenever the turn before was exactly right; algorithm 1 of
        the paper (`fga="paper"`) does not.
        """
        joint, local = self.column("joint"), self.column("local") > 0
        sequence, position = self.column("dialogue"), self.column("turn")
        by_code = self.profile.fga != "paper"
        if self.profile.unit == "turn":
            joint, local = self.fold(np.multiply, joint), self.fold(np.logical_and, local).astype(bool)
            return joint, _lag(joint == 1.0, local, sequence[self.turns], position[self.turns], by_code)
        # A frame's history is that of its service.
        service = self.column("service")
        order = np.lexsort((position, service, sequence))
        history = sequence[order] * (service.max(initial=0) + 1) + service[order]
        lag = np.empty(len(joint))
        lag[order] = _lag(joint[order] == 1.0, local[order], history, position[order], by_code)
        return joint, lag


def _lag(exact: Mask, local: Mask, sequence: Floats, position: Floats, by_code: bool) -> Floats:
    if not len(exact):
        return np.zeros(0)
    first = np.r_[True, sequence[1:] != sequence[:-1]]
    after_right = np.r_[False, exact[:-1]] if by_code else np.zeros(len(exact), dtype=bool)
    fresh = ~exact & (first | ~local | after_right)
    index = np.arange(len(exact))
    blamed = np.maximum.accumulate(np.where(fresh, index, -1))
    opened = np.maximum.accumulate(np.where(first, index, 0))
    return np.where(blamed >= opened, position - position[blamed], np.inf)
