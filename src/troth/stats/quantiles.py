"""Quantiles of distributions that intervals and tests need."""

from __future__ import annotations


def normal_quantile(p: float) -> float:
    """The value below which a standard normal variable lies with probability p."""
    from statistics import NormalDist  # on use: it pulls in decimal, fractions and random

    return NormalDist().inv_cdf(p)
