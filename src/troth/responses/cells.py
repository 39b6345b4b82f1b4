"""From judged turns to scores: every metric for every group of turns or of acts.

A turn belongs to `seen` if all its services are in the training schema, else to `unseen`; to `seen_domain` if all their
domains are (SGSAcc, table 1), else to `unseen_domain`; to `service:` and `domain:` of each of its services. Groups by
act, slot and kind are over single acts: a turn has acts of many kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from troth.core import groups
from troth.core.metric import Metric
from troth.core.parts import Ints, Parts
from troth.core.score import Score
from troth.core.signature import signature
from troth.responses import bleu, tamper
from troth.responses.metrics import JudgedResponse, Recipes, TurnRecipe, companions, gives_value
from troth.stats import estimates
from troth.stats.estimates import NO_PARTS, Cell, Estimate, Resampling

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

GROUPS = ("seen", "service", "domain", "act", "slot", "kind")
ORDER = (*groups.WHOLE, "service", "domain", "act", "kind", "slots", "slot")


@dataclass(frozen=True)
class JudgedSystem:
    """All judged responses of one system."""

    name: str
    responses: list[JudgedResponse]
    counts: dict[str, int]
    recipe: TurnRecipe

    @cached_property
    def keys(self) -> list[tuple[str, int, str]]:
        return [(one.dialogue, one.answer.index, "+".join(one.services)) for one in self.responses]

    @property
    def dialogues(self) -> list[str]:
        return [one.dialogue for one in self.responses]

    def parts(self, metric: Metric) -> Parts:
        """The metric's part of every response."""
        return Parts.of(map(metric.compute.part, self.responses), self.keys)


