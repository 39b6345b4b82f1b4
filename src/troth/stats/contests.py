"""Many systems on the same dialogues: the p-value of every pair, and the systems that the best one does not beat.

The randomisation test of `paired`, for all pairs at once. To swap two systems' results in some dialogues moves the sums
of each by what the other has there, so that one product of the random swaps with the sums of all systems serves every
pair. As there, all swaps are counted where few dialogues differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.groups import ALL
from troth.core.result import Result
from troth.core.score import Score
from troth.core.sums import DialogueSums, Sums
from troth.stats.paired import EXACT, PairedSums, holm, of_all_swaps
from troth.stats.resampling import SWAPS, TIE, Array, divide, on_grid, random_words

LEVEL = 0.05
FEWEST, MOST = 2000, 10_000  # random swaps: with 2,000, Holm over a row of twenty systems still comes down to 0.01
WORK = 2_000_000_000  # sums that may be added up in all: about a second

PairTest = Callable[[str, str, str], float]  # p of two systems on a metric; NaN where they cannot be compared


class Marked(NamedTuple):
    """A score's place in a table."""

    system: str
    metric: str
    group: str


def best_scores(result: Result) -> frozenset[Marked]:
    """The scores of a result that are the best of several systems, or not distinguished from it by a paired test."""
    return unbeaten(result.scores, pairwise(result.scores, DialogueSums.from_rows(result.rows())))


def unbeaten(scores: Sequence[Score], test: PairTest | None = None) -> frozenset[Marked]:
    """The scores to print in bold: for each metric and group the best, and those not significantly different from it.

    A score stands with the best unless the paired randomisation test against the best rejects at 0.05, with Holm's
    correction over the systems. Without a test, the best value stands alone. Nothing is marked where there is a single
    system, where recipes differ, and among p-values.
    """
    rows: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        rows.setdefault((score.metric, score.group), []).append(score)
    return frozenset(
        Marked(one.system, one.metric, one.group) for row in rows.values() for one in _unbeaten_in(row, test)
    )


def _unbeaten_in(row: Sequence[Score], test: PairTest | None) -> list[Score]:
    known = [(one, one.value) for one in row if one.value is not None]
    if len(known) < 2 or len({one.identity for one in row}) > 1 or row[0].scale == "p":
        return []
    best, top = (min if row[0].better == "lower" else max)(known, key=lambda pair: pair[1])
    level = [one for one, value in known if abs(value - top) <= TIE]
    others = [one for one, _ in known if one not in level]
    if test is None or best.group != ALL:
        return level
    adjusted = holm([test(best.system, one.system, one.metric) for one in others])
    return level + [one for one, p in zip(others, adjusted, strict=True) if p >= LEVEL]  # NaN is not


