"""From judged turns to cells: every metric for every group of turns or of acts.

A turn belongs to `seen` if all its services are in the training schema, else to `unseen`; to `seen_domain` if all their
domains are (SGSAcc, table 1), else to `unseen_domain`; to `service:` and `domain:` of each of its services. Groups by
act, slot and kind are over single acts: a turn has acts of many kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from troth.core import groups
from troth.core.groups import ALL, SEEN, UNSEEN, Group
from troth.core.metric import Metric
from troth.core.parts import Ints, Parts
from troth.core.score import NO_ESTIMATE, Estimate, Score, make_score
from troth.responses import bleu, tamper
from troth.responses.metrics import JudgedResponse, Recipes, TurnRecipe, companion_metrics, gives_value
from troth.stats.estimates import Cell, Resampling, SystemCells

T = TypeVar("T")

GROUPS = ("seen", "service", "domain", "act", "slot", "kind")
ORDER = (*groups.WHOLE, "service", "domain", "act", "kind", "slots", "slot")
SEEN_DOMAIN, UNSEEN_DOMAIN = groups.WHOLE[3:]


@dataclass(frozen=True)
class JudgedSystem:
    """All judged responses of one system."""

    name: str
    responses: list[JudgedResponse]
    counts: dict[str, int]
    recipe: TurnRecipe

    @cached_property
    def keys(self) -> list[tuple[str, int, str]]:
        return [(response.dialogue, response.answer.index, "+".join(response.services)) for response in self.responses]

    @property
    def dialogues(self) -> list[str]:
        return [response.dialogue for response in self.responses]

    def parts(self, metric: Metric) -> Parts:
        """The metric's part of every response."""
        return Parts.from_fractions(map(metric.compute.part, self.responses), self.keys)


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
        return frozenset(map(groups.domain, self.seen or ()))

    def system_cells(self, system: JudgedSystem, inputs: Mapping[str, str]) -> SystemCells:
        """One system's cells over everything and by group, and its scores that are not ratios of sums (BLEU)."""
        wanted = [metric for metric in self.metrics if metric.name not in self.unscored]
        ratios = [metric for metric in wanted if metric.unit != "corpus"]
        whole = [metric for metric in wanted if metric.unit == "corpus"]
        further = [score for metric in whole for score in self._corpus_scores(system, metric)]
        further += [
            self._score(system, metric, ALL, reason=self.unscored[metric.name])
            for metric in self.metrics
            if metric.name in self.unscored
        ]
        return SystemCells(system.name, self._cells(system, ratios), system.dialogues, system.counts, inputs, further)

    def _cells(self, system: JudgedSystem, metrics: Sequence[Metric]) -> Iterator[Cell]:
        nothing = "no response to score" if not system.responses else "no turn has acts"
        empty = not any(response.answer.acts for response in system.responses)

        def cells(metric: Metric, unit: str, parts: Parts, members: dict[Group, Ints]) -> Iterator[Cell]:
            kind = replace(metric.compute.recipe(self.recipes), unit=unit)
            reason = nothing if empty else metric.compute.reason
            for group, mine in members.items():
                recipe = (kind, self._turns(system, group))
                yield Cell(metric, parts.take(mine), recipe, group, reason, in_rows=metric.variant != "coverage")

        by_turn = self._turn_groups(system)
        for metric in metrics:
            yield from cells(metric, metric.unit, system.parts(metric), by_turn)
        wide = {group: members for group, members in by_turn.items() if not group.name}
        for metric in companion_metrics(metrics):  # nobody asks which part of a service is covered
            yield from cells(metric, metric.unit, system.parts(metric), wide)
        if not {"act", "slot", "kind"} & set(self.by):
            return
        acts = [response.with_act(act) for response in system.responses for act in response.answer.acts]
        keys = [(act.dialogue, act.answer.index, str(index)) for index, act in enumerate(acts)]
        # SER last: the count of a table is that of its first metric, and SGSAcc applies to more acts.
        by_act = sorted((metric for metric in metrics if metric.compute.by_act), key=lambda m: "nli" not in m.needs)
        parts = [Parts.from_fractions(map(metric.compute.part, acts), keys) for metric in by_act]
        for group, members in _split(acts, self._act_groups).items():
            for metric, mine in zip(by_act, parts, strict=True):
                yield from cells(metric, "act", mine, {group: members})

    def _corpus_scores(self, system: JudgedSystem, metric: Metric) -> Iterator[Score]:
        """BLEU over the turns that have a gold utterance."""
        counts = metric.compute.counts(system.responses)
        spoken = np.array([bool(response.gold.strip()) for response in system.responses], dtype=bool)
        dialogues = system.dialogues
        for group, members in self._turn_groups(system).items():
            scored = members[spoken[members]]
            if len(scored):
                clusters = [dialogues[index] for index in scored]
                yield self._score(system, metric, group, bleu.estimate(counts[scored], clusters, self.how))
            elif group == ALL:
                yield self._score(system, metric, group, reason="no gold utterance")

    def _score(
        self,
        system: JudgedSystem,
        metric: Metric,
        group: Group,
        estimate: Estimate = NO_ESTIMATE,
        reason: str | None = None,
    ) -> Score:
        recipe = (metric.compute.recipe(self.recipes), self._turns(system, group))
        return make_score(system.name, metric, estimate, recipe, group=group, reason=reason)

    def _turns(self, system: JudgedSystem, group: Group) -> TurnRecipe:
        by_service, by_domain = group in (SEEN, UNSEEN), group in (SEEN_DOMAIN, UNSEEN_DOMAIN)
        trained = self.seen if by_service else self.seen_domains if by_domain else None
        return system.recipe if trained is None else replace(system.recipe, train=groups.fingerprint(trained))

    def _turn_groups(self, system: JudgedSystem) -> dict[Group, Ints]:
        return {ALL: np.arange(len(system.responses)), **_split(system.responses, self._groups_of_turn)}

    def _groups_of_turn(self, response: JudgedResponse) -> Iterator[Group]:
        services = response.services
        if self.seen is not None and services:
            yield SEEN if self.seen.issuperset(services) else UNSEEN
            domains = map(groups.domain, services)
            yield SEEN_DOMAIN if self.seen_domains.issuperset(domains) else UNSEEN_DOMAIN
        if "service" in self.by:
            yield from (Group("service", name) for name in services)
        if "domain" in self.by:
            yield from dict.fromkeys(Group("domain", groups.domain(name)) for name in services)

    def _act_groups(self, response: JudgedResponse) -> Iterator[Group]:
        (act,) = response.answer.acts
        if "act" in self.by:
            yield Group("act", act.act)
        if "slot" in self.by and act.slot:
            yield Group("slot", f"{act.service}.{act.slot}")
        if "kind" in self.by:
            yield Group("kind", act.kind)
            if gives_value(act):
                yield Group("slots", "noncategorical" if act.sought else "categorical")


def _split(units: Sequence[T], groups_of: Callable[[T], Iterable[Group]]) -> dict[Group, Ints]:
    """The indexes of each group's units."""
    members: dict[Group, list[int]] = {}
    for index, unit in enumerate(units):
        for group in groups_of(unit):
            members.setdefault(group, []).append(index)

    def rank(group: Group) -> tuple[Any, ...]:
        return ORDER.index(group.kind), tamper.KINDS.index(group.name) if group.kind == "kind" else 0, group

    return {group: np.array(members[group], dtype=np.int64) for group in sorted(members, key=rank)}