@dataclass(frozen=True)
class ResponseScorer:
    """What is scored of each system: metrics, groups, and how intervals are made."""

    metrics: Sequence[Metric]
    unscored: dict[str, str]  # metrics that cannot be computed at all, with the reason
    recipes: Recipes
    by: Sequence[str]
    seen: frozenset[str] | None  # training services
    how: Resampling

    @cached_property
    def seen_domains(self) -> frozenset[str]:
        """The domains of the training services."""
        return frozenset(map(groups.domain, self.seen or ()))

    def scores(self, system: JudgedSystem) -> Iterator[Score]:
        """The scores of one system, over everything and by group."""
        wanted = [metric for metric in self.metrics if metric.name not in self.unscored]
        ratios = [metric for metric in wanted if metric.unit != "corpus"]
        yield from estimates.scores(system.name, self._cells(system, ratios), system.dialogues, self.how)
        for metric in (metric for metric in wanted if metric.unit == "corpus"):
            yield from self._corpus_scores(system, metric)
        for metric in (metric for metric in self.metrics if metric.name in self.unscored):
            yield self._score(system, metric, "all", reason=self.unscored[metric.name])

    def rows(self, systems: Sequence[JudgedSystem]) -> pl.DataFrame:
        """One row per turn and metric, for the metrics that are ratios of sums; BLEU is not one."""
        import polars as pl

        ratios = [one for one in self.metrics if one.name not in self.unscored and one.unit != "corpus"]
        ratios += [one for one in companions(ratios) if one.variant != "coverage"]
        frames = [system.parts(metric).frame(system.name, metric.name) for system in systems for metric in ratios]
        return pl.concat([NO_PARTS.frame("", ""), *frames])

    def _cells(self, system: JudgedSystem, metrics: Sequence[Metric]) -> Iterator[Cell]:
        nothing = "no response to score" if not system.responses else "no turn has acts"
        empty = not any(one.answer.acts for one in system.responses)

        def cells(metric: Metric, unit: str, parts: Parts, places: dict[str, Ints]) -> Iterator[Cell]:
            kind = replace(metric.compute.recipe(self.recipes), unit=unit)
            reason = nothing if empty else metric.compute.reason
            for group, mine in places.items():
                yield Cell(metric, parts.take(mine), (kind, self._turns(system, group)), group, reason)

        by_turn = self._turn_groups(system)
        for metric in metrics:
            yield from cells(metric, metric.unit, system.parts(metric), by_turn)
        wide = {group: places for group, places in by_turn.items() if ":" not in group}
        for metric in companions(metrics):  # nobody asks which part of a service is covered
            yield from cells(metric, metric.unit, system.parts(metric), wide)
        if not {"act", "slot", "kind"} & set(self.by):
            return
        acts = [one.alone(act) for one in system.responses for act in one.answer.acts]
        keys = [(one.dialogue, one.answer.index, f"{place}") for place, one in enumerate(acts)]
        # SER last: the count of a table is that of its first metric, and SGSAcc applies to more acts.
        chosen = sorted((one for one in metrics if one.compute.by_act), key=lambda one: "nli" not in one.needs)
        parts = [Parts.of(map(metric.compute.part, acts), keys) for metric in chosen]
        for group, places in _grouped(acts, self._act_names).items():
            for metric, mine in zip(chosen, parts, strict=True):
                yield from cells(metric, "act", mine, {group: places})

    def _corpus_scores(self, system: JudgedSystem, metric: Metric) -> Iterator[Score]:
        """BLEU over the turns that have a gold utterance."""
        counts = metric.compute.counts(system.responses)
        spoken = np.array([bool(one.gold.strip()) for one in system.responses], dtype=bool)
        dialogues = system.dialogues
        for group, places in self._turn_groups(system).items():
            chosen = places[spoken[places]]
            if len(chosen):
                mine = [dialogues[place] for place in chosen]
                yield self._score(system, metric, group, bleu.estimate(counts[chosen], mine, self.how))
            elif group == "all":
                yield self._score(system, metric, group, reason="no gold utterance")

    def _score(
        self,
        system: JudgedSystem,
        metric: Metric,
        group: str,
        estimate: Estimate | None = None,
        reason: str | None = None,
    ) -> Score:
        value, low, high, n, note = estimate or Estimate(None, None, None, 0)
        recipe = (metric.compute.recipe(self.recipes), self._turns(system, group))
        text = signature(metric, recipe, n=n, group=group)
        scale, better = metric.scale, metric.better
        return Score(system.name, metric.name, group, value, low, high, n, text, reason, scale, better, note)

    def _turns(self, system: JudgedSystem, group: str) -> TurnRecipe:
        trained = {"seen": self.seen, "seen_domain": self.seen_domains}.get(group.removeprefix("un"))
        return system.recipe if trained is None else replace(system.recipe, train=groups.fingerprint(trained))

    # -- groups

    def _turn_groups(self, system: JudgedSystem) -> dict[str, Ints]:
        return {"all": np.arange(len(system.responses)), **_grouped(system.responses, self._turn_names)}

    def _turn_names(self, one: JudgedResponse) -> Iterator[str]:
        services = one.services
        if self.seen is not None and services:
            yield "seen" if self.seen.issuperset(services) else "unseen"
            domains = map(groups.domain, services)
            yield "seen_domain" if self.seen_domains.issuperset(domains) else "unseen_domain"
        if "service" in self.by:
            yield from (f"service:{name}" for name in services)
        if "domain" in self.by:
            yield from dict.fromkeys(f"domain:{groups.domain(name)}" for name in services)

    def _act_names(self, one: JudgedResponse) -> Iterator[str]:
        (act,) = one.answer.acts
        if "act" in self.by:
            yield f"act:{act.act}"
        if "slot" in self.by and act.slot:
            yield f"slot:{act.service}.{act.slot}"
        if "kind" in self.by:
            yield f"kind:{act.kind}"
            if gives_value(act):
                yield "slots:noncategorical" if act.sought else "slots:categorical"


def _grouped(units: Sequence[T], names: Callable[[T], Iterable[str]]) -> dict[str, Ints]:
    """The places of each group's units."""
    places: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        for name in names(unit):
            places.setdefault(name, []).append(place)

    def rank(name: str) -> tuple[Any, ...]:
        sort, _, rest = name.partition(":")
        return ORDER.index(sort), tamper.KINDS.index(rest) if sort == "kind" else 0, name

    return {name: np.array(places[name], dtype=np.int64) for name in sorted(places, key=rank)}
