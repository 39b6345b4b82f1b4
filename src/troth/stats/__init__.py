"""How sure a number is: intervals, paired tests, the gate; correlation and agreement.

Every metric is a ratio of sums, and per dialogue we keep the two sums: `num` and `den`, of shape (D,) or, for M metrics
at once, (D, M). Dialogues are resampled, never turns: the turns of one dialogue share its topic and its mistakes (a
state that went wrong stays wrong), so to treat them as independent makes every interval too narrow.

- Bootstrap and percentile interval: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 6 and 13.
- Approximate randomisation: Noreen (1989); for scores of text, Riezler and Maxwell (2005).
- Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979). Fleiss' kappa: Fleiss (1971).

Results are equal to the last bit for a seed, whatever the number of threads: random words come from the bit generator
directly, whose stream NumPy keeps stable (unlike that of `Generator.integers`), and sums are exact (`_on_grid`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from troth.core.errors import UserError

Array = NDArray[np.float64]
Verdict = Literal["worse", "not worse", "undecided"]

TIE = 1e-12  # differences closer than this are equal: 0.995 - 1 is a little below -0.005 in floating point
CHUNK = 1 << 18  # drawn indices held at once: about 5 MB, which stays in the processor's cache
BOOTSTRAP, SWAPS = 0, 1  # streams of one seed, independent of each other


class Interval(NamedTuple):
    low: Array
    high: Array


class MedianError(NamedTuple):
    median: float
    error: float | None  # None for a single run


@dataclass(frozen=True)
class Comparison:
    """System B against system A on one metric; NaN where the metric is undefined for either."""

    difference: float  # B - A
    low: float
    high: float
    p_bootstrap: float
    p_randomization: float
    dialogues: int


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


def ratio(num: ArrayLike, den: ArrayLike) -> Array:
    """The M metric values; NaN where a denominator is 0. Exact sums, so the order of dialogues changes no bit."""
    sums = [np.array([math.fsum(column) for column in side.T.tolist()]) for side in _columns(num, den)]
    return _divide(sums[0], sums[1])


def bootstrap(num: ArrayLike, den: ArrayLike, *, resamples: int = 1000, seed: int = 0) -> Array:
    """The metrics on `resamples` draws of D dialogues with replacement: shape (resamples, M), NaN where undefined.

    The draw depends on the seed and on D alone. Systems scored on the same dialogues in the same order are therefore
    resampled alike, and the difference of two results is a paired one.
    """
    n, d = _columns(num, den)
    (parts,) = _on_grid(np.hstack([n, d]))
    sums = _resampled_sums(parts, resamples=resamples, seed=seed)
    return _divide(sums[:, : n.shape[1]], sums[:, n.shape[1] :])


def interval(samples: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """The percentile interval of each column of `samples`; undefined resamples are left out, NaN if all are."""
    _check_confidence(confidence)
    table = np.asarray(samples, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise ValueError(f"samples must have shape (resamples,) or (resamples, M), not {table.shape}")
    tail = (1 - confidence) / 2
    bounds = np.full((2, table.shape[1]), np.nan)
    for column in range(table.shape[1]):
        defined = table[~np.isnan(table[:, column]), column]
        if defined.size:
            bounds[:, column] = np.quantile(defined, [tail, 1 - tail])
    return Interval(bounds[0], bounds[1])


def compare(
    num_a: ArrayLike,
    den_a: ArrayLike,
    num_b: ArrayLike,
    den_b: ArrayLike,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Comparison]:
    """B - A on the same dialogues, one comparison per metric, with two p-values that answer different questions.

    The paired bootstrap estimates *how large* the difference is on other dialogues of this kind: it gives the interval,
    and `p_bootstrap` is that interval read as a test, twice the smaller share of resampled differences on either side
    of 0 (percentile method). It leans on the sample standing for the population, and is a little too bold when there
    are few dialogues. Approximate randomisation tests *whether the labels A and B matter at all*: if the systems were
    exchangeable, swapping their results in any dialogue would change nothing, so `p_randomization` is the share of
    random swaps that give a difference at least as large as the one seen. It holds for any number of dialogues, but
    says nothing about size. Both are two-sided and count the observed data as one more draw, so that none is ever 0.
    """
    _check_confidence(confidence)
    a, b = _paired(num_a, den_a, num_b, den_b)
    difference = ratio(num_b, den_b) - ratio(num_a, den_a)
    drawn = _resampled_differences(a, b, resamples=resamples, seed=seed)
    low, high = interval(drawn, confidence=confidence)
    below, above = (drawn <= 0).sum(axis=0), (drawn >= 0).sum(axis=0)  # NaN is neither
    p_bootstrap = np.minimum(1, 2 * (np.minimum(below, above) + 1) / ((~np.isnan(drawn)).sum(axis=0) + 1))
    swapped, observed = _swapped_differences(a, b, resamples=resamples, seed=seed)
    extreme = (np.abs(swapped) >= np.abs(observed) - TIE).sum(axis=0)
    p_swaps = (extreme + 1) / ((~np.isnan(swapped)).sum(axis=0) + 1)
    table = np.column_stack([difference, low, high, p_bootstrap, p_swaps])
    table[np.isnan(difference)] = np.nan
    return [Comparison(d, lo, hi, p, q, len(a)) for d, lo, hi, p, q in table.tolist()]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values in the order given. NaN (no test was possible) stays NaN and is not counted."""
    if any(p < 0 or p > 1 for p in p_values):
        raise ValueError("p-values must lie between 0 and 1")
    adjusted = [math.nan] * len(p_values)
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i])
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


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
    base, new = _gate_parts(num_base, den_base, num_new, den_new)
    difference = float((ratio(num_new, den_new) - ratio(num_base, den_base))[0])
    drawn = _resampled_differences(base, new, resamples=resamples, seed=seed)[:, 0]
    # Undefined resamples stand at the far end of each bound, where they cannot help a decision; no interpolation, which
    # would make NaN of infinity.
    upper = float(np.quantile(np.where(np.isnan(drawn), np.inf, drawn), confidence, method="higher"))
    lower = float(np.quantile(np.where(np.isnan(drawn), -np.inf, drawn), 1 - confidence, method="lower"))
    low, high = (float(bound[0]) for bound in interval(drawn, confidence=confidence))
    dialogues = base.shape[0]
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
    wanted = math.floor(dialogues * (normal_quantile(confidence) * error / distance) ** 2) + 1
    # The bounds are percentiles, not normal: for a skewed metric the formula can name a number that was not enough.
    return max(wanted, dialogues + 1), None