def pairwise(scores: Sequence[Score], sums: DialogueSums, *, resamples: int | None = None) -> PairTest:
    """The p-values of every pair of systems that are scored on the same dialogues, metric by metric.

    Without `resamples`, there are as many random swaps as `compare` takes, and fewer for many systems on many
    dialogues. A score whose value is not the ratio of its sums (BLEU) cannot be tested so, and is not compared.
    """
    values = {(one.system, one.metric): one.value for one in scores if one.group == ALL and one.value is not None}
    ratios = {key: found for key, found in sums.by.items() if key in values and _is_ratio(found, values[key])}
    metrics = list(dict.fromkeys(metric for _, metric in ratios))
    alike: dict[bytes, list[str]] = {}
    for system in dict.fromkeys(system for system, _ in ratios):
        alike.setdefault(sums.has_dialogues(system).tobytes(), []).append(system)
    nothing = Sums(np.zeros(len(sums.dialogues)), np.zeros(len(sums.dialogues)))
    found: dict[tuple[str, str, str], float] = {}
    for systems in alike.values():
        table = [[ratios.get((system, metric), nothing) for metric in metrics] for system in systems]
        num, den = (np.array([[one[side] for one in row] for row in table]).swapaxes(1, 2) for side in (0, 1))
        enough = min(max(WORK // max(num.size, 1), FEWEST), MOST)
        p = p_values(num, den, resamples=resamples or enough)
        for i, j, m in np.ndindex(p.shape):
            found[systems[i], systems[j], metrics[m]] = float(p[i, j, m])
    return lambda one, other, metric: found.get((one, other, metric), math.nan)


def _is_ratio(sums: Sums, value: float) -> bool:
    num, den = float(sums.num.sum()), float(sums.den.sum())
    return den > 0 and math.isclose(num / den, value, rel_tol=1e-9, abs_tol=1e-12)


def p_values(num: Array, den: Array, *, resamples: int, seed: int = 0) -> Array:
    """P of approximate randomisation for each pair of systems and each metric: shape (systems, systems, metrics).

    `num` and `den` have the shape (systems, dialogues, metrics). NaN where a metric is undefined for either system.
    """
    systems, dialogues, metrics = num.shape
    num, den = np.array(on_grid(*num)), np.array(on_grid(*den))
    shared = (den == den[:1]).all(axis=(0, 1))  # metrics over the same units in every system, which is most of them
    extreme, defined = np.zeros((2, systems, systems, metrics))
    width, items = (dialogues + 63) // 64, max(dialogues, 4 * systems * metrics)
    together = np.concatenate([num, den[:, :, ~shared]], axis=2).swapaxes(0, 1).reshape(dialogues, -1)
    few = _differing_dialogues(num, den) <= EXACT
    blocks = random_words(stream=SWAPS, seed=seed, resamples=resamples, width=width, items=items)
    for block in () if few.all() else blocks:
        swapped = np.unpackbits(block.view(np.uint8), axis=1, count=dialogues).astype(np.float64)
        moved = (swapped @ together).reshape(len(block), systems, -1)
        _count(_Moved(num.sum(axis=1), den.sum(axis=1), moved), shared, extreme, defined)
    p = (extreme + 1) / (defined + 1)
    _exactly(p, num, den, few)
    p[np.tril_indices(systems)] = 0
    p += p.swapaxes(0, 1)
    p[np.arange(systems), np.arange(systems)] = 1
    undefined = den.sum(axis=1) == 0
    p[undefined[:, None] | undefined[None]] = np.nan
    return p


class _Moved(NamedTuple):
    num: Array  # (systems, metrics): sums over all dialogues
    den: Array
    sums: Array  # (swaps, systems, metrics and denominators that differ): sums over the dialogues that are swapped


def _count(moved: _Moved, shared: NDArray[np.bool_], extreme: Array, defined: Array) -> None:
    """Adds how often each pair differs at least as much as it does without a swap, and how often it is defined."""
    systems, metrics = moved.num.shape
    num, den = moved.num, moved.den
    same = num[:, shared] - 2 * moved.sums[:, :, :metrics][:, :, shared]  # what stays in a difference
    top, bottom = moved.sums[:, :, :metrics][:, :, ~shared], moved.sums[:, :, metrics:]
    for i in range(systems - 1):
        rest = slice(i + 1, systems)
        apart = np.abs(same[:, rest] - same[:, i : i + 1])
        seen = np.abs(num[rest][:, shared] - num[i, shared]) - TIE * den[0, shared]
        extreme[i, rest, shared] += (apart >= seen).sum(axis=0).T
        defined[i, rest, shared] += len(same)
        if shared.all():
            continue
        taken, units = top[:, rest] - top[:, i : i + 1], bottom[:, rest] - bottom[:, i : i + 1]
        other = divide(num[rest][:, ~shared] - taken, den[rest][:, ~shared] - units)
        apart = np.abs(other - divide(num[i, ~shared] + taken, den[i, ~shared] + units))
        seen = np.abs(divide(num[rest][:, ~shared], den[rest][:, ~shared]) - divide(num[i, ~shared], den[i, ~shared]))
        extreme[i, rest, ~shared] += (apart >= seen - TIE).sum(axis=0).T
        defined[i, rest, ~shared] += (~np.isnan(apart)).sum(axis=0).T


def _differing_dialogues(num: Array, den: Array) -> NDArray[np.int64]:
    """The number of dialogues in which two systems differ: shape (systems, systems, metrics)."""
    return np.array([((num != num[i]) | (den != den[i])).sum(axis=1) for i in range(len(num))])


def _exactly(p: Array, num: Array, den: Array, few: NDArray[np.bool_]) -> None:
    """Puts exact p-values in the place of those of pairs that differ in few dialogues."""
    for i, j, m in np.argwhere(few):
        if i < j:
            sides = [side[k, :, [m]].T for k in (i, j) for side in (num, den)]
            differs = (sides[0] != sides[2]).any() or (sides[1] != sides[3]).any()
            p[i, j, m] = of_all_swaps(PairedSums(*sides)) if differs else 1.0
