"""Coverage of intervals, and errors of tests and of the gate, on simulated dialogues whose truth is known.

A dialogue has eight turns on average, two at least. Its own share of right turns comes from a beta distribution around
the true share, so that turns of one dialogue resemble each other: `correlation` says how much. For every setting many
test sets are drawn. Counted is how often the interval holds the truth (95 of 100 times, it should), how often a test
tells equal systems apart (5 of 100 times at most), and how often the gate is wrong about a system that is worse by
exactly the margin (5 of 100 times at most, on either side).

`python -m benchmarks.simulation` prints the tables of docs/statistics.md, in Markdown, in some minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.core.table import Table
from troth.stats import bootstrap, compare, correlation, intervals, median_and_error, noninferiority, quantiles, ratio
from troth.stats.intervals import Bounds
from troth.stats.paired import Change, paired

Array = NDArray[np.float64]
Part = Callable[[np.random.Generator, int], Iterator[tuple[str, ...]]]  # rows of a table, from so many test sets

DIALOGUES = (5, 10, 20, 50, 200)
MORE_DIALOGUES = (1000,)  # for the gate
SHARES = (0.7, 0.9, 0.98, 0.995)
CORRELATIONS = (0.1, 0.5)
MARGINS = (0.005, 0.02, 0.1)
LOSS = 0.02
VARIANTS = 5  # wordings of a schema
RESAMPLES = 1000


class Dialogues(NamedTuple):
    """Simulated test sets: a row for each dialogue, a column for each set."""

    turns: NDArray[np.int64]
    share: Array  # of right turns that the dialogue has by its kind

    def right(self, rng: np.random.Generator) -> Array:
        return rng.binomial(self.turns, self.share).astype(np.float64)


def dialogues(rng: np.random.Generator, count: int, sets: int, share: float, correlation: float) -> Dialogues:
    strength = (1 - correlation) / correlation
    turns = rng.poisson(6, (count, sets)) + 2
    return Dialogues(turns, rng.beta(share * strength, (1 - share) * strength, (count, sets)))


def held(bounds: Sequence[Bounds], truth: float) -> float:
    """How often intervals hold the truth, among those that are given."""
    given = [(one.low, one.high) for one in bounds if one.low is not None and one.high is not None]
    return float(np.mean([low <= truth <= high for low, high in given])) if given else float("nan")


# -- intervals of one number -------------------------------------------------------------------------------------------


def shares(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """Shares of right turns; in brackets, what the plain percentile interval of the bootstrap would do."""
    for correlated in CORRELATIONS:
        for share in SHARES:
            cells = []
            for count in DIALOGUES:
                drawn = dialogues(rng, count, sets, share, correlated)
                num, den = drawn.right(rng), drawn.turns.astype(np.float64)
                samples = bootstrap(num[:, :500], den[:, :500], resamples=RESAMPLES)
                low, high = np.quantile(samples, [0.025, 0.975], axis=0)
                plain = float(((low <= share) & (share <= high)).mean())
                cells.append(f"{held(intervals.share(num, den), share):.3f} ({plain:.2f})")
            yield (f"share {share}", f"{correlated}", *cells)


def sensitivities(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """Schema sensitivity: each turn's coefficient of variation over five wordings; a mean between 0 and root five."""
    right = np.arange(VARIANTS + 1)
    variation = np.sqrt(VARIANTS / (VARIANTS - 1) * (VARIANTS - right) / np.maximum(right, 1)) * (right > 0)
    for correlated in CORRELATIONS:
        for share in SHARES[1:3]:
            many = dialogues(rng, 1, 400_000, share, correlated)
            truth = float(variation[rng.binomial(VARIANTS, many.share)].mean())
            cells = []
            for count in DIALOGUES:
                drawn = dialogues(rng, count, sets, share, correlated)
                num = np.zeros(drawn.turns.shape)
                for turn in range(int(drawn.turns.max())):
                    num += np.where(turn < drawn.turns, variation[rng.binomial(VARIANTS, drawn.share)], 0)
                found = intervals.share(num, drawn.turns, top=VARIANTS**0.5)
                cells.append(f"{held(found, truth):.3f}")
            yield (f"sensitivity at share {share}", f"{correlated}", *cells)


