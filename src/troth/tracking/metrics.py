"""From frames to units to metrics: every metric as (numerator, denominator) per unit, for any group of frames.

A unit is a frame or a turn. In a turn's unit the joint scores of its frames are multiplied, within the group: "seen"
multiplies the turn's seen services only, as the public script does. All else is a mean over frames in the SGD
profiles (`average="frame"`) and over turns, all services together, in the MultiWOZ ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.errors import UserError, near
from troth.tracking.frames import Column
from troth.tracking.profiles import Profile

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Parts(NamedTuple):
    """One metric over the units of a group. `den` is 1 where the metric applies to the unit, else 0."""

    num: Floats
    den: Floats
    dialogue: NDArray[np.int64]
    turn: NDArray[np.int64]
    service: NDArray[np.int64]  # -1 for a unit that is a turn

    def take(self, mask: Mask | NDArray[np.int64]) -> Parts:
        return Parts(self.num[mask], self.den[mask], self.dialogue[mask], self.turn[mask], self.service[mask])


@dataclass(frozen=True)
class Frames:
    """The scorer's table with what is needed to make metrics of it."""

    table: Floats
    profile: Profile
    slots: int | None  # size of the ontology for SA over turns; None if not known

    def take(self, mask: Mask) -> Frames:
        return Frames(self.table[mask], self.profile, self.slots)

    def column(self, column: Column) -> Floats:
        values: Floats = self.table[:, column]
        return values

    @cached_property
    def turns(self) -> NDArray[np.int64]:
        """Index of the first frame of each turn; frames of a turn stand together."""
        if not len(self.table):
            return np.zeros(0, dtype=np.int64)
        key = self.table[:, :2]
        return np.flatnonzero(np.r_[True, np.any(key[1:] != key[:-1], axis=1)])

    @cached_property
    def lags(self) -> tuple[Floats, Floats, NDArray[np.int64] | None]:
        """The same for every λ."""
        return _lags(self)

    def keys(self, rows: NDArray[np.int64] | slice, *, turn: bool) -> tuple[NDArray[np.int64], ...]:
        chosen = self.table[rows]
        service = np.full(len(chosen), -1) if turn else chosen[:, Column.SERVICE]
        return tuple(
            column.astype(np.int64) for column in (chosen[:, Column.DIALOGUE], chosen[:, Column.TURN], service)
        )


def _by_frame(frames: Frames, values: Floats) -> Parts:
    applies = ~np.isnan(values)
    return Parts(np.where(applies, values, 0.0), applies.astype(float), *frames.keys(slice(None), turn=False))


def _by_turn(frames: Frames, values: Floats, starts: NDArray[np.int64]) -> Parts:
    applies = ~np.isnan(values)
    return Parts(np.where(applies, values, 0.0), applies.astype(float), *frames.keys(starts, turn=True))


def _fold(function: np.ufunc, values: NDArray[np.generic], starts: NDArray[np.int64]) -> Floats:
    """Combine the frames of each turn."""
    folded: Floats = function.reduceat(values, starts) if len(starts) else np.zeros(0)
    return folded


def _joint(column: Column) -> Callable[[Frames], Parts]:
    def parts(frames: Frames) -> Parts:
        values = frames.column(column)
        if frames.profile.unit == "frame":
            return _by_frame(frames, values)
        starts = frames.turns
        product = _fold(np.multiply, np.where(np.isnan(values), 1.0, values), starts)
        applies = _fold(np.logical_or, ~np.isnan(values), starts)
        return _by_turn(frames, np.where(applies, product, np.nan), starts)

    return parts


def _average(right: Callable[[Frames], Floats], active: Callable[[Frames], Floats]) -> Callable[[Frames], Parts]:
    """Share of gold's slots that are right, over units in which gold has any."""

    def parts(frames: Frames) -> Parts:
        top, bottom = right(frames), active(frames)
        if frames.profile.average == "frame":
            return _by_frame(frames, _ratio(top, bottom))
        starts = frames.turns
        return _by_turn(frames, _ratio(_fold(np.add, top, starts), _fold(np.add, bottom, starts)), starts)

    return parts


def _ratio(top: Floats, bottom: Floats) -> Floats:
    ratio: Floats = np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0)
    return ratio


def _slot_accuracy(frames: Frames) -> Parts:
    wrong, size = frames.column(Column.WRONG), frames.column(Column.SIZE)
    if frames.profile.average == "frame":
        return _by_frame(frames, _ratio(size - np.minimum(wrong, size), size))
    starts = frames.turns
    # A file of correctness says by its length how many slots there are; else the ontology does.
    known = size[starts] if frames.profile.match == "given" else np.full(len(starts), frames.slots or np.nan)
    # A missing prediction has infinitely much wrong: as much as there is.
    return _by_turn(frames, _ratio(known - np.minimum(_fold(np.add, wrong, starts), known), known), starts)