def normal_quantile(p: float) -> float:
    """The value below which a standard normal variable lies with probability p."""
    from statistics import NormalDist  # on use: it pulls in decimal, fractions and random

    return NormalDist().inv_cdf(p)


def median_and_error(values: ArrayLike) -> MedianError:
    """Median over several runs (seeds, prompts), with the standard error of their mean: sd (n - 1) over root n."""
    runs = _vector(values, "values")
    if runs.size == 0:
        raise ValueError("no values: a median needs at least one run")
    error = float(runs.std(ddof=1)) / math.sqrt(runs.size) if runs.size > 1 else None
    return MedianError(float(np.median(runs)), error)


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
    return pearson(_ranks(a), _ranks(b))


def auroc(scores: ArrayLike, labels: ArrayLike) -> float | None:
    """How often a positive scores above a negative, ties counting one half; None without one of each."""
    values, truth = _pair(scores, labels)
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("labels must be 0 or 1")
    positive = truth == 1
    n, m = int(positive.sum()), int((~positive).sum())
    if n == 0 or m == 0:
        return None
    return float((_ranks(values)[positive].sum() - n * (n + 1) / 2) / (n * m))


def fleiss_kappa(counts: ArrayLike) -> float | None:
    """Agreement beyond chance. `counts[item, category]` is how many raters chose the category for the item.

    None where it is undefined: no items, or one category for everything, which leaves chance nothing to explain.
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"counts must have shape (items, categories), not {table.shape}")
    if table.shape[0] == 0:
        return None
    raters = table.sum(axis=1)
    if raters[0] < 2 or (raters != raters[0]).any() or (table < 0).any():
        raise UserError(
            "Fleiss' kappa needs the same number of raters, two or more, for every item",
            hint="leave out the items that have fewer",
        )
    n = raters[0]
    seen = float(((table**2).sum(axis=1) - n).mean() / (n * (n - 1)))
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return None if chance == 1 else (seen - chance) / (1 - chance)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise UserError(f"the confidence must lie between 0 and 1, not {confidence}", hint="0.95 is usual")


def _check_draw(resamples: int, seed: int) -> None:
    if resamples < 1:
        raise UserError(f"the number of resamples must be 1 or more, not {resamples}")
    if seed < 0:
        raise UserError(f"the seed must be 0 or more, not {seed}")


def _columns(num: ArrayLike, den: ArrayLike) -> tuple[Array, Array]:
    n, d = (np.asarray(side, dtype=np.float64) for side in (num, den))
    if n.shape != d.shape or n.ndim not in (1, 2):
        raise ValueError(f"num and den must both have shape (D,) or (D, M), not {n.shape} and {d.shape}")
    if not (np.isfinite(n).all() and np.isfinite(d).all()):
        raise ValueError("num and den must be finite: a unit that cannot be scored has no part in either sum")
    return (n, d) if n.ndim == 2 else (n[:, None], d[:, None])


def _paired(num_a: ArrayLike, den_a: ArrayLike, num_b: ArrayLike, den_b: ArrayLike) -> tuple[Array, Array]:
    """The parts of both systems, (D, 2M) each, on one grid."""
    a, b = np.hstack(_columns(num_a, den_a)), np.hstack(_columns(num_b, den_b))
    if a.shape != b.shape:
        raise ValueError(f"both systems must have the same dialogues and metrics, not {a.shape} and {b.shape}")
    a, b = _on_grid(a, b)
    return a, b


def _gate_parts(
    num_base: ArrayLike, den_base: ArrayLike, num_new: ArrayLike, den_new: ArrayLike
) -> tuple[Array, Array]:
    """As `_paired`, for one metric; refuses whatever would let a gate pass on nothing."""
    sides = [np.asarray(side, dtype=np.float64) for side in (num_base, den_base, num_new, den_new)]
    if not all(np.isfinite(side).all() for side in sides):
        raise UserError("the gate's metric has a sum that is not a number", hint="look for NaN in the results")
    base, new = _paired(*sides)
    if base.shape[1] != 2:
        raise ValueError(f"a gate is on one metric, not {base.shape[1] // 2}")
    scored = min(int((side[:, 1] != 0).sum()) for side in (base, new))
    if scored < 2:
        raise UserError(
            f"a gate needs two or more dialogues in which both systems can be scored, not {scored}",
            hint="are the files of both systems complete?",
        )
    return base, new


def _on_grid(*sides: Array) -> list[Array]:
    """Values rounded to multiples of a power of two so coarse that every sum of D of them is exact.

    Matrix products add up in an order that depends on the processor and the number of threads; exact sums do not mind.
    Whole numbers stay as they are, others change by about D / 2^50 of the largest in their column at most.
    """
    top = np.abs(np.concatenate(sides)).max(axis=0, initial=0.0)
    _, exponent = np.frexp(top * max(len(sides[0]), 1))
    # 53 bits hold the sum; two are kept for rounding up and for differences of two systems.
    return [np.ldexp(np.rint(np.ldexp(side, 50 - exponent)), exponent - 50) for side in sides]


def _divide(num: Array, den: Array) -> Array:
    quotient: Array = np.divide(num, den, out=np.full(num.shape, np.nan), where=den != 0)
    return quotient


def _words(*, stream: int, seed: int, resamples: int, width: int, items: int) -> Iterator[NDArray[np.uint64]]:
    """Random 64-bit words, `width` per resample, in chunks of rows that hold about CHUNK items.

    A row begins on a word of its own, so neither the chunk's size nor the number of resamples moves the rows before.
    """
    source = np.random.PCG64DXSM(np.random.SeedSequence(seed, spawn_key=(stream,)))
    rows = max(8, CHUNK // max(items, 1))
    for start in range(0, resamples, rows):
        here = min(rows, resamples - start)
        yield source.random_raw(here * width).astype("<u8", copy=False).reshape(here, width)


def _resampled_sums(parts: Array, *, resamples: int, seed: int) -> Array:
    """Sums over D dialogues drawn with replacement, (resamples, columns): multiplicities times parts."""
    _check_draw(resamples, seed)
    count = parts.shape[0]
    if count == 0:
        return np.zeros((resamples, parts.shape[1]))
    blocks = []
    for words in _words(stream=BOOTSTRAP, seed=seed, resamples=resamples, width=(count + 1) // 2, items=count):
        # Multiply and shift maps 32 random bits to 0 … D-1, favouring some by D / 2^32: nothing that resampling sees.
        scaled = np.multiply(words.view("<u4"), np.uint64(count), dtype=np.uint64)
        scaled >>= np.uint64(32)
        drawn = scaled.view(np.int64)
        times = np.empty((len(words), count))
        for row, indices in zip(times, drawn, strict=True):
            row[:] = np.bincount(indices[:count], minlength=count)
        blocks.append(times @ parts)
    return np.concatenate(blocks)


def _resampled_differences(a: Array, b: Array, *, resamples: int, seed: int) -> Array:
    sums = _resampled_sums(np.hstack([a, b]), resamples=resamples, seed=seed)
    num_a, den_a, num_b, den_b = np.hsplit(sums, 4)
    return _divide(num_b, den_b) - _divide(num_a, den_a)


def _swapped_differences(a: Array, b: Array, *, resamples: int, seed: int) -> tuple[Array, Array]:
    """Differences after swapping A and B in each dialogue with probability 1/2, and the one observed."""
    count, metrics = a.shape[0], a.shape[1] // 2
    total_a, total_b, change = a.sum(axis=0), b.sum(axis=0), b - a
    blocks = [np.zeros((0, a.shape[1]))]
    for words in _words(stream=SWAPS, seed=seed, resamples=resamples, width=(count + 63) // 64, items=count):
        bits = np.unpackbits(words.view(np.uint8), axis=1, count=count)
        blocks.append(bits.astype(np.float64) @ change)
    moved = np.concatenate(blocks)
    new_a, new_b = total_a + moved, total_b - moved
    swapped = _divide(new_b[:, :metrics], new_b[:, metrics:]) - _divide(new_a[:, :metrics], new_a[:, metrics:])
    observed = _divide(total_b[:metrics], total_b[metrics:]) - _divide(total_a[:metrics], total_a[metrics:])
    return swapped, observed


def _vector(values: ArrayLike, name: str) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a row of finite numbers")
    return vector


def _pair(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    a, b = _vector(x, "the first side"), _vector(y, "the second side")
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


def _ranks(values: Array) -> Array:
    """Ranks from 1, ties sharing their average."""
    _, place, size = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    ranks: Array = (last - (size - 1) / 2)[place]
    return ranks
