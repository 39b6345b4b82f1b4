"""From a score to a verdict: bounds, the threshold with the best F1, and a probability, fitted on labelled responses.

Section 5.1 of PMI-Faith's paper: scores are brought to 0 … 1 by the lowest and the highest score of dev, and a response
is called faithful iff its normalised score is at or above the threshold that gives the best F1 on dev. Of thresholds
with the same F1 the lowest is taken. Scores beyond dev's bounds stay beyond 0 and 1. The probability is the isotonic
regression of the labels on the scores (pool adjacent violators: Ayer et al., 1955), linear between its steps.

A calibration is saved as a small JSON file that names its data and each metric's signature, and is only applied to
scores of the very same signature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from troth.core.errors import UserError, near
from troth.core.version import __version__
from troth.storage import files

Array = NDArray[np.float64]

LAYOUT = 1  # raised when a reader of the old one would go wrong
ONE_LABEL = "the labelled data has only one label"
NO_SCORE = "no labelled response could be scored"
ONE_SCORE = "the metric gives all the labelled data one score"


class Data(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a calibration was fitted on."""

    file: str
    rows: int
    sha256: str
    labelled: int | None = None  # how many of the rows have a label; None: written before this was counted


class Fitted(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric's bounds, threshold (of the normalised score) and probability (points of the raw score)."""

    metric: str
    signature: str
    n: int
    positive: int
    low: float
    high: float
    threshold: float
    f1: float
    steps: tuple[tuple[float, float], ...]
    unscored: dict[str, int] = {}  # labelled responses that it could not be fitted on, by reason

    def normalised(self, scores: Array) -> Array:
        return _normalised(scores, self.low, self.high)

    def faithful(self, scores: Array) -> NDArray[np.bool_]:
        return self.normalised(scores) >= self.threshold

    def probability(self, scores: Array) -> Array:
        points = np.array(self.steps, dtype=np.float64)
        found: Array = np.interp(scores, points[:, 0], points[:, 1])
        return found


class Calibration(msgspec.Struct, frozen=True):
    data: tuple[Data, ...]
    metrics: tuple[Fitted, ...]
    version: str = __version__
    kind: str = "troth calibration"
    layout: int = LAYOUT

    def notes(self) -> list[str]:
        """What of the data had no part in it."""
        unlabelled = sum(one.rows - one.labelled for one in self.data if one.labelled is not None)
        return [
            *without_label(unlabelled),
            *(note for one in self.metrics for note in not_scored(one.metric, one.unscored, one.n)),
        ]

    def matching(self, signatures: Mapping[str, str]) -> dict[str, Fitted]:
        """The metrics that it can judge, of those scored now. One that was scored by another recipe is an error."""
        found: dict[str, Fitted] = {}
        for one in self.metrics:
            if one.metric not in signatures:
                continue
            if one.signature != signatures[one.metric]:
                what = f"'{one.metric}' was calibrated as {one.signature} and is scored as {signatures[one.metric]}"
                raise UserError(what, hint="fit it again: troth meta fit")
            found[one.metric] = one
        if not found:
            known = ", ".join(one.metric for one in self.metrics)
            hint = near(next(iter(signatures), ""), [one.metric for one in self.metrics]) or f"it has: {known}"
            raise UserError("the calibration has none of these metrics", hint=hint)
        return found


def without_label(number: int) -> list[str]:
    return [f"{number} responses have no label and are left out"] if number else []


def not_scored(metric: str, unscored: Mapping[str, int], scored: int) -> list[str]:
    total = scored + sum(unscored.values())
    return [f"{metric}: {number} of {total} not scored: {reason}" for reason, number in unscored.items()]


def fit(metric: str, signature: str, scores: Sequence[float], labels: Sequence[int]) -> Fitted | str:
    """What a metric's scores of labelled responses say; or why they say nothing."""
    values, truth = np.array(scores, dtype=np.float64), np.array(labels, dtype=np.float64)
    if not len(values):
        return NO_SCORE
    if not truth.any() or truth.all():
        return ONE_LABEL
    low, high = float(values.min()), float(values.max())
    if low == high:
        return ONE_SCORE
    best = best_f1(_normalised(values, low, high), truth)
    steps = tuple(isotonic(values, truth))
    return Fitted(metric, signature, len(values), int(truth.sum()), low, high, best.threshold, best.f1, steps)


def _normalised(scores: Array, low: float, high: float) -> Array:
    made: Array = (scores - low) / (high - low)
    return made


class Best(NamedTuple):
    threshold: float
    f1: float


def best_f1(scores: Array, labels: Array) -> Best:
    """The threshold, one of the scores, at or above which the positives have the best F1; the lowest of equals."""
    order = np.argsort(-scores, kind="stable")
    values = scores[order]
    right, called = np.cumsum(labels[order]), np.arange(1, len(values) + 1)
    last = np.r_[values[1:] != values[:-1], True]  # a threshold takes all responses with its score
    # F1 from whole numbers: 2 TP / (called + positive). Division rounds equals alike.
    f1 = (2 * right / (called + right[-1]))[last]
    at = len(f1) - 1 - int(np.argmax(f1[::-1]))
    return Best(float(values[last][at]), float(f1[at]))


def isotonic(scores: Array, labels: Array) -> list[tuple[float, float]]:
    """Points of the rising step function closest to the labels: both ends of each step."""
    values, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    sums = np.bincount(place, weights=labels)
    steps: list[list[float]] = []  # sum, count, first score, last score
    for total, size, value in zip(sums.tolist(), count.tolist(), values.tolist(), strict=True):
        steps.append([total, size, value, value])
        while len(steps) > 1 and steps[-2][0] * steps[-1][1] >= steps[-1][0] * steps[-2][1]:
            last, before = steps.pop(), steps.pop()
            steps.append([before[0] + last[0], before[1] + last[1], before[2], last[3]])
    points = [(end, step[0] / step[1]) for step in steps for end in step[2:]]
    return list(dict.fromkeys(points))


# -- on disk -----------------------------------------------------------------------------------------------------------


def save(calibration: Calibration, out: str) -> None:
    with files.new_file(out) as file:
        file.write(msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n")


def load(path: str) -> Calibration:
    try:
        found = msgspec.json.decode(Path(path).read_bytes(), type=Calibration)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file=path, hint="make one: troth meta fit") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"not a calibration: {error}", file=path, hint="was it written by troth meta fit?") from error
    if found.kind != "troth calibration":
        raise UserError("not a calibration", file=path, hint="was it written by troth meta fit?")
    if found.layout > LAYOUT:
        raise UserError("written by a newer troth", file=path, hint="update troth to read it")
    if any(one.low >= one.high or not one.steps for one in found.metrics):
        raise UserError("not a calibration: a metric's bounds are wrong", file=path, hint="fit it again")
    return found
