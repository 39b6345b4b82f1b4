"""From parts to scores: the one place where a value, its interval and its signature come together.

A task gives cells: a metric for a group of units, as parts of a ratio. All cells of one system are resampled together,
so that a run takes one pass over the random numbers, whatever it scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from troth import stats
from troth.core.metric import Metric
from troth.core.parts import Floats, Parts
from troth.core.score import Score
from troth.core.signature import signature

NOTHING = "no unit to score"
NO_PARTS = Parts.of([], [])


class Resampling(NamedTuple):
    """How intervals are made: how many resamples of the dialogues, and the random seed."""

    resamples: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class Cell:
    """A metric over a group of units, its recipe, and what to say where there is nothing to score."""

    metric: Metric
    parts: Parts
    recipe: Any = None  # see `troth.core.signature`
    group: str = "all"
    reason: str = NOTHING
    shared: int = 1  # how often one unit stands in the denominator: a mean over K variants has K for each unit
    n: int | None = None  # how many units there are, where that is not the sum of the denominators: F1, weighted units


class Estimate(NamedTuple):
    value: float | None  # None: nothing to divide by
    low: float | None
    high: float | None
    n: int  # sum of the denominators


def scores(system: str, cells: Iterable[Cell], dialogues: Sequence[str], how: Resampling) -> Iterator[Score]:
    """One score per cell, in their order; groups that hold nothing are left out.

    `dialogues`: all that there are, scored or not: what is resampled. Cells may come one at a time: only their sums
    per dialogue are kept.
    """
    order = sorted(set(dialogues))  # so that the order of the files moves no interval
    kept: list[Cell] = []

    def parts() -> Iterator[Parts]:
        for cell in cells:
            kept.append(replace(cell, parts=NO_PARTS))
            yield cell.parts

    found = estimates(parts(), order, how)
    for cell, one in zip(kept, found, strict=True):
        if cell.group != "all" and not one.n:
            continue
        metric, n = cell.metric, one.n // cell.shared if cell.n is None else cell.n
        yield Score(
            system, metric.name, cell.group, one.value, one.low, one.high, n,
            signature(metric, cell.recipe or {}, n=n, group=cell.group),
            cell.reason if one.value is None else None, metric.scale, metric.better,
        )  # fmt: skip


def estimates(parts: Iterable[Parts], dialogues: Sequence[str], how: Resampling) -> list[Estimate]:
    """Each ratio of sums with its interval, from one resampling of the dialogues for all of them."""
    num, den = stacked(parts, dialogues)
    if not num.shape[1]:
        return []
    low, high = stats.interval(stats.bootstrap(num, den, resamples=how.resamples, seed=how.seed))
    made = []
    for index in range(num.shape[1]):
        # Exact sums: shards, merged or reordered, give the same bits as the whole.
        top, bottom = math.fsum(num[:, index].tolist()), math.fsum(den[:, index].tolist())
        bounds = [None if math.isnan(bound[index]) else float(bound[index]) for bound in (low, high)]
        made.append(Estimate(top / bottom if bottom else None, bounds[0], bounds[1], round(bottom)))
    return made


def stacked(parts: Iterable[Parts], dialogues: Sequence[str]) -> tuple[Floats, Floats]:
    """Numerators and denominators summed per dialogue: a row a dialogue, a column a set of parts."""
    sums = [one.sums(dialogues) for one in parts]
    if not sums:
        return np.zeros((len(dialogues), 0)), np.zeros((len(dialogues), 0))
    return np.stack([num for num, _ in sums], axis=1), np.stack([den for _, den in sums], axis=1)
