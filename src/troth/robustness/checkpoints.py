"""Several runs of one system, and one system at several points of its training (CheckDST, sections 3 and 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from troth import stats
from troth.core.errors import UserError
from troth.core.score import Score
from troth.storage.runs import Run


class Median(msgspec.Struct, frozen=True):
    """A metric over several runs of a system, as tables 2 and 5 of CheckDST print it."""

    system: str
    metric: str
    median: float
    error: float | None  # standard error; None for a single run
    runs: int


class Checkpoint(msgspec.Struct, frozen=True):
    name: str
    step: int | None
    values: dict[str, float]
    slack: float  # mean distance from the best checkpoint over all metrics


class Picked(msgspec.Struct, frozen=True):
    """What figure 2, figure 3 and table 3 are about: training on helps JGA and hurts the rest."""

    checkpoints: list[Checkpoint]
    least_slack: str
    best_jga: str
    gains: dict[str, float]  # the best by JGA minus the first checkpoint, per metric


def medians(runs: Sequence[Run]) -> list[Median]:
    """Median and standard error per system and metric; runs with the same system's name belong together."""
    _alike(runs)
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for score in _whole(run):
            found.setdefault((score.system, score.metric), []).append(score.value or 0.0)
    made = []
    for (system, metric), values in found.items():
        median, error = stats.median_and_error(values)
        made.append(Median(system, metric, median, error, len(values)))
    return made


def pick(named: Sequence[tuple[str, Run]]) -> Picked:
    """Checkpoints in the order given, with the slack of each, the one with the least and the one with the best JGA."""
    _alike([run for _, run in named])
    values = [(name, {score.metric: score.value or 0.0 for score in _whole(run)}) for name, run in named]
    if len(values) < 2:
        raise UserError("picking takes two checkpoints or more", hint="name another run")
    shared = [metric for metric in values[0][1] if all(metric in found for _, found in values)]
    counted = [metric for metric in shared if in_table_2(metric)]
    if "jga" not in counted or len(counted) < 2:
        raise UserError("these runs share no CheckDST metrics", hint="make them with troth robust checkdst … --out RUN")
    best = {metric: max(found[metric] for _, found in values) for metric in counted}
    checkpoints = [
        Checkpoint(name, _step(name), found, sum(best[m] - found[m] for m in counted) / len(counted))
        for name, found in values
    ]
    least = min(checkpoints, key=lambda point: point.slack)
    top = max(checkpoints, key=lambda point: point.values["jga"])
    gains = {metric: top.values[metric] - checkpoints[0].values[metric] for metric in shared}
    return Picked(checkpoints, least.name, top.name, gains)


def _alike(runs: Sequence[Run]) -> None:
    """Numbers by different recipes are not put together."""
    recipes: dict[str, str] = {}
    for run in runs:
        for score in _whole(run):
            other = recipes.setdefault(score.metric, score.recipe)
            if other != score.recipe:
                what = f"{score.metric} is scored by different recipes: {other} and {score.recipe}"
                raise UserError(what, hint="make the runs with the same options")


def in_table_2(metric: str) -> bool:
    """Whether a metric is one of the paper's columns."""
    return metric in ("jga", "coref_jga", "nohf", "nohf:NED") or metric.startswith("cjga:")


def _whole(run: Run) -> list[Score]:
    return [score for score in run.scores if score.group == "all" and score.value is not None]


def _step(name: str) -> int | None:
    """The last number in a checkpoint's name, which is how trainers name them."""
    found = re.findall(r"\d+", name.rstrip("/").rpartition("/")[2])
    return int(found[-1]) if found else None
