"""Measures of metrics against labels: values, intervals and signatures; two metrics on the same responses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from troth import stats
from troth.core.score import Score
from troth.core.version import __version__
from troth.grounding.calibration import Fitted
from troth.meta.labelled import MEASURES, Labelled, Places, bins, resampled
from troth.stats import Array
from troth.tracking.metrics import Parts
from troth.tracking.scores import Ratio, ratios

JUDGED = ("precision", "recall", "f1", "accuracy")  # in the order of the paper's table 1
BINS = 10


@dataclass(frozen=True)
class Judged:
    """One metric on the labelled data: what it could score, where that stands, and what dev says of its scores."""

    name: str
    signature: str
    places: Places  # among the labelled responses
    data: Labelled
    fitted: Fitted | str  # or why there is none
    unscored: dict[str, int]


class Difference(msgspec.Struct, frozen=True):
    """`metric` against `base`; a positive difference is in favour of `metric`."""

    measure: str
    base: str
    metric: str
    difference: float
    low: float | None  # None: the measure is undefined on every resampling
    high: float | None
    p_bootstrap: float
    p_randomization: float | None  # None: the measure is no ratio of sums
    p_holm: float  # of the randomisation test where there is one, corrected for all comparisons made at once
    n: int


# -- scores ------------------------------------------------------------------------------------------------------------


def scores(
    system: str,
    judged: Sequence[Judged],
    groups: Mapping[str, Places],
    documents: int,
    *,
    resamples: int,
    seed: int,
) -> Iterator[Score]:
    """Per metric: the measures without calibration, those with it, what dev gave, and the reliability curve."""
    cells = [(one, group, _part(one, places)) for one in judged for group, places in groups.items()]
    drawn = _drawn([data for *_, data in cells], documents, resamples=resamples, seed=seed)
    verdicts = [_verdicts(one.fitted, data) for one, _, data in cells]
    found = _ratios([parts for mine in verdicts for parts in mine], documents, resamples=resamples, seed=seed)
    ends = np.cumsum([len(mine) for mine in verdicts]).tolist()
    none: list[Ratio | None] = [None] * len(JUDGED)  # there is no threshold
    judgements = [[*found[end - len(mine) : end]] or none for end, mine in zip(ends, verdicts, strict=True)]
    for (one, group, data), samples, mine in zip(cells, drawn, judgements, strict=True):
        if group != "all" and not len(data):
            continue
        low, high = stats.interval(samples)
        for column, (measure, value) in enumerate(data.measures().items()):
            reason = None if value is not None else _undefined(data)
            bounds = (None, None) if value is None else (_number(low[column]), _number(high[column]))
            yield _score(system, one, measure, group, value, bounds, len(data), reason)
        for measure, ratio in zip(JUDGED, mine, strict=True):
            if ratio is not None and ratio.value is not None:
                yield _score(system, one, measure, group, ratio.value, (ratio.low, ratio.high), len(data), None)
            elif group == "all":
                reason = one.fitted if isinstance(one.fitted, str) else "nothing to divide by"
                yield _score(system, one, measure, group, None, (None, None), len(data), reason)
    for one in judged:
        if isinstance(one.fitted, Fitted):
            for name, value in (("min", one.fitted.low), ("max", one.fitted.high), ("threshold", one.fitted.threshold)):
                yield _score(system, one, name, "dev", value, (None, None), one.fitted.n, None)
        yield from _reliability(system, one, documents, resamples=resamples, seed=seed)


def _drawn(cells: Sequence[Labelled], documents: int, *, resamples: int, seed: int) -> list[Array]:
    """The measures on resampled documents. Groups of the same responses (all, the only source) are drawn once."""
    keys = [(cell.scores.tobytes(), cell.labels.tobytes(), cell.units.tobytes()) for cell in cells]
    distinct = dict(zip(keys, cells, strict=True))
    samples = resampled(list(distinct.values()), documents, resamples=resamples, seed=seed)
    found = dict(zip(distinct, samples, strict=True))
    return [found[key] for key in keys]


def _part(one: Judged, places: Places) -> Labelled:
    return one.data.take(np.isin(one.places, places))


def _ratios(cells: Sequence[Parts], documents: int, *, resamples: int, seed: int) -> list[Ratio]:
    # Documents have their numbers in the order of their names; names of one length keep that order when sorted.
    names = [f"{number:09d}" for number in range(documents)]
    return ratios(cells, names, resamples=resamples, seed=seed) if cells else []


def _verdicts(fitted: Fitted | str, data: Labelled) -> list[Parts]:
    """Precision, recall, F1 and accuracy as numerators and denominators; none without a threshold."""
    if isinstance(fitted, str):
        return []
    called = fitted.faithful(data.scores).astype(np.float64)
    true, hit = data.labels, called * data.labels
    none = np.full(len(data), -1, dtype=np.int64)
    pairs = ((hit, called), (hit, true), (2 * hit, called + true), ((called == true).astype(float), np.ones(len(data))))
    return [Parts(num, den, data.units, none, none) for num, den in pairs]


def _undefined(data: Labelled) -> str:
    if not len(data):
        return "no response could be scored"
    return "all responses have one label" if len(set(data.labels.tolist())) < 2 else "all responses have one score"


def _number(bound: float) -> float | None:
    return None if math.isnan(bound) else float(bound)


def _score(
    system: str,
    one: Judged,
    measure: str,
    group: str,
    value: float | None,
    bounds: tuple[float | None, float | None],
    n: int,
    reason: str | None,
) -> Score:
    parts = [measure.upper(), one.signature]
    if measure in (*JUDGED, "expected") and isinstance(one.fitted, Fitted):
        fitted = one.fitted
        parts += [f"low:{fitted.low:.6g}", f"high:{fitted.high:.6g}", f"threshold:{fitted.threshold:.6g}"]
    if group not in ("all", "dev"):
        parts.append(f"group:{group}")
    recipe = "|".join([*parts, f"n:{n}", f"v:{__version__}"])
    return Score(system, f"{measure}:{one.name}", group, value, *bounds, n, recipe, reason, scale="number")


def _reliability(system: str, one: Judged, documents: int, *, resamples: int, seed: int) -> Iterator[Score]:
    """In bins of equal size: the mean score, the share of positives, and what dev would have one expect."""
    data = one.data
    if not len(data):
        return
    place = bins(data.scores, BINS)
    numbers = np.unique(place).tolist()
    cells: list[tuple[str, int, Parts]] = []
    for number in numbers:
        mine = data.take(place == number)
        sides = {"mean": mine.scores, "positive": mine.labels}
        if isinstance(one.fitted, Fitted):
            sides["expected"] = one.fitted.probability(mine.scores)
        none = np.full(len(mine), -1, dtype=np.int64)
        cells += [
            (name, number, Parts(side, np.ones(len(mine)), mine.units, none, none)) for name, side in sides.items()
        ]
    found = _ratios([parts for *_, parts in cells], documents, resamples=resamples, seed=seed)
    for (name, number, _), ratio in zip(cells, found, strict=True):
        bounds = (ratio.low, ratio.high) if name == "positive" else (None, None)
        yield _score(system, one, name, f"bin:{number + 1}", ratio.value, bounds, ratio.n, None)


# -- metrics side by side ----------------------------------------------------------------------------------------------


def differences(judged: Sequence[Judged], documents: int, *, resamples: int, seed: int) -> list[Difference]:
    """Every metric against the first, on what both can score."""
    made: list[Difference] = []
    base = judged[0]
    for other in judged[1:]:
        common = np.intersect1d(base.places, other.places)
        a, b = _part(base, common), _part(other, common)
        values = [side.measures()["auroc"] for side in (a, b)]
        if None in values or not len(common):
            continue
        column = MEASURES.index("auroc")
        before, after = resampled([a, b], documents, resamples=resamples, seed=seed)
        made.append(_by_bootstrap(base, other, values, after[:, column] - before[:, column], len(common)))
        verdicts = [_verdicts(base.fitted, a), _verdicts(other.fitted, b)]
        if all(verdicts):
            sums = [_summed(side, mine[JUDGED.index("f1")], documents) for mine in verdicts for side in ("num", "den")]
            one = stats.compare(*sums, resamples=resamples, seed=seed)[0]
            if not math.isnan(one.difference):
                bounds = (_number(one.low), _number(one.high))
                tests = (one.p_bootstrap, one.p_randomization, 1.0)
                made.append(Difference("f1", base.name, other.name, one.difference, *bounds, *tests, len(common)))
    tested = [one.p_bootstrap if one.p_randomization is None else one.p_randomization for one in made]
    corrected = zip(made, stats.holm(tested), strict=True)
    return [msgspec.structs.replace(one, p_holm=p) for one, p in corrected]


def _by_bootstrap(base: Judged, other: Judged, values: Sequence[float | None], drawn: Array, n: int) -> Difference:
    """The interval of the difference, and its p-value read off the same draws, as in `stats.compare`."""
    before, after = (value or 0.0 for value in values)
    low, high = (_number(bound[0]) for bound in stats.interval(drawn))
    below, above = int((drawn <= 0).sum()), int((drawn >= 0).sum())
    p = min(1.0, 2 * (min(below, above) + 1) / (int((~np.isnan(drawn)).sum()) + 1))
    return Difference("auroc", base.name, other.name, after - before, low, high, p, None, 1.0, n)


def _summed(side: str, parts: Parts, documents: int) -> Array:
    return np.bincount(parts.dialogue, weights=getattr(parts, side), minlength=documents).astype(np.float64)


def as_scores(system: str, judged: Sequence[Judged], found: Sequence[Difference]) -> Iterator[Score]:
    signatures = {one.name: one.signature for one in judged}
    for one in found:
        name = f"{one.measure}:{one.metric}-{one.base}"
        recipe = f"{one.measure.upper()}|{signatures[one.metric]}|against:{one.base}|n:{one.n}|v:{__version__}"
        yield Score(system, name, "all", one.difference, one.low, one.high, one.n, recipe, scale="number")
        yield Score(system, f"p:{name}", "all", one.p_holm, None, None, one.n, f"P|test:holm|{recipe}", scale="p")
