"""Judged turns as cells: every metric for every group of turns or of acts, ready to become scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from troth.core import groups
from troth.core.metric import Metric
from troth.core.parts import Ints, Parts
from troth.core.score import Score
from troth.core.signature import signature
from troth.responses import bleu, references, tamper
from troth.responses.metrics import BleuRecipe, JudgedTurn, Recipes, TurnRecipe, TurnScoring, coverage
from troth.responses.sgsacc import DueAct
from troth.stats.estimates import Cell, Estimate, Resampling
from troth.stats.estimates import scores as ratio_scores

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

NO_ESTIMATE = Estimate(None, None, None, 0)
GROUPS = ("seen", "service", "domain", "act", "slot", "kind")


@dataclass(frozen=True)
class Grouping:
    """The groups that are asked for, and the training services."""

    by: Sequence[str]
    seen: frozenset[str] | None

    def recipe(self, turns: TurnRecipe, group: str) -> TurnRecipe:
        if self.seen is None or group not in ("seen", "unseen"):
            return turns
        return replace(turns, train=groups.fingerprint(self.seen))


@dataclass(frozen=True)
class JudgedSystem:
    """All judged responses of one system."""

    name: str
    turns: list[JudgedTurn]
    counts: dict[str, int]
    recipe: TurnRecipe

    @property
    def dialogues(self) -> list[str]:
        return [one.turn.dialogue for one in self.turns]

    def parts(self, metric: Metric) -> Parts:
        """The metric's part of every turn."""
        return Parts.of(map(metric.compute.part, self.turns), [turn.key for turn in self.turns])


def scores(
    system: JudgedSystem,
    metrics: Sequence[Metric],
    recipes: Recipes,
    grouping: Grouping,
    unscored: dict[str, str],
    how: Resampling,
) -> Iterator[Score]:
    """The scores of one system. `unscored`: metrics that cannot be computed at all, with the reason."""
    wanted = [metric for metric in metrics if metric.name not in unscored]
    ratios = [metric for metric in wanted if metric.unit != "corpus"]
    yield from ratio_scores(system.name, _cells(system, ratios, recipes, grouping), system.dialogues, how)
    for metric in wanted:
        if metric.unit == "corpus":
            yield from _corpus_scores(system, metric, grouping, how)
    for metric in (metric for metric in metrics if metric.name in unscored):
        recipe = (_kind(metric, recipes), system.recipe)
        yield _score(system, metric, "all", NO_ESTIMATE, recipe, unscored[metric.name])


def _cells(system: JudgedSystem, metrics: Sequence[Metric], recipes: Recipes, grouping: Grouping) -> Iterator[Cell]:
    def cell(metric: Metric, parts: Parts, group: str, unit: str) -> Cell:
        kind = replace(metric.compute.recipe(recipes), unit=unit)
        recipe = (kind, grouping.recipe(system.recipe, group))
        return Cell(metric, parts, recipe, group, _reason(metric.compute, system))

    by_turn = _turn_groups(system, grouping)
    for metric in metrics:
        parts = system.parts(metric)
        yield from (cell(metric, parts.take(places), group, metric.unit) for group, places in by_turn.items())
    for metric in coverage(metrics):
        parts = system.parts(metric)
        yield from (
            cell(metric, parts.take(places), group, metric.unit)
            for group, places in by_turn.items()
            if ":" not in group  # nobody asks which part of a service is covered
        )
    acts = [turn.alone(act) for turn in system.turns for act in turn.acts]
    keys = [(one.turn.dialogue, one.turn.turn, f"{place}") for place, one in enumerate(acts)]
    # SER last: the count of a table is that of its first metric, and SGSAcc applies to more acts.
    chosen = sorted((metric for metric in metrics if metric.compute.by_act), key=lambda one: "nli" not in one.needs)
    by_act = _act_groups(acts, grouping.by)
    parts_of = {metric.name: Parts.of(map(metric.compute.part, acts), keys) for metric in (chosen if by_act else ())}
    for group, places in by_act.items():
        yield from (cell(metric, parts_of[metric.name].take(places), group, "act") for metric in chosen)