def _lags(frames: Frames) -> tuple[Floats, Floats, NDArray[np.int64] | None]:
    """Joint score and lag of each unit: how many turns ago the error was made that this one inherits.

    0 for an error of this turn (type 1), infinite where the paper's algorithm has no earlier error to blame. The
    authors' code (`fga="code"`) blames the turn itself whenever the turn before was exactly right; algorithm 1 of the
    paper (`fga="paper"`) does not.
    """
    joint, local = frames.column(Column.JOINT), frames.column(Column.LOCAL) > 0
    sequence, position = frames.column(Column.DIALOGUE), frames.column(Column.TURN)
    starts: NDArray[np.int64] | None = None
    order: NDArray[np.int64] | None = None
    if frames.profile.unit == "turn":
        starts = frames.turns
        joint, local = _fold(np.multiply, joint, starts), _fold(np.logical_and, local, starts).astype(bool)
        sequence, position = sequence[starts], position[starts]
    else:
        # A frame's history is that of its service.
        service = frames.column(Column.SERVICE)
        order = np.lexsort((position, service, sequence))
        joint, local, position = joint[order], local[order], position[order]
        sequence = sequence[order] * (service.max(initial=0) + 1) + service[order]
    lag = _lag(joint == 1.0, local, sequence, position, frames.profile.fga == "code")
    if order is not None:
        back = np.empty(len(lag))
        back[order] = lag
        lag, joint = back, frames.column(Column.JOINT)
    return joint, lag, starts


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


def _flexible(weight: Callable[[Floats], Floats]) -> Callable[[Frames], Parts]:
    def parts(frames: Frames) -> Parts:
        joint, lag, starts = frames.lags
        values = joint + (1.0 - joint) * weight(lag)
        return _by_frame(frames, values) if starts is None else _by_turn(frames, values, starts)

    return parts


def _fga(rate: float) -> Callable[[Frames], Parts]:
    # At λ = 0 nothing is forgotten, however long ago it was: FGA is JGA.
    return _flexible(lambda lag: -np.expm1(-rate * lag) if rate > 0 else np.zeros(len(lag)))


def _mean(column: Column) -> Callable[[Frames], Parts]:
    return lambda frames: _by_frame(frames, frames.column(column))


def _active_noncat(frames: Frames) -> Floats:
    return frames.column(Column.ACTIVE) - frames.column(Column.ACTIVE_CAT)


def _right_noncat(frames: Frames) -> Floats:
    # Cut to its range: the difference of two sums of fuzzy scores may leave it by the last bit.
    return np.clip(frames.column(Column.RIGHT) - frames.column(Column.RIGHT_CAT), 0.0, _active_noncat(frames))


_COLUMN = Frames.column
METRICS: dict[str, tuple[Callable[[Frames], Parts], str]] = {
    "jga": (_joint(Column.JOINT), "joint goal accuracy: units whose whole state is right"),
    "jga_cat": (_joint(Column.JOINT_CAT), "JGA over categorical slots only"),
    "jga_noncat": (_joint(Column.JOINT_NONCAT), "JGA over non-categorical slots only"),
    "aga": (
        _average(lambda f: _COLUMN(f, Column.RIGHT), lambda f: _COLUMN(f, Column.ACTIVE)),
        "average goal accuracy: share of gold's slots that are right; extra slots go unpunished",
    ),
    "aga_cat": (
        _average(lambda f: _COLUMN(f, Column.RIGHT_CAT), lambda f: _COLUMN(f, Column.ACTIVE_CAT)),
        "AGA over categorical slots only",
    ),
    "aga_noncat": (
        _average(_right_noncat, _active_noncat),
        "AGA over non-categorical slots only",
    ),
    "sa": (_slot_accuracy, "slot accuracy: share of all the ontology's slots that are right; always high"),
    "turn_match": (_flexible(lambda lag: (lag > 0).astype(float)), "units right or wrong only by an earlier mistake"),
    "intent_accuracy": (_mean(Column.INTENT), "active intent accuracy"),
    "requested_f1": (_mean(Column.REQUESTED_F1), "F1 of requested slots, mean over frames"),
    "requested_precision": (_mean(Column.REQUESTED_PRECISION), "precision of requested slots"),
    "requested_recall": (_mean(Column.REQUESTED_RECALL), "recall of requested slots"),
    "tagging_f1": (_mean(Column.TAGGING_F1), "F1 of non-categorical values found in the text, mean over frames"),
    "tagging_precision": (_mean(Column.TAGGING_PRECISION), "precision of values found in the text"),
    "tagging_recall": (_mean(Column.TAGGING_RECALL), "recall of values found in the text"),
}
FGA = "flexible goal accuracy: JGA that forgives inherited mistakes, the sooner the larger λ"
DEFAULT_RATES = (0.25, 0.5, 0.75, 1.0)  # the λ of the FGA paper's table 1


def forgetting_rate(turns: float, share: float) -> float:
    """λ by which a mistake is forgotten to `share` after `turns` turns: -ln(1 - p)/t_f, section 3 of the FGA paper."""
    if not (0 < turns < math.inf and 0 <= share < 1):
        raise UserError("forgetting takes turns above 0 and a share from 0 to below 1", hint="for example 6,0.95")
    return -math.log1p(-share) / turns


def names(rates: Iterable[float] = DEFAULT_RATES) -> list[str]:
    """Every metric by name, FGA once for each λ after JGA's family."""
    listed = list(METRICS)
    at = listed.index("turn_match")
    return [*listed[:at], *(f"fga@{_exactly(rate)}" for rate in rates), *listed[at:]]


def _exactly(rate: float) -> str:
    """The shortest text that reads back as the same λ."""
    short = f"{rate:g}"
    return short if float(short) == rate else repr(rate)


def metric(name: str) -> Callable[[Frames], Parts]:
    """The function behind a metric's name; `fga@0.5` for any λ."""
    found = re.fullmatch(r"fga@([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)", name)
    if found and math.isfinite(float(found[1])):
        return _fga(float(found[1]))
    if name not in METRICS:
        known = [*METRICS, "fga@0.5"]
        raise UserError(f"no metric is called '{name}'", hint=near(name, known) or "known: " + ", ".join(known))
    return METRICS[name][0]
