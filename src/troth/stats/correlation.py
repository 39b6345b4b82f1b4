"""Correlation of two rows of numbers, and how well scores tell positives from negatives (AUROC)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from troth.stats.resampling import Array


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Linear correlation; None where it is undefined: fewer than two points, or a constant side."""
    a, b = _pair(x, y)
    if a.size < 2:
        return None
    a, b = _unit(a), _unit(b)
    if not (a.any() and b.any()):
        return None
    return float(np.clip(a @ b, -1, 1))


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Rank correlation, tied values sharing their average rank; None where it is undefined."""
    a, b = _pair(x, y)
    return pearson(ranks(a), ranks(b))


def auroc(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """How often a positive scores above a negative, ties counting one half; None without one of each."""
    values, truth = _pair(scores, labels)
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("labels must be 0 or 1")
    positive = truth == 1
    n, m = int(positive.sum()), int((~positive).sum())
    if n == 0 or m == 0:
        return None
    return float((ranks(values)[positive].sum() - n * (n + 1) / 2) / (n * m))


def vector(values: ArrayLike, name: str) -> Array:
    """The values as a row of floats; refuses tables and numbers that are not finite."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a row of finite numbers")
    return vector


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    a, b = vector(x, "the first side"), vector(y, "the second side")
    if a.size != b.size:
        raise ValueError(f"both sides must have the same length, not {a.size} and {b.size}")
    return a, b


def _unit(values: Array) -> Array:
    """Centred and of length 1; all zeros for a constant. Scaled on the way: tiny and huge values keep their digits."""
    if values.min() == values.max():
        return np.zeros_like(values)
    centred: Array = values / np.abs(values).max()
    centred = centred - centred.mean()
    centred = centred / np.abs(centred).max()
    centred = centred - centred.mean()  # what rounding left of the mean
    return centred / math.sqrt(float(centred @ centred))


def ranks(values: Array) -> Array:
    """Ranks from 1, ties sharing their average."""
    _, place, size = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    ranks: Array = (last - (size - 1) / 2)[place]
    return ranks
