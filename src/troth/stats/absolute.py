"""The absolute gate: does a metric reach a value, or stay below one, beyond what chance explains?

Both bounds are one-sided, over dialogues: Wilson's for shares and other means between 0 and a known bound, as in
`intervals`; for any other number the linearised ratio with the t distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from troth.core.errors import UserError
from troth.stats import intervals, quantiles
from troth.stats.resampling import TIE, ratio

Level = Literal["reached", "missed", "kept", "exceeded", "undecided"]


@dataclass(frozen=True)
class LevelGate:
    """A verdict, and the bounds that decide.

    "missed" is high < at_least, "reached" is low >= at_least; "exceeded" is low > at_most, "kept" is high <= at_most.
    """

    verdict: Level
    value: float
    low: float | None  # one-sided bounds, each at the gate's confidence
    high: float | None
    at_least: float | None
    at_most: float | None
    dialogues: int
    reason: str | None = None  # why there are no bounds; the verdict is then "undecided"


def level_gate(
    num: ArrayLike,
    den: ArrayLike,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    top: float | None = 1.0,
    confidence: float = 0.95,
) -> LevelGate:
    """Whether a ratio of sums is at least `at_least`, or at most `at_most`. `top`: its highest value; None: any."""
    if (at_least is None) == (at_most is None):
        raise UserError("an absolute gate has one limit", hint="give at_least or at_most")
    if not 0.5 < confidence < 1:
        raise UserError(f"the gate's confidence must lie between 0.5 and 1, not {confidence}", hint="0.95 is usual")
    n, d = (np.asarray(side, dtype=np.float64) for side in (num, den))
    if not (np.isfinite(n).all() and np.isfinite(d).all()):
        raise UserError("the gate's metric has a sum that is not a number", hint="look for NaN in the results")
    n, d = n[d > 0], d[d > 0]
    if len(n) < 2:
        raise UserError(f"a gate needs two or more scored dialogues, not {len(n)}", hint="is the file complete?")
    value = float(ratio(n, d)[0])

    def outcome(verdict: Level, low: float | None, high: float | None, reason: str | None = None) -> LevelGate:
        return LevelGate(verdict, value, low, high, at_least, at_most, len(n), reason)

    if top is None or not intervals.is_share(n / top, d):
        pulls = (n - value * d) / d.sum()
        error = math.sqrt(len(n) / (len(n) - 1) * float((pulls**2).sum()))
        if error <= TIE * max(1.0, abs(value)):  # no spread, but for rounding: equal values of a few prove nothing
            return outcome("undecided", None, None, intervals.no_spread("dialogue"))
        reach = quantiles.t(confidence, len(n) - 1) * error
        low, high = value - reach, value + reach
    else:
        (bounds,) = intervals.share(n, d, top=top, confidence=2 * confidence - 1)
        if bounds.low is None or bounds.high is None:
            return outcome("undecided", None, None, bounds.reason)
        low, high = bounds.low, bounds.high
    return outcome(_judge(low, high, at_least, at_most), low, high)


def _judge(low: float, high: float, at_least: float | None, at_most: float | None) -> Level:
    if at_least is not None:
        return "missed" if high < at_least - TIE else "reached" if low >= at_least - TIE else "undecided"
    most = math.inf if at_most is None else at_most
    return "exceeded" if low > most + TIE else "kept" if high <= most + TIE else "undecided"
