"""Two systems or more on the same dialogues: is the difference beyond noise?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from troth import stats
from troth.core.errors import UserError, near
from troth.core.metric import Scale
from troth.core.score import Score
from troth.readers import source
from troth.storage import runs as store
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import dst, named

Sums = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Side:
    """One system: each metric's numerator and denominator summed per dialogue, dialogues sorted by id."""

    name: str
    dialogues: tuple[str, ...]
    sums: dict[str, Sums]
    recipes: dict[str, str]  # signatures without what is the file's own: n and version
    reasons: dict[str, str]  # why a metric has no value
    scales: dict[str, Scale] = field(default_factory=dict)

    def margin(self, metric: str, given: float) -> float:
        """A margin as people give it: in points of a share, in the metric's own unit of any other number."""
        return given / 100 if self.scales.get(metric, "share") == "share" else given

    def pick(self, metric: str) -> Sums:
        if metric not in self.sums:
            hint = near(metric, self.sums) or "it has: " + (", ".join(self.sums) or "none")
            raise UserError(f"'{self.name}' has no metric '{metric}'", hint=self.reasons.get(metric) or hint)
        return self.sums[metric]

    def merits(self, metric: str) -> Sums:
        """The same, turned round where lower is better: more is always in the system's favour."""
        num, den = self.pick(metric)
        return (den - num, den) if metric.startswith(LOWER) else (num, den)


class Difference(msgspec.Struct, frozen=True):
    """`system` against `base` on one metric: the system's value minus the base's. Of `LOWER` metrics less is better."""

    base: str
    system: str
    metric: str
    base_value: float
    value: float
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomization: float
    p_holm: float  # of the randomisation test, corrected for all comparisons made at once
    dialogues: int
    signature: str


def sides(
    paths: Sequence[str], metrics: Sequence[str], *, gold: str | None = None, profile: str | None = None
) -> list[Side]:
    """Systems from run folders, or from prediction files scored now against `gold`."""
    preds = [path for path in paths if not store.is_run(path)]
    if preds and gold is None:
        raise _not_a_run(preds[0])
    scored = iter(_scored(gold, preds, metrics, profile) if gold is not None and preds else ())
    # In the order given: the first is what the others are held against.
    found = [(path, side) for path in paths for side in ([next(scored)] if path in preds else _from_run(path))]
    names = store.distinct([(path, side.name) for path, side in found])
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"'{name}' is named twice", hint="name every run or prediction once")
    return [replace(side, name=name) for name, (_, side) in zip(names, found, strict=True)]


def _not_a_run(path: str) -> UserError:
    if not os.path.exists(path) and not os.path.exists(named(path)[1]):
        return source.missing(path)
    return UserError("is not a run of troth", file=path, hint="score predictions against --gold GOLD")


def _scored(gold: str, preds: Sequence[str], metrics: Sequence[str], profile: str | None) -> list[Side]:
    chosen = None if profile is None else find_profile(profile)
    result = dst(gold, *preds, profile=chosen, metrics=metrics, resamples=1)
    return _from_rows(result.rows().to_dict(as_series=False), result.scores, "dst")


def _from_run(path: str) -> list[Side]:
    run = store.load(path)
    return _from_rows(store.rows(path).to_dict(as_series=False), run.scores, run.command)


def _from_rows(rows: dict[str, list[object]], scores: Sequence[Score], command: str) -> list[Side]:
    wanted = ("system", "metric", "dialogue", "num", "den")
    if any(column not in rows for column in wanted):
        raise UserError("rows.parquet is not of this layout", hint="make the run again")
    system, metric, dialogue = (np.array(rows[name], dtype=object) for name in wanted[:3])
    try:
        num, den = (np.array(rows[name], dtype=np.float64) for name in wanted[3:])
    except (TypeError, ValueError):
        raise UserError("rows.parquet holds what is no number", hint="make the run again") from None
    found = []
    for name in dict.fromkeys(score.system for score in scores):
        mine = system == name
        ids, index = np.unique(dialogue[mine].astype(str), return_inverse=True)
        sums: dict[str, Sums] = {}
        for label in dict.fromkeys(metric[mine]):
            chosen = metric[mine] == label
            sums[label] = tuple(  # type: ignore[assignment]
                np.bincount(index[chosen], weights=part[mine][chosen], minlength=len(ids)) for part in (num, den)
            )
        recipes = {s.metric: s.recipe for s in scores if s.system == name and s.group == "all"}
        reasons = {s.metric: s.reason for s in scores if s.system == name and s.value is None and s.reason}
        scales = {label: store.scale_of(command, label) for label in sums} | {s.metric: s.scale for s in scores}
        found.append(Side(name, tuple(ids.tolist()), sums, recipes, reasons, scales))
    return found


def _check(base: Side, other: Side, metric: str) -> None:
    """Only like is compared with like."""
    if base.dialogues != other.dialogues:
        apart = sorted(set(base.dialogues) ^ set(other.dialogues))
        what = f"'{base.name}' and '{other.name}' are scored on different dialogues: {len(apart)} are in one only"
        raise UserError(what, dialogue=apart[0], hint="score both on the same gold")
    base.pick(metric)
    other.pick(metric)
    if base.recipes.get(metric) != other.recipes.get(metric):
        what = f"'{base.name}' and '{other.name}' are scored by different recipes"
        raise UserError(f"{what}: {base.recipes.get(metric)} and {other.recipes.get(metric)}", hint="score both alike")


def compare(
    systems: Sequence[Side], metrics: Sequence[str], *, resamples: int = 10_000, seed: int = 0
) -> list[Difference]:
    """Each system against the first, on every metric, with Holm's correction over all of it."""
    if len(systems) < 2:
        raise UserError("comparing takes two systems or more", hint="name another run or prediction")
    base = systems[0]
    made: list[tuple[Side, str, stats.Comparison]] = []
    for other in systems[1:]:
        for metric in metrics:
            _check(base, other, metric)
        parts = [np.stack([side.pick(m)[i] for m in metrics], axis=1) for side in (base, other) for i in (0, 1)]
        results = stats.compare(*parts, resamples=resamples, seed=seed)
        made.extend((other, metric, result) for metric, result in zip(metrics, results, strict=True))
    corrected = stats.holm([result.p_randomization for *_, result in made])
    return [
        Difference(
            base.name, other.name, metric, _value(base, metric), _value(other, metric),
            one.difference, one.low, one.high, one.p_bootstrap, one.p_randomization, p, one.dialogues,
            base.recipes.get(metric, ""),
        )
        for (other, metric, one), p in zip(made, corrected, strict=True)
    ]  # fmt: skip


def _value(side: Side, metric: str) -> float:
    num, den = side.pick(metric)
    return float(num.sum() / den.sum())


def gate(
    base: Side,
    new: Side,
    metric: str,
    *,
    margin: float,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> stats.Gate:
    """Whether `new` is worse than `base` by more than `margin`, with confidence.

    `margin` is in the terms of `Score.value`: 0.005 is half a point of a share. The difference is new minus base in
    the metric's own terms, also where lower is better.
    """
    _check(base, new, metric)
    found = stats.gate(
        *base.merits(metric), *new.merits(metric), margin=margin, confidence=confidence, resamples=resamples, seed=seed
    )
    if not metric.startswith(LOWER):
        return found
    return replace(found, difference=-found.difference, low=-found.high, high=-found.low)
