"""Two systems or more on the same dialogues: is the difference beyond noise?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from troth import stats
from troth.errors import UserError, near
from troth.metrics import aggregate
from troth.records import Score
from troth.runner import store
from troth.runner.dst import dst

Sums = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Side:
    """One system: each metric's numerator and denominator summed per dialogue, dialogues sorted by id."""

    name: str
    dialogues: tuple[str, ...]
    sums: dict[str, Sums]
    recipes: dict[str, str]  # signatures without what is the file's own: n and version

    def pick(self, metric: str) -> Sums:
        if metric not in self.sums:
            hint = near(metric, self.sums) or "it has: " + ", ".join(self.sums)
            raise UserError(f"'{self.name}' has no metric '{metric}'", hint=hint)
        return self.sums[metric]


class Difference(msgspec.Struct, frozen=True):
    """`system` against `base` on one metric; a positive difference is in favour of `system`."""

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
    runs = [path for path in paths if (Path(path) / "run.json").is_file()]
    preds = [path for path in paths if path not in runs]
    if preds and gold is None:
        if not Path(preds[0].partition("=")[2] or preds[0]).exists():
            raise UserError("no such run or prediction", file=preds[0], hint="check the path")
        raise UserError("is not a run of troth", file=preds[0], hint="score predictions against --gold GOLD")
    found = [side for path in runs for side in _from_run(path)]
    if preds and gold is not None:
        result = dst(gold, *preds, profile=profile, metrics=metrics, resamples=1)
        found.extend(_from_rows(result.rows().to_dict(as_series=False), result.scores))
    names = [side.name for side in found]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two systems are called '{name}'", hint="give them names: first=PATH second=PATH")
    return found


def _from_run(path: str) -> list[Side]:
    run = store.load(path)
    return _from_rows(store.rows(path).to_dict(as_series=False), run.scores)


def _from_rows(rows: dict[str, list[object]], scores: Sequence[Score]) -> list[Side]:
    wanted = ("system", "metric", "dialogue", "num", "den")
    if any(column not in rows for column in wanted):
        raise UserError("rows.parquet is not of this layout", hint="make the run again")
    system, metric, dialogue = (np.array(rows[name], dtype=object) for name in wanted[:3])
    num, den = (np.array(rows[name], dtype=np.float64) for name in wanted[3:])
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
        recipes = {s.metric: _recipe(s.signature) for s in scores if s.system == name and s.group == "all"}
        found.append(Side(name, tuple(ids.tolist()), sums, recipes))
    return found


def _recipe(signature: str) -> str:
    return "|".join(part for part in signature.split("|") if not part.startswith(("n:", "v:")))


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
    """Whether `new` is worse than `base` by more than `margin` (a fraction), with confidence."""
    aggregate.metric(metric)
    _check(base, new, metric)
    return stats.gate(
        *base.pick(metric), *new.pick(metric), margin=margin, confidence=confidence, resamples=resamples, seed=seed
    )
