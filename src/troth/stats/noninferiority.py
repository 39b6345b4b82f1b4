"""The gate: is a new system worse than the base by more than a margin that one accepts?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from troth.core.errors import UserError
from troth.stats.intervals import interval
from troth.stats.paired import Pair, difference_of, paired
from troth.stats.quantiles import normal
from troth.stats.resampling import TIE, Array, ratio, resampled

Verdict = Literal["worse", "not worse", "undecided"]


@dataclass(frozen=True)
class Gate:
    verdict: Verdict
    difference: float  # new - base
    low: float
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
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Gate:
    """Is the new system worse than the base by more than `margin` (a fraction: 0.005 is half a point)?

    "worse": the one-sided upper bound of new - base lies below -margin. "not worse": the lower bound does not. Anything
    else is "undecided", with an estimate of how many dialogues would settle it. `low` and `high` are the two-sided
    interval, for display. Resamples in which the metric is undefined count against either decision.
    """
    if not 0.5 < confidence < 1:
        raise UserError(f"the gate's confidence must lie between 0.5 and 1, not {confidence}", hint="0.95 is usual")
    if not (math.isfinite(margin) and margin >= 0):
        raise UserError(f"the gate's margin must be 0 or more, not {margin}", hint="0.005 is half a point")
    if round(resamples * (1 - confidence), 6) < 5:
        hint = f"take {math.ceil(5 / (1 - confidence))} or more"
        raise UserError(f"{resamples} resamples are too few for a gate at confidence {confidence}", hint=hint)
    pair = _gate_parts(num_base, den_base, num_new, den_new)
    difference = float((ratio(num_new, den_new) - ratio(num_base, den_base))[0])
    drawn = resampled(pair, difference_of, resamples=resamples, seed=seed)[:, 0]
    # Undefined resamples stand at the far end of each bound, where they cannot help a decision; no interpolation, which
    # would make NaN of infinity.
    upper = float(np.quantile(np.where(np.isnan(drawn), np.inf, drawn), confidence, method="higher"))
    lower = float(np.quantile(np.where(np.isnan(drawn), -np.inf, drawn), 1 - confidence, method="lower"))
    low, high = (float(bound[0]) for bound in interval(drawn, confidence=confidence))
    dialogues = len(pair.num_a)
    if upper < -margin - TIE:
        return Gate("worse", difference, low, high, margin, dialogues)
    if lower >= -margin - TIE:
        return Gate("not worse", difference, low, high, margin, dialogues)
    needed, reason = _needed(drawn, dialogues, abs(difference + margin), confidence)
    return Gate("undecided", difference, low, high, margin, dialogues, needed, reason)


def _needed(drawn: Array, dialogues: int, distance: float, confidence: float) -> tuple[int | None, str | None]:
    """About how many dialogues bring the bound within `distance` of the difference, or why that cannot be said."""
    undefined = np.isnan(drawn)
    if undefined.mean() > 1 - confidence:
        return None, "the metric is defined in too few dialogues"
    if distance <= TIE:
        return None, "the difference lies on the margin, which no number of dialogues settles"
    error = float(drawn[~undefined].std(ddof=1))
    if error == 0:
        return None, "the resampled differences do not vary"
    wanted = math.floor(dialogues * (normal(confidence) * error / distance) ** 2) + 1
    # The bounds are percentiles, not normal: for a skewed metric the formula can name a number that was not enough.
    return max(wanted, dialogues + 1), None


def _gate_parts(num_base: ArrayLike, den_base: ArrayLike, num_new: ArrayLike, den_new: ArrayLike) -> Pair:
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
