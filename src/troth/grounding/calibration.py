"""From a score to a verdict: bounds, the threshold with the best F1, and a probability, fitted on labelled responses.

Section 5.1 of PMI-Faith's paper: scores are normalised to 0 … 1 by the lowest and the highest score of the dev data,
and a response is called faithful iff its normalised score is at or above the threshold with the best F1 on dev (of
equals the lowest). Scores beyond dev's bounds stay beyond 0 and 1. The probability is the isotonic regression of the
labels on the scores (pool adjacent violators: Ayer et al., 1955), linear between its steps.

F1 is that of the faithful, and where most responses are faithful, calling all of them so is hard to beat: the threshold
then lets nearly every fault pass. `Aim` fits for the unfaithful instead: the recall, or the precision, that flagging
responses below the threshold should have.

A calibration is a small JSON file with its data and the recipe of each metric. It is only applied to scores of the same
recipe. One is part of the package, for the default metric and the embedded model (`load_default`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import msgspec
import numpy as np

from troth.core.decode import reading
from troth.core.errors import UserError, suggest_name
from troth.core.names import format_count
from troth.core.parts import Floats, Mask
from troth.core.version import __version__
from troth.readers import source
from troth.storage import files

DEFAULT = "default"  # names the calibration of the package in place of a file
NO_DEFAULT = "this version of troth has no calibration of its own"
LAYOUT = 1  # raised when a reader of the old one would go wrong
KIND = "troth calibration"
WRITTEN = "was it written by troth meta fit?"
ONE_LABEL = "the labelled data has only one label"
NO_SCORE = "no labelled response could be scored"
ONE_SCORE = "the metric gives all the labelled data one score"
POINTS = 200  # of a curve, at equal distances
RECALLS = (0.5, 0.8, 0.9, 0.95, 0.99)  # of the unfaithful: a curve keeps the most precise point for each
GAIN = 0.01  # verdicts that gain less over always-yes, or over chance, are worth nothing
FEW = 20  # unfaithful responses: a threshold that rests on fewer says so


class DataFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of responses."""

    file: str
    rows: int
    sha256: str
    labelled: int | None = None  # how many of the rows have a label; None: not counted


class Aim(NamedTuple):
    """What a threshold is chosen for: recall or precision of the unfaithful; with neither, F1 of the faithful."""

    recall: float | None = None
    precision: float | None = None

    def check(self) -> Aim:
        if self.recall is not None and self.precision is not None:
            raise UserError("recall and precision exclude each other", hint="aim at one of them")
        for name, value in self._asdict().items():
            if value is not None and not 0 < value <= 1:
                raise UserError(f"{name} is {value:g}", hint="it is above 0, and at most 1")
        return self

    def __str__(self) -> str:
        aims = (f"{name}:{value:g}" for name, value in self._asdict().items() if value is not None)
        return next(aims, "f1")


class Detection(msgspec.Struct, frozen=True):
    """What flagging all responses below a threshold does: a point of the ROC and of the precision-recall curve."""

    threshold: float  # of the normalised score
    recall: float  # share of the unfaithful that are flagged
    precision: float | None  # share of the flagged that are unfaithful; None: nothing is flagged
    false_alarms: float  # share of the faithful that are flagged


