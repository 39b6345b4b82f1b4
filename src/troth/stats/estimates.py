"""From parts to scores: the one place where a value, its interval and its signature come together.

A task gives cells: a metric for a group of units, as parts of a ratio. Shares, and other means between 0 and a known
bound, get Wilson's interval, which needs no resampling; all other ratios get the expanded percentile of the bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from troth.core.metric import Metric
from troth.core.parts import Floats, Parts
from troth.core.score import Score
from troth.core.signature import signature
from troth.stats import intervals, resampling
from troth.stats.intervals import Bounds

NOTHING = "no unit to score"
NO_PARTS = Parts.of([], [])
FEW = 10  # dialogues that hold an error: an interval that rests on fewer says so


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
    note: str | None = None  # why there is no interval, or what it rests on


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

    num, den = stacked(parts(), order)
    found = _estimates(num, den, [cell.metric.bound for cell in kept], how)
    for cell, one in zip(kept, found, strict=True):
        if cell.group != "all" and not one.n:
            continue
        metric, n = cell.metric, one.n // cell.shared if cell.n is None else cell.n
        yield Score(
            system, metric.name, cell.group, one.value, one.low, one.high, n,
            signature(metric, cell.recipe or {}, n=n, group=cell.group),
            cell.reason if one.value is None else None, metric.scale, metric.better, _of(metric, one.note),
        )  # fmt: skip


def _of(metric: Metric, note: str | None) -> str | None:
    """The note in the words of a metric whose dialogues are documents."""
    return note.replace("dialogue", "document") if note and metric.against == "documents" else note


def estimates(parts: Iterable[Parts], dialogues: Sequence[str], how: Resampling) -> list[Estimate]:
    """Each ratio of sums with its interval, as a share where it can be one."""
    num, den = stacked(parts, dialogues)
    return _estimates(num, den, [1.0] * num.shape[1], how)


def _estimates(num: Floats, den: Floats, bounds: Sequence[float | None], how: Resampling) -> list[Estimate]:
    """`bounds`: the highest possible value of each mean that is never below 0; infinite for a number without one."""
    found: dict[int, Estimate] = {}
    alike: dict[bytes, list[int]] = {}  # ratios over the same dialogues are resampled together
    for column, bound in enumerate(bounds):
        n, d = num[:, column], den[:, column]
        if bound is not None and math.isfinite(bound) and intervals.is_share(n / bound, d):
            (ends,) = intervals.share(n, d, top=bound)
            found[column] = _estimate(n, d, ends._replace(reason=ends.reason or _few(n / bound, d, bound)))
        else:
            alike.setdefault(((n != 0) | (d != 0)).tobytes(), []).append(column)
    for mask, columns in alike.items():
        held = np.frombuffer(mask, dtype=np.bool_)
        n, d, count = num[held][:, columns], den[held][:, columns], int(held.sum())
        resamples = intervals.enough_resamples(count, how.resamples)
        samples = resampling.bootstrap(n, d, resamples=resamples, seed=how.seed)
        ends_of = intervals.expanded(resampling.ratio(n, d), samples, count)
        for c, ends in zip(columns, ends_of, strict=True):
            low = ends.low if ends.low is None or bounds[c] != math.inf else max(0.0, ends.low)
            found[c] = _estimate(num[:, c], den[:, c], ends._replace(low=low))
    return [found[column] for column in range(len(bounds))]


def _estimate(num: Floats, den: Floats, ends: Bounds) -> Estimate:
    # Exact sums: shards, merged or reordered, give the same bits as the whole.
    top, bottom = math.fsum(num.tolist()), math.fsum(den.tolist())
    if not bottom:
        return Estimate(None, None, None, round(bottom))
    return Estimate(top / bottom, ends.low, ends.high, round(bottom), ends.reason)


def _few(share: Floats, den: Floats, bound: float) -> str | None:
    """What an interval rests on, where few dialogues hold an error, or a success."""
    held, slack = den > 0, 1e-9 * den
    below, above = int((held & (share < den - slack)).sum()), int((held & (share > slack)).sum())
    few, limit = min((below, f"below {_percent(bound)}"), (above, f"above {_percent(0)}"))
    if few >= FEW:
        return None
    return f"{'only ' * bool(few)}{few or 'none'} of {held.sum()} dialogues {'is' if few < 2 else 'are'} {limit}"


def _percent(value: float) -> str:
    return f"{100 * value:.4g}%"


def stacked(parts: Iterable[Parts], dialogues: Sequence[str]) -> tuple[Floats, Floats]:
    """Numerators and denominators summed per dialogue: a row a dialogue, a column a set of parts."""
    sums = [one.sums(dialogues) for one in parts]
    if not sums:
        return np.zeros((len(dialogues), 0)), np.zeros((len(dialogues), 0))
    return np.stack([num for num, _ in sums], axis=1), np.stack([den for _, den in sums], axis=1)
