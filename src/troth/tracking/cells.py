"""One system's frames as cells: every metric for every group, as parts of a ratio with its recipe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from troth.core.groups import ALL, SEEN, UNSEEN, Group, domain, fingerprint
from troth.core.metric import Metric
from troth.core.parts import NONE, Floats, Ints, Mask, Parts
from troth.core.records import Schema
from troth.stats.estimates import NOTHING, Cell
from troth.tracking.frames import SLOT_COLUMN, Frames
from troth.tracking.profiles import Profile
from troth.tracking.scorer import Scorer

GROUPS = ("seen", "service", "domain", "slot", "turn")
NO_VALUES = "the file says right or wrong per slot and holds no values"
NO_GOLD = "gold holds no states"
NO_STATES = "the predictions hold no states"
REASONS = {
    "schema": "it is not known which slots are categorical; give the schema",
    "ontology": "the number of slots is not known; give the schema",
}


@dataclass(frozen=True)
class TrackedSystem:
    """One system's predictions scored under one profile, before any summing."""

    name: str
    frames: Frames
    counts: Mapping[str, int]
    unscorable: str = ""  # why nothing can be scored at all
    missing: Sequence[str] = ()  # dialogues without a prediction
    near_misses: Counter[tuple[str, str]] = field(default_factory=Counter)  # by slot and difference in writing
    slots: Sequence[str] = ()  # names of slots, where scores by slot are asked for,
    slot_table: Floats | None = None  # and their table

    @classmethod
    def from_scorer(cls, name: str, scorer: Scorer) -> TrackedSystem:
        counts = asdict(scorer.counts())
        slots = scorer.slot_table() if scorer.by_slot else None
        unscorable = "" if scorer.states_seen[0] else NO_GOLD
        if not unscorable and not scorer.states_seen[1] and len(scorer.missing) < len(scorer.dialogues):
            unscorable = NO_STATES
        frames = scorer.frames()
        frames = frames.take(np.zeros(len(frames.table), dtype=bool)) if unscorable else frames
        lists = (scorer.missing, scorer.near_misses, list(scorer.slots))
        return cls(name, frames, counts, unscorable, *lists, slots)

    def parts(self, metric: Metric) -> Parts:
        """A metric over all units."""
        parts: Parts = metric.compute(self.frames)
        return parts


@dataclass(frozen=True)
class Grouping:
    """The groups that are asked for, and the services of the training schema, which tell seen from unseen."""

    by: Sequence[str] = ()
    seen: frozenset[str] | None = None
    schema: Schema | None = None


def cells(system: TrackedSystem, metrics: Sequence[Metric], grouping: Grouping) -> Iterator[Cell]:
    """Cells of every metric and group, one at a time: all together would take more memory than the dialogues."""
    schema, by = grouping.schema, grouping.by
    for group, frames in split_by_group(system.frames, grouping):
        train = {"train": fingerprint(grouping.seen or ())} if group in (SEEN, UNSEEN) else {}
        for metric in metrics:
            parts: Parts = metric.compute(frames)
            why = system.unscorable or reason(metric, frames.profile, schema)
            yield Cell(metric, parts, (*recipe(metric, frames), train), group, why)
    if "turn" in by:
        # Select turns after computing the metric: FGA looks back at turns that are not in the group.
        whole = [(metric, recipe(metric, system.frames), system.parts(metric)) for metric in metrics]
        for position in np.unique(system.frames.column("turn").astype(np.int64)).tolist():
            for metric, rules, parts in whole:
                yield Cell(metric, parts.take(parts.units.turn == position), rules, Group("turn", str(position)))
    if "slot" in by and system.slot_table is not None:
        recipes = {metric.name: recipe(metric, system.frames) for metric in metrics}
        for metric, group, parts in _slots(system, system.slot_table, metrics):
            yield Cell(metric, parts, recipes[metric.name], group)


def recipe(metric: Metric, frames: Frames) -> tuple[Any, ...]:
    """The rules that a metric's signature names: the profile's, with the unit that the metric is over."""
    profile = frames.profile
    unit = {"unit": profile.unit, "average": profile.average}.get(metric.unit, metric.unit)
    ontology = "ontology" in metric.needs and profile.average == "turn"
    slots = {"slots": "given" if profile.match == "given" else frames.slots} if ontology else {}
    return replace(profile, unit=unit), slots