class Fitted(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric's bounds, threshold (of the normalised score) and probability (points of the raw score)."""

    metric: str
    signature: str  # name and recipe: `troth.core.signature.identity`
    n: int
    positive: int
    low: float
    high: float
    threshold: float
    f1: float
    steps: tuple[tuple[float, float], ...]
    unscored: dict[str, int] = {}  # labelled responses that have no score, by reason
    aim: str = "f1"  # what the threshold was chosen for
    curve: tuple[Detection, ...] = ()  # thresholds from the lowest to the highest: `_thin_curve`
    at: Detection | None = None  # what the threshold does on the labelled data; None: written by an older troth

    def warnings(self) -> list[str]:
        """Why the verdicts are worth little, if they are."""
        if self.at is None:
            return []
        share, missed = self.positive / self.n, 1 - self.at.recall
        if self.aim == "f1" and self.f1 - 2 * share / (1 + share) < GAIN:
            what = f"no better than calling every response faithful; {missed:.0%} of the unfaithful pass"
            return [f"{self.metric}: {what}; fit for the unfaithful (recall 0.9), or take another metric"]
        if self.aim != "f1" and (self.at.precision is None or self.at.precision - (1 - share) < GAIN):
            what = f"no better than chance: of the flagged, {self.at.precision or 0:.0%} are unfaithful"
            return [f"{self.metric}: {what}, of all responses {1 - share:.0%}; take another metric"]
        few = self.n - self.positive
        return [f"{self.metric}: the threshold rests on {few} unfaithful responses only"] if few < FEW else []

    def recipe(self, scored: Any) -> Any:
        """The recipe of verdicts: that of the scores, with bounds and threshold."""
        return scored, {name: f"{getattr(self, name):.6g}" for name in ("low", "high", "threshold")}

    @property
    def raw_threshold(self) -> float:
        """The threshold as a score of the metric: `threshold` is that of the normalised score."""
        return self.low + self.threshold * (self.high - self.low)

    def normalise(self, scores: Floats) -> Floats:
        return (scores - self.low) / (self.high - self.low)

    def faithful(self, scores: Floats) -> Mask:
        return self.normalise(scores) >= self.threshold

    def probability(self, scores: Floats) -> Floats:
        points = np.array(self.steps, dtype=np.float64)
        return np.interp(scores, points[:, 0], points[:, 1])


class Calibration(msgspec.Struct, frozen=True):
    """Verdicts by one metric or several, and the data that they were fitted on."""

    data: tuple[DataFile, ...]
    metrics: tuple[Fitted, ...]
    version: str = __version__
    kind: str = KIND
    layout: int = LAYOUT
    context: str = ""  # what answers of chats rested on: "tools+user"; empty: no chats were read, or an older troth

    def notes(self) -> list[str]:
        """Notes on data that was left out, and on verdicts of little worth."""
        unlabelled = sum(entry.rows - entry.labelled for entry in self.data if entry.labelled is not None)
        return [
            *unlabelled_notes(unlabelled),
            *(note for entry in self.metrics for note in unscored_notes(entry.metric, entry.unscored, entry.n)),
            *(warning for entry in self.metrics for warning in entry.warnings()),
        ]

    def check_context(self, context: str) -> None:
        """Raises an error where chats are read with another context than those that this was fitted on."""
        if self.context and set(self.context.split("+")) != set(context.split("+")):
            what = f"the calibration was fitted with the context {self.context}, and the chats are read with {context}"
            raise UserError(what, hint=f"set the context to {self.context}, or fit it again: troth meta fit")

    def match_recipes(self, recipes: Mapping[str, str]) -> dict[str, Fitted]:
        """The calibrations of the metrics scored now; an error if one was scored by another recipe."""
        matches: dict[str, Fitted] = {}
        for entry in self.metrics:
            if entry.metric not in recipes:
                continue
            if entry.signature != recipes[entry.metric]:
                what = f"'{entry.metric}' was calibrated as {entry.signature} and is scored as {recipes[entry.metric]}"
                raise UserError(what, hint="fit it again: troth meta fit")
            matches[entry.metric] = entry
        if not matches:
            known = [entry.metric for entry in self.metrics]
            hint = suggest_name(next(iter(recipes), ""), known) or f"it has: {', '.join(known)}"
            raise UserError("the calibration has none of these metrics", hint=hint)
        return matches


def unlabelled_notes(number: int) -> list[str]:
    """A note on responses without a label, if there are any."""
    return [f"left out for lack of a label: {format_count(number, 'response')}"] if number else []


def unscored_notes(metric: str, unscored: Mapping[str, int], scored: int) -> list[str]:
    """A note for each reason why responses have no score."""
    total = scored + sum(unscored.values())
    return [f"{metric}: {number} of {total} not scored: {reason}" for reason, number in unscored.items()]


def fit(
    metric: str, recipe: str, scores: Sequence[float], labels: Sequence[int], aim: Aim | None = None
) -> Fitted | str:
    """Bounds, threshold and probability of a metric from its scores of labelled responses; or why there are none."""
    aim = aim or Aim()
    values, truth = np.array(scores, dtype=np.float64), np.array(labels, dtype=np.float64)
    if not len(values):
        return NO_SCORE
    if not truth.any() or truth.all():
        return ONE_LABEL
    low, high = float(values.min()), float(values.max())
    if low == high:
        return ONE_SCORE
    normalised = (values - low) / (high - low)
    points = detection_curve(normalised, truth)
    threshold = best_f1(normalised, truth).threshold if str(aim) == "f1" else _best_threshold(points, aim)
    if threshold is None:
        best = max(point.precision for point in points if point.precision is not None)
        return f"flagging reaches a precision of {best:.3f} at most"
    at = next(point for point in points if point.threshold == threshold)
    f1 = _f1_at(normalised, truth, threshold)
    steps = tuple(isotonic(values, truth))
    return Fitted(
        metric, recipe, len(values), int(truth.sum()), low, high, threshold, f1, steps, {}, str(aim),
        tuple(_thin_curve(points)), at,
    )  # fmt: skip


def detection_curve(scores: Floats, labels: Floats) -> list[Detection]:
    """What flagging all responses below each distinct score does, the lowest first; and flagging all of them."""
    values, index = np.unique(scores, return_inverse=True)
    below = [np.cumsum(np.bincount(index, weights=side)).tolist() for side in (1 - labels, labels)]
    wrong, right = ([0.0, *side] for side in below)
    thresholds = [*values.tolist(), float(np.nextafter(values[-1], np.inf))]
    return [
        Detection(threshold, bad / wrong[-1], bad / (bad + good) if bad + good else None, good / right[-1])
        for threshold, bad, good in zip(thresholds, wrong, right, strict=True)
    ]


def _best_threshold(points: Sequence[Detection], aim: Aim) -> float | None:
    """The threshold with the best precision of those with the recall, or the reverse; of equals the lowest."""
    able = [
        (point, point.precision)
        for point in points
        if point.precision is not None and point.recall >= (aim.recall or 0) and point.precision >= (aim.precision or 0)
    ]
    if not able:
        return None
    return max(able, key=lambda pair: pair[1] if aim.recall is not None else pair[0].recall)[0].threshold


def _f1_at(scores: Floats, labels: Floats, threshold: float) -> float:
    called = scores >= threshold
    return float(2 * (called * labels).sum() / (called.sum() + labels.sum()))


def _thin_curve(points: Sequence[Detection]) -> list[Detection]:
    """`POINTS` at equal distances, with the first and the last, and the most precise for each of `RECALLS`."""
    indexes = set(np.linspace(0, len(points) - 1, min(POINTS, len(points))).round().astype(int).tolist())
    precise = [-1.0 if point.precision is None else point.precision for point in points]
    for recall in RECALLS:
        able = (index for index, point in enumerate(points) if point.recall >= recall)
        indexes.add(max(able, key=lambda index: precise[index]))
    return [points[index] for index in sorted(indexes)]


class Best(NamedTuple):
    threshold: float
    f1: float


def best_f1(scores: Floats, labels: Floats) -> Best:
    """The score at or above which calling responses positive has the best F1; the lowest of equals."""
    order = np.argsort(-scores, kind="stable")
    values = scores[order]
    right, called = np.cumsum(labels[order]), np.arange(1, len(values) + 1)
    last = np.r_[values[1:] != values[:-1], True]  # a threshold takes all responses with its score
    # F1 from whole numbers: 2 TP / (called + positive). Equal fractions round alike.
    f1 = (2 * right / (called + right[-1]))[last]
    at = len(f1) - 1 - int(np.argmax(f1[::-1]))
    return Best(float(values[last][at]), float(f1[at]))


def isotonic(scores: Floats, labels: Floats) -> list[tuple[float, float]]:
    """Points of the rising step function closest to the labels: both ends of each step."""
    values, index, count = np.unique(scores, return_inverse=True, return_counts=True)
    sums = np.bincount(index, weights=labels)
    steps: list[list[float]] = []  # sum, count, first score, last score
    for total, size, value in zip(sums.tolist(), count.tolist(), values.tolist(), strict=True):
        steps.append([total, size, value, value])
        while len(steps) > 1 and steps[-2][0] * steps[-1][1] >= steps[-1][0] * steps[-2][1]:
            last, before = steps.pop(), steps.pop()
            steps.append([before[0] + last[0], before[1] + last[1], before[2], last[3]])
    return list(dict.fromkeys([(end, step[0] / step[1]) for step in steps for end in step[2:]]))


def save(calibration: Calibration, out: str) -> None:
    """Writes a calibration to a new file."""
    with files.new_file(out) as file:
        file.write(msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n")


def load(path: str) -> Calibration:
    """Reads a calibration that `save` wrote; `default` is that of the package."""
    if path == DEFAULT:
        if (bundled := load_default()) is None:
            raise UserError(NO_DEFAULT, hint="fit one: troth meta fit")
        return bundled
    return _parse(source.read_bytes(path, hint="make one: troth meta fit"), path)


def load_default() -> Calibration | None:
    """The calibration in the package, written by `save`; None if the package has none."""
    file = resources.files("troth.grounding") / "data" / "calibration.json"
    return _parse(file.read_bytes(), DEFAULT) if file.is_file() else None


def _parse(data: bytes, path: str) -> Calibration:
    with reading(path, "not a calibration", hint=WRITTEN):
        calibration = msgspec.json.decode(data, type=Calibration)
    if calibration.layout > LAYOUT:
        raise UserError("written by a newer troth", file=path, hint="update troth to read it")
    sound = calibration.kind == KIND and all(entry.low < entry.high and entry.steps for entry in calibration.metrics)
    if not sound:
        raise UserError("not a calibration, or its bounds are wrong", file=path, hint=WRITTEN)
    return calibration
