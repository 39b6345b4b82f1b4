"""Measures of metrics against labels: values, intervals and signatures; two metrics on the same responses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from troth import stats
from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.parts import NONE, Floats, Ints, Mask, Parts, Units
from troth.core.result import Finding
from troth.core.score import Estimate, Score, make_score
from troth.core.signature import identity
from troth.grounding.calibration import Fitted
from troth.meta.labels.labelled import AUROC, RANKING, Labelled, assign_bins, resample
from troth.stats import estimates, intervals
from troth.stats.estimates import Cell, Resampling
from troth.stats.paired import FEW
from troth.stats.resampling import resample as resampled_sums

BINS = 10


def _measure(
    name: str, title: str, about: str, compute: Any = None, *, dev: bool = True, top: float | None = 1.0
) -> Metric:
    needs = ("dev",) if dev else ()
    return Metric(name, title, about, scale="number", unit="response", needs=needs, compute=compute, top=top)


# With the threshold from dev; each from verdicts (c) and labels (y) to parts of a ratio.
PRECISION = _measure(
    "precision", "Precision", "share of responses called faithful that are supported", lambda c, y: (c * y, c)
)
RECALL = _measure("recall", "Recall", "share of supported responses called faithful", lambda c, y: (c * y, y))
F1 = _measure("f1", "F1", "harmonic mean of precision and recall", lambda c, y: (2 * c * y, c + y))
ACCURACY = _measure("accuracy", "Accuracy", "share of right verdicts", lambda c, y: (1.0 * (c == y), 1.0 + 0 * y))
UNFAITHFUL_RECALL = _measure(
    "unfaithful_recall", "Unfaithful, recall", "share of unsupported responses called unfaithful",
    lambda c, y: ((1 - c) * (1 - y), 1 - y),
)  # fmt: skip
UNFAITHFUL_PRECISION = _measure(
    "unfaithful_precision", "Unfaithful, precision", "share of responses called unfaithful that are unsupported",
    lambda c, y: ((1 - c) * (1 - y), 1 - c),
)  # fmt: skip
FALSE_ALARMS = Metric(
    "false_alarms", "False alarms", "share of supported responses called unfaithful", better="lower", scale="number",
    unit="response", needs=("dev",), compute=lambda c, y: ((1 - c) * y, y), top=1.0,
)  # fmt: skip
# In the order of the paper's table 1; then the same verdicts, for who looks for the unfaithful.
JUDGED = (PRECISION, RECALL, F1, ACCURACY, UNFAITHFUL_RECALL, UNFAITHFUL_PRECISION, FALSE_ALARMS)
FROM_DEV = {
    "low": _measure("min", "Minimum", "lowest score of dev"),
    "high": _measure("max", "Maximum", "highest score of dev"),
    "threshold": _measure("threshold", "Threshold", "normalised score with the best F1 on dev"),
}
# The reliability curve, in bins of equal size.
MEAN = _measure("mean", "Mean score", "mean score of the responses in a bin", dev=False, top=None)
POSITIVE = _measure("positive", "Supported", "share of supported responses in a bin", dev=False)
EXPECTED = _measure("expected", "Expected", "share of supported responses to be expected in a bin, by dev")
CALIBRATION_ERROR = Metric(
    "ece", "Expected calibration error",
    "mean distance, over bins, between the expected share of supported responses and the true one", better="lower",
    scale="number", unit="response", needs=("dev",), top=1.0,
)  # fmt: skip
NEEDS_DEV = (*JUDGED, CALIBRATION_ERROR)
P = Metric("p", "p-value", "of a difference, with Holm's correction", scale="p", unit="response")


@dataclass(frozen=True)
class JudgedMetric:
    """One metric on the labelled responses, with its calibration on dev."""

    metric: Metric
    recipe: Any
    scores: Floats  # one per response; NaN where it has none
    fitted: Fitted | str  # or why there is none

    @property
    def scored(self) -> Mask:
        return ~np.isnan(self.scores)

    def recipe_of(self, measure: Metric) -> Any:
        """The recipe of a measure: with bounds and threshold, where it needs dev."""
        if isinstance(self.fitted, Fitted) and "dev" in measure.needs:
            return self.fitted.recipe(self.recipe)
        return self.recipe


class MetricDifference(Finding, frozen=True, tag="metric difference"):
    """`metric` against `base`; a positive difference is in favour of `metric`."""

    measure: str
    base: str
    metric: str
    difference: float
    low: float | None  # None: there is no interval
    high: float | None
    p_bootstrap: float | None  # None: too few documents for it
    p_randomization: float | None  # None: the measure is not a ratio of sums
    # Of the randomisation test where there is one, corrected for all comparisons made at once; None: there is no test.
    p_holm: float | None
    n: int


@dataclass(frozen=True)
class Evaluation:
    """Labelled responses, in groups, on which metrics are measured."""

    system: str
    labels: Floats
    units: Ints  # the document of each response, by its number; NONE where it is empty
    documents: Sequence[str]  # keys, sorted
    groups: Mapping[Group, Mask]
    how: Resampling
    metrics: dict[str, Metric] = field(default_factory=dict)  # of all scores so far

    def scores(self, judged: Sequence[JudgedMetric]) -> Iterator[Score]:
        """Every measure of each metric: for all responses, for each group, and for bins of similar scores."""
        cells = [(one, group, self._part(one, mask)) for one in judged for group, mask in self.groups.items()]
        cells = [(one, group, data) for one, group, data in cells if group == ALL or len(data)]
        for (one, group, data), drawn in zip(cells, self._resample([data for *_, data in cells]), strict=True):
            values = data.measures()
            bounds = _bounds(data, values, drawn)
            for measure, value, (low, high, note) in zip(RANKING, values, bounds, strict=True):
                estimate = Estimate(value, low, high, len(data), None if value is None else note)
                yield self._score(measure, one, group, estimate, _explain_undefined(data))
        ratios = [ratio for cell in cells for ratio in self._verdicts(*cell)]
        ratios += [ratio for one in judged for ratio in self._curve(one)]
        yield from estimates.score_cells(self.system, ratios, self.documents, self.how)
        for one in judged:
            if isinstance(one.fitted, str):
                none = Estimate(None, None, None, int(one.scored.sum()))
                yield from (self._score(measure, one, ALL, none, one.fitted) for measure in NEEDS_DEV)
            else:
                data = self._part(one, one.scored)
                error = self._calibration_error(data, one.fitted)
                yield self._score(CALIBRATION_ERROR, one, ALL, error, _explain_undefined(data))
                for name, measure in FROM_DEV.items():
                    fitted = Estimate(getattr(one.fitted, name), None, None, one.fitted.n)
                    yield self._score(measure, one, "dev", fitted)

    def _verdicts(self, judged: JudgedMetric, group: str, data: Labelled) -> Iterator[Cell]:
        """The measures with the threshold from dev, if there is one."""
        if isinstance(judged.fitted, Fitted):
            called = judged.fitted.faithful(data.scores).astype(np.float64)
            for measure in JUDGED:
                yield self._cell(measure, judged, group, data, *measure.compute(called, data.labels))

    def _curve(self, judged: JudgedMetric) -> Iterator[Cell]:
        """In bins of equal size: the mean score, the share of positives, and the share that dev leads one to expect."""
        data = self._part(judged, judged.scored)
        bin_numbers = assign_bins(data.scores, BINS)
        for number in np.unique(bin_numbers).tolist():
            members = data.take(bin_numbers == number)
            sides = [(MEAN, members.scores), (POSITIVE, members.labels)]
            if isinstance(judged.fitted, Fitted):
                sides.append((EXPECTED, judged.fitted.probability(members.scores)))
            for measure, side in sides:
                yield self._cell(measure, judged, Group("bin", str(number + 1)), members, side, np.ones(len(members)))

    def _calibration_error(self, data: Labelled, fitted: Fitted) -> Estimate:
        """The mean over bins of |expected share − share of positives|, each bin weighted by its responses.

        Resampled documents add noise of their own to a mean of distances. Resamples are therefore shifted by as much as
        their mean is above the value.
        """
        if not len(data):
            return Estimate(None, None, None, 0)
        bin_numbers = assign_bins(data.scores, BINS)
        known, unit = np.unique(data.units, return_inverse=True)
        apart, count = np.zeros((len(known), BINS)), np.bincount(unit).astype(np.float64)[:, None]
        np.add.at(apart, (unit, bin_numbers), fitted.probability(data.scores) - data.labels)

        def error(sums: Floats, counts: Floats) -> Floats:
            mean: Floats = np.abs(sums).sum(axis=1) / counts[:, 0]
            return mean

        value = float(error(apart.sum(axis=0, keepdims=True), count.sum(axis=0, keepdims=True))[0])
        resamples = intervals.enough_resamples(len(known), self.how.resamples) if len(known) > 1 else 1
        drawn = resampled_sums([apart, count], error, resamples=resamples, seed=self.how.seed)
        shifted = np.clip(drawn - (drawn.mean() - value), 0, 1)
        (bounds,) = intervals.expanded_percentile(value, shifted, len(known))
        return Estimate(value, bounds.low, bounds.high, len(data), bounds.reason)

    def _cell(self, measure: Metric, judge: JudgedMetric, group: str, data: Labelled, num: Floats, den: Floats) -> Cell:
        metric = measure.on(judge.metric.name)
        self.metrics[metric.name] = metric
        parts = self._parts(data, num, den)
        return Cell(metric, parts, judge.recipe_of(measure), group, "nothing to divide by", n=len(data))

    def _score(
        self, measure: Metric, judged: JudgedMetric, group: str, estimate: Estimate, reason: str | None = None
    ) -> Score:
        return self._make_score(measure.on(judged.metric.name), judged.recipe_of(measure), group, estimate, reason)

    def _make_score(
        self, metric: Metric, recipe: Any, group: str, estimate: Estimate, reason: str | None = None
    ) -> Score:
        self.metrics[metric.name] = metric
        return make_score(self.system, metric, estimate, recipe, group=group, reason=reason)

    def _part(self, judged: JudgedMetric, mask: Mask) -> Labelled:
        return Labelled(judged.scores, self.labels, self.units).take(judged.scored & mask)

    def _parts(self, data: Labelled, num: Floats, den: Floats) -> Parts:
        none = np.full(len(data), NONE)
        return Parts(num, den, Units(self.documents, data.units, none, (), none))

    def _resample(self, cells: Sequence[Labelled]) -> list[Floats]:
        """The measures on resampled documents. Groups of the same responses (all, the only source) are drawn once."""
        keys = [(cell.scores.tobytes(), cell.labels.tobytes(), cell.units.tobytes()) for cell in cells]
        distinct = dict(zip(keys, cells, strict=True))
        counts = [len(np.unique(cell.units)) for cell in distinct.values()]
        most = max((intervals.enough_resamples(count, self.how.resamples) for count in counts if count > 1), default=1)
        samples = resample(list(distinct.values()), len(self.documents), Resampling(most, self.how.seed))
        by_key = dict(zip(distinct, samples, strict=True))
        return [by_key[key] for key in keys]

    def differences(self, judged: Sequence[JudgedMetric]) -> list[MetricDifference]:
        """Every metric against the first, on the responses that both can score."""
        differences = [d for other in judged[1:] for d in self._compare(judged[0], other)]
        tests = [d.p_bootstrap if d.p_randomization is None else d.p_randomization for d in differences]
        corrected = stats.holm([1.0 if p is None else p for p in tests])
        return [
            msgspec.structs.replace(d, p_holm=None if test is None else p)
            for d, test, p in zip(differences, tests, corrected, strict=True)
        ]

    def _compare(self, base: JudgedMetric, other: JudgedMetric) -> Iterator[MetricDifference]:
        names, both = (base.metric.name, other.metric.name), base.scored & other.scored
        a, b = (self._part(one, both) for one in (base, other))
        column = RANKING.index(AUROC)
        before, after = (side.measures()[column] for side in (a, b))
        if before is None or after is None:
            return
        drawn = [samples[:, column] for samples in resample([a, b], len(self.documents), self.how)]
        low, high, p = _bootstrap_difference(after - before, drawn[1] - drawn[0], len(np.unique(a.units)))
        yield MetricDifference(AUROC.name, *names, after - before, low, high, p, None, 1.0, len(a))
        if isinstance(base.fitted, Fitted) and isinstance(other.fitted, Fitted):
            sums: list[Floats] = []
            for one, data in ((base.fitted, a), (other.fitted, b)):
                called = one.faithful(data.scores).astype(np.float64)
                sums += self._parts(data, *F1.compute(called, data.labels)).sums(self.documents)
            tested = stats.compare(*sums, resamples=self.how.resamples, seed=self.how.seed)[0]
            if not math.isnan(tested.difference):
                yield MetricDifference(
                    F1.name, *names, tested.difference, tested.low, tested.high,
                    tested.p_bootstrap, tested.p_randomization, 1.0, len(a),
                )  # fmt: skip

    def difference_scores(
        self, judged: Sequence[JudgedMetric], differences: Sequence[MetricDifference]
    ) -> Iterator[Score]:
        """Each difference as a score (`auroc:bleu-u_f1`), and its corrected p-value (`p:auroc:bleu-u_f1`)."""
        by_name = {d.metric.name: d for d in judged}
        for d in differences:
            measure, base = (AUROC if d.measure == AUROC.name else F1), by_name[d.base]
            against = {"against": identity(base.metric, base.recipe_of(measure))}
            recipe = (by_name[d.metric].recipe_of(measure), against)
            whole = measure.on(d.metric)
            title = f"{whole.title} against {d.base}"
            metric = whole.derive(f"{whole.name}-{d.base}", title=title, variant=d.base, low=-1.0)
            yield self._make_score(metric, recipe, ALL, Estimate(d.difference, d.low, d.high, d.n))
            corrected = Estimate(d.p_holm, None, None, d.n)
            reason = f"a test needs {FEW} documents or more" if d.p_holm is None else None
            yield self._make_score(P.on(metric.name), ({"test": "holm"}, recipe), ALL, corrected, reason)


def _bounds(data: Labelled, values: Sequence[float | None], drawn: Floats) -> list[intervals.Bounds]:
    """The interval of each measure: of AUROC by the jackknife, of correlations by the expanded percentile."""
    known = [math.nan if value is None else value for value in values]
    bounds = intervals.expanded_percentile(known, drawn, len(np.unique(data.units)))
    bounds[RANKING.index(AUROC)] = intervals.auroc(data.scores, data.labels, data.units)
    return bounds


def _bootstrap_difference(
    value: float, drawn: Floats, documents: int
) -> tuple[float | None, float | None, float | None]:
    """Interval and p-value of a difference from its resamplings; no p-value where there are few documents."""
    (bounds,) = intervals.expanded_percentile(value, drawn, documents)
    below, above = int((drawn <= 0).sum()), int((drawn >= 0).sum())
    p = min(1.0, 2 * (min(below, above) + 1) / (int((~np.isnan(drawn)).sum()) + 1))
    return bounds.low, bounds.high, p if documents >= FEW else None


def _explain_undefined(data: Labelled) -> str:
    if not len(data):
        return "no response could be scored"
    return "all responses have one label" if len(set(data.labels.tolist())) < 2 else "all responses have one score"
