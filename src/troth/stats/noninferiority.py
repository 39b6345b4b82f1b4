"""The gate: is a new system worse than the base by more than a margin that one accepts?

Both bounds come from the linearised difference, with the t distribution over dialogues. A gate certifies, so its lower
bound also has to hold against what the dialogues at hand may not show: a few dialogues that the new system breaks
altogether. It is computed with one more dialogue, in which the new system loses everything (this is ours), and is not
above what follows from the largest likely share of dialogues that lose (`paired.worst_case`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from troth.core.errors import UserError
from troth.stats import quantiles
from troth.stats.paired import Change, Pair, paired, worst_case
from troth.stats.resampling import TIE, ratio

Verdict = Literal["worse", "not worse", "undecided"]

POWER = 0.842  # normal quantile of 0.8: the chance with which the number of dialogues is to decide
MOST = 10**9  # dialogues; who needs more has a margin that is next to 0
NO_MARGIN = "no number of dialogues that one can have shows it for equal systems: take a larger margin"
NO_SPREAD = "all dialogues have the same value, so that a loss cannot be told from none"
AT_MARGIN = "if the systems were equal, fewer dialogues would do: the difference is close to the margin"


@dataclass(frozen=True)
class Gate:
    """A verdict, and the bounds that decide: "worse" is high < -margin, "not worse" is low >= -margin."""

    verdict: Verdict
    difference: float  # new - base
    low: float  # one-sided bounds, each at the gate's confidence
    high: float
    margin: float
    dialogues: int
    needed: int | None = None  # about how many dialogues would decide, when undecided
    reason: str | None = None  # why `needed` is not known, when undecided


def gate(
    num_base: ArrayLike,
    den_base: ArrayLike,
    num_new: ArrayLike,
    den_new: ArrayLike,
    *,
    margin: float,
    confidence: float = 0.95,
) -> Gate:
    """Whether the new system is worse than the base by more than `margin` (a fraction: 0.005 is half a point).

    "worse": the upper bound of new - base lies below -margin. "not worse": the lower bound does not. Anything else is
    "undecided", with the number of dialogues that would decide with a chance of 80% if the systems were equal.
    """
    if not 0.5 < confidence < 1:
        raise UserError(f"the gate's confidence must lie between 0.5 and 1, not {confidence}", hint="0.95 is usual")
    if not (math.isfinite(margin) and margin >= 0):
        raise UserError(f"the gate's margin must be 0 or more, not {margin}", hint="0.005 is half a point")
    change = Change.of(_checked(num_base, den_base, num_new, den_new).metric(0))
    difference = float((ratio(num_new, den_new) - ratio(num_base, den_base))[0])
    t = quantiles.t(confidence, change.dialogues - 1)
    low = min(_with_a_lost_dialogue(change, t), worst_case(change.shifts, change.span, confidence))
    high = difference + t * change.error

    def outcome(verdict: Verdict, needed: int | None = None, reason: str | None = None) -> Gate:
        return Gate(verdict, difference, low, high, margin, change.dialogues, needed, reason)

    if high < -margin - TIE:
        return outcome("worse")
    if change.span == 0:
        return outcome("undecided", None, NO_SPREAD)
    if low >= -margin - TIE:
        return outcome("not worse")
    needed = _needed(change, margin, confidence)
    if needed is None or needed <= change.dialogues:
        return outcome("undecided", None, NO_MARGIN if needed is None else AT_MARGIN)
    return outcome("undecided", needed)


def _with_a_lost_dialogue(change: Change, t: float) -> float:
    """The lower bound of the difference with one more dialogue, in which the new system loses all that can be lost."""
    count = change.dialogues
    mean = (count * change.difference - change.span) / (count + 1)
    # Squared distances from the new mean: the dialogues' own spread, how far the mean moved, and the new dialogue's.
    own = (count - 1) * count * change.error**2
    squares = own + count * (change.difference - mean) ** 2 + (change.span + mean) ** 2
    return mean - t * math.sqrt(squares / (count * (count + 1)))


def _needed(change: Change, margin: float, confidence: float) -> int | None:
    """About how many dialogues of this kind decide with a chance of 80%, if the systems are equal.

    Without the imagined dialogue this is ((z + 0.842) s / margin)², with s the standard deviation between dialogues.
    The observed difference has no part in it, since it is mostly noise.
    """
    z, s = quantiles.normal(confidence), change.error * math.sqrt(change.dialogues)

    def decides(count: int) -> bool:
        lost = change.span / count
        bound = lost + z * math.hypot(s / math.sqrt(count), lost) + POWER * s / math.sqrt(count)
        none_lost = quantiles.share_at_most(0, count, confidence) * change.span if not (change.shifts < 0).any() else 0
        return max(bound, none_lost) <= margin

    return bisect_left(range(MOST), True, lo=1, key=decides) if decides(MOST) else None


def _checked(num_base: ArrayLike, den_base: ArrayLike, num_new: ArrayLike, den_new: ArrayLike) -> Pair:
    """As `paired`, for one metric; refuses whatever would let a gate pass on nothing."""
    sides = [np.asarray(side, dtype=np.float64) for side in (num_base, den_base, num_new, den_new)]
    if not all(np.isfinite(side).all() for side in sides):
        raise UserError("the gate's metric has a sum that is not a number", hint="look for NaN in the results")
    pair = paired(*sides)
    if pair.num_a.shape[1] != 1:
        raise ValueError(f"a gate is on one metric, not {pair.num_a.shape[1]}")
    scored = min(int((side != 0).sum()) for side in (pair.den_a, pair.den_b))
    if scored < 2:
        raise UserError(
            f"a gate needs two or more dialogues in which both systems can be scored, not {scored}",
            hint="are the files of both systems complete?",
        )
    return pair
