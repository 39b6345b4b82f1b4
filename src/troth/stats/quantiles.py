"""Quantiles of the normal, t and beta distributions, without SciPy, whose import takes longer than most commands.

The regularised incomplete beta function is a continued fraction (Press et al., Numerical Recipes, section 6.4), and its
inverse Newton's method inside a bracket. Large degrees of freedom: the expansion of t around the normal quantile
(Abramowitz and Stegun, 26.7.5). All agree with SciPy to ten digits.
"""

from __future__ import annotations

import math
from functools import lru_cache

TINY = 1e-300
MANY = 1000  # degrees of freedom from which the expansion of t has all digits


def normal(p: float) -> float:
    """The p-quantile of the standard normal distribution."""
    from statistics import NormalDist  # on use: it pulls in decimal, fractions and random

    return NormalDist().inv_cdf(p)


def normal_tail(z: float) -> float:
    """The probability that a standard normal variable is z or more."""
    return math.erfc(z / math.sqrt(2)) / 2


@lru_cache(maxsize=4096)
def t(p: float, degrees: float) -> float:
    """The p-quantile of Student's t distribution."""
    if degrees < 1 or not 0 < p < 1:
        raise ValueError(f"t needs a probability between 0 and 1 and a degree of freedom, not {p} and {degrees}")
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -t(1 - p, degrees)
    if degrees > MANY:
        x = normal(p)
        terms = (
            (x**3 + x) / 4,
            (5 * x**5 + 16 * x**3 + 3 * x) / 96,
            (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
            (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
        )
        return x + sum(term / float(degrees) ** (power + 1) for power, term in enumerate(terms))
    share = beta(2 * (1 - p), degrees / 2, 0.5)
    return math.sqrt(degrees * (1 - share) / share)


@lru_cache(maxsize=4096)
def beta(p: float, a: float, b: float) -> float:
    """The p-quantile of the beta distribution."""
    low, high = 0.0, 1.0
    x = a / (a + b)
    for _ in range(500):
        error = beta_share(x, a, b) - p
        low, high = (low, x) if error > 0 else (x, high)
        slope = math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - _log_beta(a, b))
        step = x - error / slope if slope > 0 else low
        step = step if low < step < high else (low + high) / 2
        if abs(step - x) <= 4e-16 * x:
            break
        x = step
    return x


def beta_share(x: float, a: float, b: float) -> float:
    """The probability that a beta-distributed variable is at most x."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - beta_share(1 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b)) / a
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c, d = _not_zero(1 + term / c), 1 / _not_zero(1 + term * d)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction


def share_at_most(successes: int, trials: int, confidence: float) -> float:
    """Clopper and Pearson's exact upper bound of a share: with this confidence, it is not larger."""
    if successes == 0:
        return -math.expm1(math.log1p(-confidence) / trials)  # 1 - (1 - confidence)^(1 / trials)
    return 1.0 if successes == trials else beta(confidence, successes + 1.0, float(trials - successes))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _not_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