def _corpus_scores(system: JudgedSystem, metric: Metric, grouping: Grouping, how: Resampling) -> Iterator[Score]:
    """BLEU over the turns that have a gold utterance."""
    counts = metric.compute(system.turns)
    spoken = np.array([bool(one.turn.gold.strip()) for one in system.turns], dtype=bool)
    dialogues = np.array(system.dialogues, dtype=object)
    for group, places in _turn_groups(system, grouping).items():
        chosen = places[spoken[places]]
        recipe = (BleuRecipe(**bleu.rules()), grouping.recipe(system.recipe, group))
        if len(chosen):
            estimate = bleu.estimate(counts[chosen], dialogues[chosen].tolist(), system.dialogues, how)
            yield _score(system, metric, group, estimate, recipe)
        elif group == "all":
            yield _score(system, metric, group, NO_ESTIMATE, recipe, "no gold utterance")


def _score(
    system: JudgedSystem, metric: Metric, group: str, estimate: Estimate, recipe: Any, reason: str | None = None
) -> Score:
    value, low, high, n = estimate
    text = signature(metric, recipe, n=n, group=group)
    return Score(system.name, metric.name, group, value, low, high, n, text, reason, metric.scale, metric.better)


def _kind(metric: Metric, recipes: Recipes) -> Any:
    if metric.unit != "corpus":
        return metric.compute.recipe(recipes)
    return BleuRecipe(**bleu.rules()) if bleu.available() else ()


def _reason(scoring: TurnScoring, system: JudgedSystem) -> str:
    """Why there is nothing to divide by."""
    if not system.turns:
        return "no response to score"
    return scoring.reason if any(turn.acts for turn in system.turns) else "no turn has acts"


def rows(systems: Sequence[JudgedSystem], metrics: Sequence[Metric]) -> pl.DataFrame:
    """One row per turn and metric, for the metrics that are ratios of sums; BLEU is not one."""
    import polars as pl

    ratios = [metric for metric in metrics if metric.unit != "corpus"]
    none = Parts.of([], []).frame("", "")
    return pl.concat([none, *(system.parts(one).frame(system.name, one.name) for system in systems for one in ratios)])


# -- groups ------------------------------------------------------------------------------------------------------------

ORDER = ("all", "seen", "unseen", "service", "domain", "act", "kind", "slots", "slot")


def _grouped(units: Sequence[T], names: Callable[[T], Iterable[str]]) -> dict[str, Ints]:
    """The places of each group's units."""
    places: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        for name in names(unit):
            places.setdefault(name, []).append(place)

    def rank(name: str) -> tuple[int, int, str]:
        sort, _, rest = name.partition(":")
        return ORDER.index(sort), tamper.KINDS.index(rest) if sort == "kind" else 0, name  # type: ignore[arg-type]

    return {name: np.array(places[name], dtype=np.int64) for name in sorted(places, key=rank)}


def _turn_groups(system: JudgedSystem, grouping: Grouping) -> dict[str, Ints]:
    def names(turn: JudgedTurn) -> Iterator[str]:
        services = turn.services
        if grouping.seen is not None and services:
            yield "seen" if grouping.seen.issuperset(services) else "unseen"
        if "service" in grouping.by:
            yield from (f"service:{name}" for name in services)
        if "domain" in grouping.by:
            yield from dict.fromkeys(f"domain:{groups.domain(name)}" for name in services)

    return {"all": np.arange(len(system.turns)), **_grouped(system.turns, names)}


def _act_groups(acts: Sequence[JudgedTurn], by: Sequence[str]) -> dict[str, Ints]:
    return _grouped([one.acts[0].due for one in acts], lambda due: _names(due, by))


def _names(due: DueAct, by: Sequence[str]) -> Iterator[str]:
    act, service = due
    if "act" in by:
        yield f"act:{act.act}"
    if "slot" in by and act.slot:
        yield f"slot:{service.name}.{act.slot}"
    if "kind" in by:
        yield f"kind:{tamper.kind(act, service)}"
        slot = references.slot_of(act, service)
        # The values of a request are what the user may choose from: nobody need say them.
        if slot is not None and act.values and act.act != "REQUEST" and slot is not references.COUNT:
            yield "slots:categorical" if slot.is_categorical else "slots:noncategorical"
