"""The gate: is a new system worse than the base by more than a margin that one accepts?

Both bounds come from the linearised difference, with the t distribution over dialogues. A gate certifies, so its lower
bound also has to hold against a few dialogues that the new system breaks altogether, and a sample may show one or
two, or none. It is therefore not above what follows from the largest likely share of dialogues that lose
(`paired.worst_case`), and it is lower where few dialogues hold most of the loss (`bounds`; both are ours).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from troth.core.errors import UserError
from troth.stats import quantiles
from troth.stats.paired import Change, PairedSums, paired, worst_case
from troth.stats.resampling import TIE, ratio

Verdict = Literal["worse", "not worse", "undecided"]

POWER = 0.842  # normal quantile of 0.8: the chance with which the number of dialogues is to decide
ASYMPTOTIC = 100_000  # dialogues from which the worst case is that of the t distribution
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
    "undecided", with the number of dialogues that would decide with a chance of 80% if the systems were equal; or if
    the difference is what was observed, where that is below the margin and takes fewer.
    """
    if not 0.5 < confidence < 1:
        raise UserError(f"the gate's confidence must lie between 0.5 and 1, not {confidence}", hint="0.95 is usual")
    if not (math.isfinite(margin) and margin >= 0):
        raise UserError(f"the gate's margin must be 0 or more, not {margin}", hint="0.005 is half a point")
    change = Change.from_sums(_check_sums(num_base, den_base, num_new, den_new).metric(0))
    difference = float((ratio(num_new, den_new) - ratio(num_base, den_base))[0])
    low, high = bounds(change, confidence)

    def outcome(verdict: Verdict, needed: int | None = None, reason: str | None = None) -> Gate:
        return Gate(verdict, difference, low, high, margin, change.dialogues, needed, reason)

    if high < -margin - TIE:
        return outcome("worse")
    if change.span == 0:
        return outcome("undecided", None, NO_SPREAD)
    if low >= -margin - TIE:
        return outcome("not worse")
    needed = _needed(change, margin, confidence)
    if difference < -margin:
        loss = ((quantiles.normal(confidence) + POWER) * change.deviation / (-difference - margin)) ** 2
        enough = max(math.ceil(min(loss, MOST)), change.dialogues + 1)
        needed = enough if needed is None else max(min(needed, enough), change.dialogues + 1)
    if needed is None or needed <= change.dialogues:
        return outcome("undecided", None, NO_MARGIN if needed is None else AT_MARGIN)
    return outcome("undecided", needed)


def bounds(change: Change, confidence: float) -> tuple[float, float]:
    """The lower and the upper bound of the difference, each one-sided.

    The t distribution is symmetric, while losses that come as a few whole dialogues are not: their number has the
    Poisson distribution, whose upper bound is about k + z √k + (z² + 2)/3. The last term, times the skewness that
    dialogues have, is subtracted from the lower bound.
    """
    t = quantiles.t(confidence, change.dialogues - 1)
    low = change.difference - t * change.error
    cubes, squares = float((change.pulls**3).mean()), change.deviation**2
    if cubes < 0 < squares:
        low += cubes / squares * (t * t + 2) / (3 * change.dialogues)
    low = min(low, worst_case(change.shifts, change.span, confidence))
    return low, change.difference + t * change.error


def _needed(change: Change, margin: float, confidence: float) -> int | None:
    """About how many dialogues of this kind decide with a chance of 80%, if the systems are equal.

    ((z + 0.842) s / margin)², with s the standard deviation between dialogues; more where `worst_case` takes more. The
    observed difference has no part in it, since it is mostly noise.
    """
    if margin <= change.span / MOST:
        return None
    needed = max(2.0, ((quantiles.normal(confidence) + POWER) * change.deviation / margin) ** 2)
    losses = -change.shifts[change.shifts < 0]
    if not losses.size and margin < change.span:
        needed = max(needed, math.log1p(-confidence) / math.log1p(-margin / change.span))
    share, lost = losses.size / change.dialogues, float(losses.sum())
    while needed < ASYMPTOTIC:
        count = math.ceil(needed)
        likely = quantiles.share_at_most(round(share * count), count, confidence)
        loss = (lost * count / change.dialogues + change.span) / (share * count + 1)
        if likely * loss - lost / change.dialogues <= margin:  # gains make up for the losses, if the systems are equal
            break
        needed = 1.02 * count + 1
    return math.ceil(needed) if needed <= MOST else None


def _check_sums(num_base: ArrayLike, den_base: ArrayLike, num_new: ArrayLike, den_new: ArrayLike) -> PairedSums:
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
