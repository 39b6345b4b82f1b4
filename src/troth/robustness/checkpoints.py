"""Several runs of a system, several systems, and one system at several points of its training (CheckDST, 3 and 4).

The average slack of table 3 is between systems: the mean distance from the best system over the columns of table 2.
Slack over the checkpoints of one system is ours; the paper does not speak of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from troth import stats
from troth.core.errors import UserError, suggest_name
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.names import Path, path_of
from troth.core.options import check_choice
from troth.core.result import Result
from troth.core.score import Score
from troth.robustness.metrics import JGA, SLACK, table_2
from troth.storage.runs import open as opened


class Median(msgspec.Struct, frozen=True):
    """A metric over several runs of a system, as tables 2 and 5 of CheckDST print it."""

    system: str
    metric: str
    median: float
    error: float | None  # of the median; None for a single run, for the slack, and for a family of systems
    runs: int
    family: bool = False  # whether `system` names a family of systems, and the median is over those of its systems


@dataclass(frozen=True)
class MedianTable:
    """The medians of some systems, and which of them are best and worst."""

    medians: list[Median]  # with two systems or more, the average slack of each comes last
    columns: list[Metric]  # those of table 2 that all systems have, then the slack; of other runs, all metrics
    best: set[Median]  # with those that do not differ from the best beyond their errors; none if all are alike
    worst: set[Median]
    error: str  # the part after ±


class Checkpoint(msgspec.Struct, frozen=True):
    name: str
    step: int | None
    values: dict[str, float]
    slack: float  # mean distance from the best checkpoint over the columns of table 2


class Picked(msgspec.Struct, frozen=True):
    """What figures 2 and 3 are about: training on helps JGA and hurts the rest."""

    checkpoints: list[Checkpoint]
    least_slack: str
    best_jga: str
    gains: dict[str, float]  # the best by JGA minus the first checkpoint, per metric
    columns: list[str]  # of table 2, which the slack is over


ERRORS = {  # how the number after ± is computed, and what tables call it
    "interval": (stats.median_and_error, "half of the 95% interval"),
    "se": (stats.median_and_standard_error, "standard error"),
}


def medians(
    runs: Iterable[Result | Path], *, error: str = "interval", families: Mapping[str, Sequence[str]] | None = None
) -> MedianTable:
    """Medians over runs with their errors, per system and metric, and the average slack between systems.

    `runs`: results or run folders; runs with the same system's name belong together. `error`: "interval" is half of the
    median's 95% interval, "se" the standard error of the runs, as in the paper. `families`: names of systems by family;
    each family has the median over the medians and slacks of its systems (figure 4). Best, worst and slack are between
    systems alone.
    """
    check_choice("error", error, tuple(ERRORS))
    estimate, label = ERRORS[error]
    results = [run if isinstance(run, Result) else opened(run) for run in runs]
    values: dict[str, dict[str, list[float]]] = {}
    for score in _whole(results):
        values.setdefault(score.system, {}).setdefault(score.metric, []).append(score.value or 0.0)
    every = [
        Median(system, metric, *estimate(several), len(several))
        for system, by_metric in values.items()
        for metric, several in by_metric.items()
    ]
    shared = _shared(results, values)
    columns = table_2(shared)
    if len(values) > 1 and columns:
        centres = {system: {m.metric: m.median for m in every if m.system == system} for system in values}
        slack = _slack(centres, columns)
        every += [Median(system, SLACK.name, slack[system], None, len(results)) for system in values]
        columns.append(SLACK)
    columns = columns or shared
    best, worst = set[Median](), set[Median]()
    for column in columns:
        cells = [median for median in every if median.metric == column.name]
        order = sorted(cells, key=lambda cell: cell.median, reverse=column.better == "higher")
        best.update(cell for cell in cells if _overlap(cell, order[0]))
        worst.update(cell for cell in cells if _overlap(cell, order[-1]))
    every += [row for name, systems in (families or {}).items() for row in _family(name, systems, every)]
    return MedianTable(every, columns, best - worst, worst - best, label)


def _family(name: str, systems: Sequence[str], every: Sequence[Median]) -> Iterator[Median]:
    """The median over the medians of some systems, for each metric that all of them have."""
    known = dict.fromkeys(one.system for one in every if not one.family)
    for system in systems:
        if system not in known:
            hint = suggest_name(system, known) or "systems: " + ", ".join(known)
            raise UserError(f"family '{name}' names the system '{system}', which no run has", hint=hint)
    if name in known:
        raise UserError(f"'{name}' names a family and a system", hint="name the family otherwise")
    for metric in dict.fromkeys(one.metric for one in every):
        members = [one for one in every if one.metric == metric and one.system in systems]
        if len(members) == len(set(systems)):
            runs = sum(one.runs for one in members)
            yield Median(name, metric, median(one.median for one in members), None, runs, family=True)


def pick(runs: Mapping[str, Result | Path] | Iterable[Path]) -> Picked:
    """The checkpoint with the least average slack, and the one with the best JGA, of runs in the order of training.

    `runs`: results or run folders by name, or run folders, then named by their paths.
    """
    named = runs if isinstance(runs, Mapping) else {path_of(run): run for run in runs}
    results = {name: run if isinstance(run, Result) else opened(run) for name, run in named.items()}
    values = {name: {s.metric: s.value or 0.0 for s in _whole([result])} for name, result in results.items()}
    if len(values) < 2:
        raise UserError("at least two checkpoints are needed", hint="name another run")
    shared = _shared(list(results.values()), values)
    columns = table_2(shared)
    if not any(column.name == JGA.name for column in columns) or len(columns) < 2:
        raise UserError("these runs share no CheckDST metrics", hint="make them with troth robust checkdst … --out RUN")
    slack = _slack(values, columns)
    checkpoints = [Checkpoint(name, _step(name), scored, slack[name]) for name, scored in values.items()]
    least = min(checkpoints, key=lambda point: point.slack)
    top = max(checkpoints, key=lambda point: point.values[JGA.name])
    gains = {metric.name: top.values[metric.name] - checkpoints[0].values[metric.name] for metric in shared}
    return Picked(checkpoints, least.name, top.name, gains, [column.name for column in columns])


def _slack(values: Mapping[str, Mapping[str, float]], columns: Sequence[Metric]) -> dict[str, float]:
    """The mean distance of each from the best one over the columns."""
    totals = dict.fromkeys(values, 0.0)
    for column in columns:
        mine = {name: one[column.name] for name, one in values.items()}
        best = max(mine.values()) if column.better == "higher" else min(mine.values())
        totals = {name: total + abs(best - mine[name]) for name, total in totals.items()}
    return {name: total / len(columns) for name, total in totals.items()}


def _overlap(one: Median, other: Median) -> bool:
    """Whether the intervals median ± error overlap."""
    return abs(one.median - other.median) <= (one.error or 0.0) + (other.error or 0.0)


def _shared(results: Sequence[Result], values: Mapping[str, Mapping[str, object]]) -> list[Metric]:
    """The metrics that all systems or checkpoints have; numbers by different recipes are not put together."""
    recipes: dict[str, str] = {}
    for score in _whole(results):
        other = recipes.setdefault(score.metric, score.identity)
        if other != score.identity:
            what = f"{score.metric} is scored by different recipes: {other} and {score.identity}"
            raise UserError(what, hint="make the runs with the same options")
    known = {metric.name: metric for result in results for metric in result.metrics}
    return [known[name] for name in recipes if all(name in one for one in values.values())]


def _whole(results: Iterable[Result]) -> list[Score]:
    return [score for one in results for score in one.scores if score.group == ALL and score.value is not None]


def _step(name: str) -> int | None:
    """The last number in a checkpoint's name, which is how trainers name them."""
    numbers = re.findall(r"\d+", name.rstrip("/").rpartition("/")[2])
    return int(numbers[-1]) if numbers else None
