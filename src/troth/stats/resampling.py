"""Ratios of sums and their bootstrap: the dialogues are drawn with replacement, and every metric is computed again.

Every metric is a ratio of sums, and per dialogue we keep the two sums: `num` and `den`, of shape (D,) or, for M metrics
at once, (D, M). Dialogues are resampled, never turns: the turns of one dialogue share its topic and its mistakes (a
state that went wrong stays wrong), and treating them as independent makes every interval too narrow. See Efron and
Tibshirani, An Introduction to the Bootstrap (1993), chapter 6.

Results are equal to the last bit for a seed, whatever the number of threads: random words come from the bit generator
directly, whose stream NumPy keeps stable (unlike that of `Generator.integers`), and sums are exact (`on_grid`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from troth.core.errors import UserError

Array = NDArray[np.float64]

TIE = 1e-12  # differences closer than this are equal: 0.995 - 1 is a little below -0.005 in floating point
CHUNK = 1 << 18  # drawn indices held at once: about 5 MB, which stays in the processor's cache
BOOTSTRAP, SWAPS = 0, 1  # streams of one seed, independent of each other


def ratio(num: ArrayLike, den: ArrayLike) -> Array:
    """The M metric values; NaN where a denominator is 0. Exact sums, so the order of dialogues changes no bit."""
    sums = [np.array([math.fsum(column) for column in side.T.tolist()]) for side in to_columns(num, den)]
    return divide(sums[0], sums[1])


def bootstrap(num: ArrayLike, den: ArrayLike, *, resamples: int = 1000, seed: int = 0) -> Array:
    """The metrics on `resamples` draws of D dialogues with replacement: shape (resamples, M), NaN where undefined.

    The draw depends on the seed and on D alone. Systems scored on the same dialogues in the same order are therefore
    resampled alike, and the difference of two results is a paired one.
    """
    parts = [on_grid(side)[0] for side in to_columns(num, den)]
    return resample(parts, divide, resamples=resamples, seed=seed)


def to_columns(num: ArrayLike, den: ArrayLike) -> tuple[Array, Array]:
    n, d = (np.asarray(side, dtype=np.float64) for side in (num, den))
    if n.shape != d.shape or n.ndim not in (1, 2):
        raise ValueError(f"num and den must both have shape (D,) or (D, M), not {n.shape} and {d.shape}")
    if not (np.isfinite(n).all() and np.isfinite(d).all()):
        raise ValueError("num and den must be finite: a unit that cannot be scored has no part in either sum")
    return (n, d) if n.ndim == 2 else (n[:, None], d[:, None])


def on_grid(*sides: Array) -> list[Array]:
    """Copies in which values are rounded to multiples of a power of two so coarse that every sum of D of them is exact.

    Matrix products add up in an order that depends on the processor and the number of threads; exact sums do not mind.
    Whole numbers stay as they are, others change by about D / 2^50 of the largest in their column at most. All sides
    are put on one grid, so that their differences are exact, too.
    """
    top = np.max(
        [np.abs([side.max(axis=0, initial=0.0), side.min(axis=0, initial=0.0)]) for side in sides], axis=(0, 1)
    )
    _, exponent = np.frexp(top * max(len(sides[0]), 1))
    copies = []
    for side in sides:
        # 53 bits hold the sum; two are kept for rounding up and for differences of two systems.
        copy = np.ldexp(side, 50 - exponent)
        np.rint(copy, out=copy)
        copies.append(np.ldexp(copy, exponent - 50, out=copy))
    return copies


def divide(num: Array, den: Array) -> Array:
    """The quotients; NaN where the denominator is 0."""
    quotient: Array = np.divide(num, den, out=np.full(num.shape, np.nan), where=den != 0)
    return quotient


def _check_draw(resamples: int, seed: int) -> None:
    if resamples < 1:
        raise UserError(f"the number of resamples must be 1 or more, not {resamples}")
    if seed < 0:
        raise UserError(f"the seed must be 0 or more, not {seed}")


def random_words(*, stream: int, seed: int, resamples: int, width: int, items: int) -> Iterator[NDArray[np.uint64]]:
    """Random 64-bit words, `width` per resample, in blocks of rows that hold about CHUNK items.

    A row begins on a word of its own, so neither the block's size nor the number of resamples moves the rows before.
    """
    _check_draw(resamples, seed)
    source = np.random.PCG64DXSM(np.random.SeedSequence(seed, spawn_key=(stream,)))
    rows = max(8, CHUNK // max(items, 1))
    for start in range(0, resamples, rows):
        here = min(rows, resamples - start)
        yield source.random_raw(here * width).astype("<u8", copy=False).reshape(here, width)


def draws(count: int, *, resamples: int, seed: int, items: int = 0, strata: Sequence[int] = ()) -> Iterator[Array]:
    """How often each of `count` dialogues is drawn: a row for each resample, in blocks of rows.

    The draw depends on the seed and on `count` alone. `items`: how many numbers the caller keeps for each resample, if
    more than `count`; blocks are then smaller. `strata`: sizes of the strata that the dialogues stand in, one stratum
    after the other; as many are then drawn from each stratum as it holds.
    """
    if strata and sum(strata) != count:
        raise ValueError(f"strata of {sum(strata)} dialogues in all do not fit {count} dialogues")
    held = np.array(strata or [count], dtype=np.int64)
    sizes, begins = (np.repeat(of, held).astype(np.uint64) for of in (held, np.cumsum(held) - held))
    width = (count + 1) // 2
    for block in random_words(stream=BOOTSTRAP, seed=seed, resamples=resamples, width=width, items=max(count, items)):
        # Multiply and shift maps 32 random bits to 0 … D-1, favouring some by D / 2^32: nothing that resampling sees.
        scaled = np.multiply(block.view("<u4")[:, :count], sizes, dtype=np.uint64)
        scaled >>= np.uint64(32)
        scaled += begins
        drawn = scaled.view(np.int64)
        times = np.empty((len(block), count))
        for row, indices in zip(times, drawn, strict=True):
            row[:] = np.bincount(indices, minlength=count)
        yield times


def resample(
    parts: Sequence[Array], statistic: Callable[..., Array], *, resamples: int, seed: int, strata: Sequence[int] = ()
) -> Array:
    """A statistic of sums on each resample of the dialogues: shape (resamples, …).

    `statistic` takes the column sums of each of the `parts`, a row for each resample, and returns as many rows. They
    are computed in blocks, and only what it returns is kept. `strata`: as in `draws`.
    """
    made: Array | None = None
    done = 0
    items = sum(part.shape[1] for part in parts)
    for times in draws(len(parts[0]), resamples=resamples, seed=seed, items=items, strata=strata):
        block = statistic(*(times @ part for part in parts))
        made = np.empty((resamples, *block.shape[1:])) if made is None else made
        made[done : done + len(block)] = block
        done += len(block)
    assert made is not None, "there is at least one resample"
    return made