def grades(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """Means of responses that are graded between 0 and 1 (logistic of a normal variable), four to a document; in
    brackets, the width of the interval over that of Student's t."""

    def draw(count: int, centre: float, spread: float, correlated: float) -> tuple[Array, Array]:
        turns = rng.poisson(3, (count, sets)) + 1
        own = rng.normal(0, spread * np.sqrt(correlated), turns.shape)
        num = np.zeros(turns.shape)
        for turn in range(int(turns.max())):
            grade = 1 / (1 + np.exp(-centre - own - rng.normal(0, spread * np.sqrt(1 - correlated), turns.shape)))
            num += np.where(turn < turns, grade, 0)
        return num, turns.astype(np.float64)

    for name, centre, spread in (("grades", 0.7, 1.0), ("grades, narrow", 0.7, 0.15), ("grades, high", 3.0, 1.4)):
        for correlated in CORRELATIONS:
            normal = rng.normal(centre, spread, 400_000)
            truth = float((1 / (1 + np.exp(-normal))).mean())
            cells = []
            for count in DIALOGUES:
                num, den = draw(count, centre, spread, correlated)
                found, total = intervals.share(num, den, graded=True), den.sum(axis=0)
                pulls = num - num.sum(axis=0) / total * den
                error = np.sqrt(count / (count - 1) * (pulls**2).sum(axis=0)) / total
                student = 2 * quantiles.t(0.975, count - 1) * float(error.mean())
                width = np.mean([(one.high or 0) - (one.low or 0) for one in found])
                cells.append(f"{held(found, truth):.3f} ({width / student:.2f})")
            yield (f"{name}, {truth:.2f}", f"{correlated}", *cells)


def numbers(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """Log ratios, evenly spread and skewed, and the relative change between two wordings: expanded percentile."""

    def even(count: int, correlated: float) -> tuple[Array, Array, float]:
        turns = (rng.poisson(6, (count, sets)) + 2).astype(np.float64)
        own = rng.normal(0, np.sqrt(correlated), turns.shape)
        return turns * own + rng.normal(0, np.sqrt(turns * (1 - correlated))), turns, 0.0

    def skewed(count: int, correlated: float) -> tuple[Array, Array, float]:
        turns = (rng.poisson(6, (count, sets)) + 2).astype(np.float64)
        return rng.gamma(turns, 1) * rng.gamma(1 / correlated, correlated, turns.shape), turns, 1.0

    def change(count: int, correlated: float) -> tuple[Array, Array, float]:
        drawn = dialogues(rng, count, sets, 0.8, correlated)
        return rng.binomial(drawn.turns, 0.9 * drawn.share).astype(np.float64), drawn.right(rng), 0.9

    kinds: dict[str, Callable[[int, float], tuple[Array, Array, float]]] = {
        "log ratio": even, "log ratio, skewed": skewed, "relative change": change,
    }  # fmt: skip
    for name, draw in kinds.items():
        for correlated in CORRELATIONS:
            cells = []
            for count in DIALOGUES:
                num, den, truth = draw(count, correlated)
                samples = bootstrap(num, den, resamples=intervals.enough_resamples(count, RESAMPLES))
                cells.append(f"{held(intervals.expanded_percentile(ratio(num, den), samples, count), truth):.3f}")
            yield (name, f"{correlated}", *cells)


def areas(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """AUROC over documents of four responses: a third are positive, or two thirds."""

    def responses(
        count: int, area: float, correlated: float, positive: float
    ) -> tuple[Array, Array, NDArray[np.int64]]:
        document = np.repeat(np.arange(count), rng.poisson(3, count) + 1)
        labels = (rng.random(len(document)) < positive).astype(np.float64)
        own = rng.normal(0, np.sqrt(correlated), count)[document]
        noise = rng.normal(0, np.sqrt(1 - correlated), len(document))
        return own + noise + np.sqrt(2) * quantiles.normal(area) * labels, labels, document

    for area in (0.7, 0.9, 0.98):
        for positive, correlated in ((1 / 3, 0.1), (1 / 3, 0.5), (2 / 3, 0.5)):
            scores, labels, _ = responses(30_000, area, correlated, positive)
            truth = correlation.auroc(scores, labels) or 0.0
            cells = []
            for count in DIALOGUES:
                drawn = (responses(count, area, correlated, positive) for _ in range(sets))
                cells.append(f"{held([intervals.auroc(*one) for one in drawn], truth):.3f}")
            yield (f"AUROC {area}, {positive:.0%} positive", f"{correlated}", *cells)


def medians(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """Medians over runs that spread normally; the columns are numbers of runs."""
    drawn = ([median_and_error(rng.normal(0, 1, count)) for _ in range(sets)] for count in DIALOGUES)
    cells = [f"{np.mean([abs(one.median) <= (one.error or 0) for one in several]):.3f}" for several in drawn]
    yield ("median over this number of runs", "–", *cells)


# -- two systems -------------------------------------------------------------------------------------------------------


class Systems(NamedTuple):
    """Right turns of a base and of a new system, turns, and the true difference."""

    base: Array
    new: Array
    turns: Array
    difference: float


Worsening = Callable[[np.random.Generator, Dialogues, float, float], Systems]


def apart(rng: np.random.Generator, drawn: Dialogues, share: float, loss: float) -> Systems:
    """Two systems whose errors have nothing in common."""
    other = np.roll(drawn.share, 1, axis=1) * (1 - loss / share)  # the shares of the next test set
    new = rng.binomial(drawn.turns, other).astype(np.float64)
    return Systems(drawn.right(rng), new, drawn.turns.astype(np.float64), -loss)


def alike(rng: np.random.Generator, drawn: Dialogues, share: float, loss: float) -> Systems:
    """Two versions of one system: a tenth of the turns is answered anew, and some right ones are lost."""
    same = rng.binomial(drawn.turns, 0.9)
    kept = rng.binomial(same, drawn.share)
    base, new = (kept + rng.binomial(drawn.turns - same, drawn.share) for _ in range(2))
    new = rng.binomial(new, 1 - loss / share)
    return Systems(base.astype(np.float64), new.astype(np.float64), drawn.turns.astype(np.float64), -loss)


def broken(rng: np.random.Generator, drawn: Dialogues, share: float, loss: float) -> Systems:
    """The same system, but for a few dialogues that it now gets all wrong."""
    base = drawn.right(rng)
    new = np.where(rng.random(base.shape) < loss / share, 0, base)
    return Systems(base, new, drawn.turns.astype(np.float64), -loss)


def hidden(rng: np.random.Generator, drawn: Dialogues, share: float, loss: float) -> Systems:
    """Two versions of one system that differ a little everywhere, and a few dialogues that are now all wrong."""
    changed = alike(rng, drawn, share, 0.0)
    new = np.where(rng.random(changed.new.shape) < loss / share, 0, changed.new)
    return changed._replace(new=new, difference=-loss)


KINDS: dict[str, Worsening] = {"apart": apart, "alike": alike, "broken": broken, "hidden": hidden}


def differences(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """The interval of a difference, for a system that loses two points."""
    for name, worsen in KINDS.items():
        for share in SHARES[:3]:
            for correlated in CORRELATIONS:
                cells = []
                for count in DIALOGUES:
                    systems = worsen(rng, dialogues(rng, count, sets, share, correlated), share, LOSS)
                    found = compare(systems.base, systems.turns, systems.new, systems.turns, resamples=1)
                    bounds = [Bounds(one.low, one.high) for one in found]
                    cells.append(f"{held(bounds, systems.difference):.3f}")
                yield (f"{name}, share {share}", f"{correlated}", *cells)


def false_alarms(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """How often equal systems are told apart at 0.05: by randomisation, and in brackets by the bootstrap."""
    for name in ("apart", "alike"):
        for correlated in CORRELATIONS:
            for share in SHARES[:3]:
                cells = []
                for count in DIALOGUES:
                    systems = KINDS[name](rng, dialogues(rng, count, sets, share, correlated), share, 0.0)
                    found = compare(systems.base, systems.turns, systems.new, systems.turns, resamples=RESAMPLES)
                    swaps = np.mean([one.p_randomization <= 0.05 for one in found])
                    drawn = [one.p_bootstrap for one in found if one.p_bootstrap is not None]
                    boot = f"{np.mean([p <= 0.05 for p in drawn]):.3f}" if drawn else "–"
                    cells.append(f"{swaps:.3f} ({boot})")
                yield (f"{name}, share {share}", f"{correlated}", *cells)


def gates(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, ...]]:
    """A new system that is worse by exactly the margin: how often the gate says "not worse", and "worse"."""
    for name, worsen in KINDS.items():
        for margin in MARGINS:
            for correlated in CORRELATIONS:
                cells = []
                for count in (*DIALOGUES, *MORE_DIALOGUES):
                    errors = [
                        _gate_errors(rng, worsen, (count, sets, share, correlated), margin) for share in SHARES[:3]
                    ]
                    # The worst of the three shares.
                    passed, failed = (max(one[side] for one in errors) for side in (0, 1))
                    cells.append(f"{passed:.3f} / {failed:.3f}")
                yield (f"{name}, margin {margin:g}", f"{correlated}", *cells)


def _gate_errors(
    rng: np.random.Generator, worsen: Worsening, setting: tuple[int, int, float, float], margin: float
) -> tuple[float, float]:
    systems = worsen(rng, dialogues(rng, *setting), setting[2], margin)
    pair = paired(systems.base, systems.turns, systems.new, systems.turns)
    bounds = [noninferiority.bounds(Change.from_sums(pair.metric(place)), 0.95) for place in range(setting[1])]
    return float(np.mean([low >= -margin for low, _ in bounds])), float(np.mean([high < -margin for _, high in bounds]))


# -- tables ------------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=2000, help="Simulated test sets for each number.")
    parser.add_argument("--seed", type=int, default=0, help="Random seed.")
    options = parser.parse_args()
    columns = ("", "correlation", *(str(count) for count in DIALOGUES))
    tables = (
        (
            "Coverage of 95% intervals, by the number of dialogues",
            columns,
            (shares, sensitivities, grades, numbers, areas, medians),
        ),
        ("Coverage of the 95% interval of a difference", columns, (differences,)),
        ("False alarms of `compare` at 0.05: randomisation (bootstrap)", columns, (false_alarms,)),
        (
            'Errors of the gate at the margin: wrongly "not worse" / wrongly "worse"',
            (*columns, *map(str, MORE_DIALOGUES)),
            (gates,),
        ),
    )
    for title, heads, parts in tables:
        rows = [row for part in parts for row in part(np.random.default_rng(options.seed), options.sets)]
        print(f"### {title}\n\n{Table(heads, tuple(rows), labels=2).markdown()}\n")


if __name__ == "__main__":
    main()