def reason(metric: Metric, profile: Profile, schema: Schema | None) -> str:
    """Why a metric has no value, if it has none."""
    if profile.match == "given" and "ontology" not in metric.needs:
        return NO_VALUES
    for need in metric.needs:
        if need == "ontology" or (need == "schema" and schema is None):
            return REASONS[need]
        if need != "schema":
            return f"gold or predictions carry no {need}"
    return NOTHING


def split_by_group(frames: Frames, grouping: Grouping) -> Iterator[tuple[Group, Frames]]:
    """All frames, and those of each group that is asked for.

    Gold decides what belongs to a service: where whole states are compared, a turn counts for the services that gold
    has values of, whatever is predicted, so that all systems have the same denominators.
    """
    yield ALL, frames
    service = gold_services(frames)
    names = [*frames.services, ""]  # the last one, at -1, is for units that have no service
    if grouping.seen is not None:
        known = np.array([name in grouping.seen for name in names])[service]
        yield SEEN, frames.take(known & (service >= 0))
        yield UNSEEN, frames.take(~known & (service >= 0))
    if "service" in grouping.by:
        for code, name in sorted(enumerate(frames.services), key=lambda item: item[1]):
            yield Group("service", name), frames.take(service == code)
    if "domain" in grouping.by:
        domains = np.array([domain(name) for name in names])
        for name in sorted(set(domains[:-1].tolist())):
            yield Group("domain", name), frames.take((domains == name)[service] & (service >= 0))


def gold_services(frames: Frames) -> Ints:
    """The service of each frame; where whole states are compared, none for a service that only the prediction has."""
    service: Ints = frames.column("service").astype(np.int64)
    if frames.profile.scope == "state" and frames.profile.match != "given":
        return np.where(frames.column("active") > 0, service, NONE)
    return service


def _slots(system: TrackedSystem, table: Floats, metrics: Sequence[Metric]) -> Iterator[tuple[Metric, Group, Parts]]:
    """JGA and AGA of each slot: JGA over the frames of its service, AGA over the frames in which gold has it.

    As for services, gold decides which frames those are, so that all systems have the same denominators.
    """
    frames = system.frames
    column = {name: table[:, place] for name, place in SLOT_COLUMN.items()}
    wanted = {metric.name: metric for metric in metrics}
    by_slot = np.argsort(column["slot"], kind="stable")
    ends = np.searchsorted(column["slot"][by_slot], np.arange(len(system.slots)), side="right")
    services = gold_services(frames)
    of_service = cache(lambda service: frames.take(services == service))
    all_units = frames.units(by_turn=False)
    for code, name in sorted(enumerate(system.slots), key=lambda item: item[1]):
        rows = by_slot[ends[code - 1] if code else 0 : ends[code]]
        score = column["score"][rows]
        if "jga" in wanted:
            mine = of_service(column["service"][rows][0])
            units = mine.units(by_turn=False)
            at, inside = _find_positions(units.dialogue, units.turn, column["dialogue"][rows], column["turn"][rows])
            lost = np.bincount(at[inside], weights=1.0 - score[inside], minlength=len(units))
            lost[np.isinf(mine.column("wrong"))] = 1.0  # without a prediction no slot is right, mentioned or not
            yield wanted["jga"], Group("slot", name), Parts(1.0 - lost.astype(np.float64), np.ones(len(lost)), units)
        if "aga" in wanted:
            active = (column["active"][rows] == 1.0).astype(float)
            keys = [column[key][rows].astype(np.int64) for key in ("dialogue", "turn", "service")]
            units = replace(all_units, dialogue=keys[0], turn=keys[1], item=keys[2])
            yield wanted["aga"], Group("slot", name), Parts(score * active, active, units)


def _find_positions(dialogue: Ints, turn: Ints, some_dialogue: Floats, some_turn: Floats) -> tuple[Ints, Mask]:
    """The position of each key among units sorted by dialogue and turn, and whether the unit exists."""
    width = int(max(turn.max(initial=0), some_turn.max(initial=0))) + 1
    known, wanted = dialogue * width + turn, some_dialogue.astype(np.int64) * width + some_turn.astype(np.int64)
    at = np.searchsorted(known, wanted)
    return at, np.r_[known, NONE][at] == wanted
