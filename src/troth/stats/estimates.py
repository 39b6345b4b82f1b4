"""From parts to scores and results: the one place where values, intervals, signatures and rows come together.

A task gives cells: a metric for a group of units, as parts of a ratio. Shares, and other means between 0 and a known
bound, get Wilson's interval, which needs no resampling; all other ratios get the expanded percentile of the bootstrap,
cut to the metric's range (`make_score`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.parts import Floats, Parts, lazy_rows
from troth.core.result import Note, Result, UnscoredCount
from troth.core.score import Estimate, Score, make_score
from troth.core.signature import recipe_rules
from troth.stats import intervals, resampling
from troth.stats.intervals import Bounds

NOTHING = "no unit to score"
NO_PARTS = Parts.from_fractions([], [])
WIDEST_CHANGE = 1.0  # of the interval of a relative change: one that is wider tells nothing
NO_BASE = "no interval: it would be wider than 100 points, as the original's score is too near 0 for so few {}s"
FEW = 10  # dialogues that hold an error: an interval that rests on fewer says so


class Resampling(NamedTuple):
    """How intervals are made: the number of resamples, the random seed, and the unit of resampling."""

    resamples: int = 1000
    seed: int = 0
    cluster: str = "dialogue"  # or "document", "task"


@dataclass(frozen=True)
class Cell:
    """A metric over a group of units, its recipe, and the reason to give if it has no value."""

    metric: Metric
    parts: Parts
    recipe: Any = None  # see `troth.core.signature`
    group: str = ALL
    reason: str = NOTHING
    shared: int = 1  # how often one unit stands in the denominator: a mean over K variants has K for each unit
    n: int | None = None  # how many units there are, where that is not the sum of the denominators: F1, weighted units
    relative: bool = False  # a change relative to a base, which may be too near 0 for an interval
    in_rows: bool = True  # whether `rows.parquet` has its units, if it is over all of them


@dataclass(frozen=True)
class SystemCells:
    """One system of a result: its cells, counts, notes and other facts."""

    name: str
    cells: Iterable[Cell]
    clusters: Sequence[str]  # ids of all dialogues (documents, tasks), scored or not: what intervals resample
    counts: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)  # digests of what it is scored against
    further: Sequence[Score] = ()  # scores that are not ratios of sums: BLEU, AUROC
    row_cells: Iterable[Cell] = ()  # cells that only the rows have: the values that an AUROC is made from
    unscored: Sequence[UnscoredCount] = ()


class _RowParts(NamedTuple):
    system: str
    metric: str
    parts: Parts


def build_result(
    task: str,
    systems: Iterable[SystemCells],
    how: Resampling,
    *,
    metrics: Sequence[Metric] | None = None,
    notes: Sequence[Note] = (),
    findings: Sequence[Any] = (),
    arguments: Mapping[str, Any] | None = None,
    explorer: Callable[[], Any] | None = None,
) -> Result:
    """The result of any task: each cell becomes a score, and those over all units become rows as well.

    Cells are taken one at a time; only sums per cluster and the parts of the rows are kept. Without
    `metrics`, they are those of the cells.
    """
    rows: list[_RowParts] = []
    declared: dict[str, Metric] = {}
    scored: list[Score] = []
    counts: dict[str, Mapping[str, int]] = {}
    inputs: dict[str, Mapping[str, str]] = {}
    unscored: list[UnscoredCount] = []

    def record(system: SystemCells) -> Iterator[Cell]:
        for cell in system.cells:
            declared.setdefault(cell.metric.name, cell.metric)
            if cell.in_rows and cell.group == ALL:
                rows.append(_RowParts(system.name, cell.metric.name, cell.parts))
            yield cell

    for system in systems:
        scored += score_cells(system.name, record(system), system.clusters, how)
        scored += system.further
        rows += (_RowParts(system.name, cell.metric.name, cell.parts) for cell in system.row_cells if cell.group == ALL)
        counts[system.name] = system.counts
        unscored += system.unscored
        if system.inputs:
            inputs[system.name] = system.inputs
    return Result(
        task,
        scored,
        list(declared.values()) if metrics is None else metrics,
        counts,
        notes,
        findings,
        arguments or {},
        inputs=inputs,
        cluster=how.cluster,
        unscored=unscored,
        make_rows=lambda: lazy_rows(lambda: (row.parts.frame(row.system, row.metric) for row in rows)),
        make_explorer=explorer,
    )


def score_cells(system: str, cells: Iterable[Cell], clusters: Sequence[str], how: Resampling) -> Iterator[Score]:
    """One score per cell, in their order; groups without units are left out.

    `clusters`: the ids of all dialogues (documents, tasks), scored or not. Cells may come one at a time: only their
    sums per cluster are kept.
    """
    order = sorted(set(clusters))  # so that the order of the files moves no interval
    heads: list[Cell] = []

    def parts() -> Iterator[Parts]:
        for cell in cells:
            heads.append(replace(cell, parts=NO_PARTS))
            yield cell.parts

    num, den = stack_sums(parts(), order)
    bounds = [cell.metric.bound for cell in heads]
    estimated = _estimates(num, den, bounds, how, [cell.metric.scale == "number" for cell in heads])
    rules: dict[tuple[int, frozenset[str]], Mapping[str, str]] = {}  # thousands of cells share a recipe
    for cell, estimate in zip(heads, estimated, strict=True):
        if cell.group == ALL or estimate.n:
            n = estimate.n // cell.shared if cell.n is None else cell.n
            key = id(cell.recipe), cell.metric.ignores
            if key not in rules:
                rules[key] = recipe_rules(cell.recipe or {}, cell.metric.ignores)
            shown = _drop_wide(estimate, how.cluster) if cell.relative else estimate
            yield make_score(system, cell.metric, shown, rules[key], group=cell.group, reason=cell.reason, n=n)


def _drop_wide(estimate: Estimate, cluster: str) -> Estimate:
    """The estimate of a relative change, without an interval that is too wide to tell anything."""
    if estimate.low is None or estimate.high is None or estimate.high - estimate.low <= WIDEST_CHANGE:
        return estimate
    return estimate._replace(low=None, high=None, note=NO_BASE.format(cluster))


def estimates(parts: Iterable[Parts], dialogues: Sequence[str], how: Resampling) -> list[Estimate]:
    """Each ratio of sums with its interval, as a share where it can be one."""
    num, den = stack_sums(parts, dialogues)
    return _estimates(num, den, [1.0] * num.shape[1], how, [False] * num.shape[1])


def _estimates(
    num: Floats, den: Floats, bounds: Sequence[float | None], how: Resampling, graded: Sequence[bool]
) -> list[Estimate]:
    """`bounds`: the highest possible value of each mean that is never below 0; infinite for a number without one.

    `graded`: whether units have grades up to the bound, rather than being right or wrong.
    """
    found: dict[int, Estimate] = {}
    alike: dict[bytes, list[int]] = {}  # ratios over the same dialogues are resampled together
    for column, bound in enumerate(bounds):
        n, d = num[:, column], den[:, column]
        if bound is not None and math.isfinite(bound) and intervals.is_share(n / bound, d):
            (ends,) = intervals.share(n, d, top=bound, cluster=how.cluster, graded=graded[column])
            found[column] = _estimate(
                n, d, ends._replace(reason=ends.reason or _note_few(n / bound, d, bound, how.cluster))
            )
        else:
            alike.setdefault(((n != 0) | (d != 0)).tobytes(), []).append(column)
    for mask, columns in alike.items():
        held = np.frombuffer(mask, dtype=np.bool_)
        n, d, count = num[held][:, columns], den[held][:, columns], int(held.sum())
        resamples = intervals.enough_resamples(count, how.resamples)
        samples = resampling.bootstrap(n, d, resamples=resamples, seed=how.seed)
        ends_of = intervals.expanded_percentile(resampling.ratio(n, d), samples, count, cluster=how.cluster)
        for c, ends in zip(columns, ends_of, strict=True):
            found[c] = _estimate(num[:, c], den[:, c], ends)
    return [found[column] for column in range(len(bounds))]


def _estimate(num: Floats, den: Floats, ends: Bounds) -> Estimate:
    # Exact sums: shards, merged or reordered, give the same bits as the whole.
    top, bottom = math.fsum(num.tolist()), math.fsum(den.tolist())
    if not bottom:
        return Estimate(None, None, None, round(bottom))
    return Estimate(top / bottom, ends.low, ends.high, round(bottom), ends.reason)


def _note_few(share: Floats, den: Floats, bound: float, cluster: str) -> str | None:
    """A note on the interval if few clusters have an error, or a success."""
    held, slack = den > 0, 1e-9 * den
    below, above = int((held & (share < den - slack)).sum()), int((held & (share > slack)).sum())
    few, limit = min((below, f"below {_percent(bound)}"), (above, f"above {_percent(0)}"))
    if few >= FEW:
        return None
    if few == held.sum():  # "only 7 of 7" would blame them
        return f"the interval rests on {few} {cluster}{'' if few == 1 else 's'} only"
    return f"{'only ' * bool(few)}{few or 'none'} of {held.sum()} {cluster}s {'is' if few < 2 else 'are'} {limit}"


def _percent(value: float) -> str:
    return f"{100 * value:.4g}%"


def stack_sums(parts: Iterable[Parts], dialogues: Sequence[str]) -> tuple[Floats, Floats]:
    """Numerators and denominators summed per dialogue: one row per dialogue, one column per set of parts."""
    sums = [part.sums(dialogues) for part in parts]
    if not sums:
        return np.zeros((len(dialogues), 0)), np.zeros((len(dialogues), 0))
    return np.stack([num for num, _ in sums], axis=1), np.stack([den for _, den in sums], axis=1)
