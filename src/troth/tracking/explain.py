"""Why two scripts disagree: the rules that differ between two profiles, changed one at a time.

All steps are scored in one pass over the files. The steps add up: the first starts at one profile's score, the last
ends at the other's. `alone` is what a rule does by itself, which differs where rules act on the same units.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec

from troth import readers
from troth.core.errors import UserError
from troth.tracking import metrics as aggregate
from troth.tracking.frames import Scorer
from troth.tracking.pool import feed
from troth.tracking.profiles import RULES, Profile
from troth.tracking.scores import System, system

Key = tuple[int, int, str]


class Flip(msgspec.Struct, frozen=True):
    """A unit whose score one rule moves."""

    dialogue: str
    turn: int
    service: str | None
    before: float | None  # None: not a unit under that rule
    after: float | None


class Step(msgspec.Struct, frozen=True):
    """One rule changed: the score before and after it, and the units that it moves."""

    rule: str
    meaning: str
    old: str
    new: str
    before: float | None
    after: float | None
    alone: float | None  # what the rule does when it is the only one changed
    units_before: int
    units_after: int
    raised: int | None  # units whose score rises or falls; None where the rule changes what a unit is
    lowered: int | None
    flips: list[Flip]


def explain(
    gold: str,
    pred: str | None,
    *,
    start: Profile,
    end: Profile,
    metric: str = "jga",
    schema: str | None = None,
    formats: tuple[str | None, str | None] = (None, None),
) -> list[Step]:
    """Every rule that differs between two profiles, in the order of `RULES`, with what it does to a metric."""
    if "given" in (start.match, end.match):
        raise UserError("profile trippy holds no values, so no rule can be changed", hint="choose another profile")
    aggregate.metric(metric)
    rules = [rule for rule in RULES if getattr(start, rule) != getattr(end, rule)]
    path = [start]
    for rule in rules:
        path.append(_changed(path[-1], rule, end))
    profiles = [*path, *(_changed(start, rule, end) for rule in rules)]
    schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
    scorers = feed(lambda: [Scorer(profile, schemas, strict=False) for profile in profiles], gold, pred, formats)
    scored = [system(profile.name, scorer, schemas) for profile, scorer in zip(profiles, scorers, strict=True)]
    steps = []
    for index, rule in enumerate(rules):
        before, after, alone = scored[index], scored[index + 1], scored[len(path) + index]
        steps.append(_step(rule, start, end, metric, (before, after, scored[0], alone)))
    return steps


def _changed(profile: Profile, rule: str, end: Profile) -> Profile:
    change: dict[str, Any] = {rule: getattr(end, rule)}
    return replace(profile, **change)


def _step(rule: str, start: Profile, end: Profile, metric: str, scored: tuple[System, ...]) -> Step:
    before, after, first, alone = (_units(one, metric) for one in scored)
    old, new = str(getattr(start, rule)), str(getattr(end, rule))
    flips: list[Flip] | None = None
    if not _redrawn(before, after):
        flips = [
            Flip(scored[0].dialogues[key[0]], key[1], key[2] or None, before.get(key), after.get(key))
            for key in sorted(before.keys() | after.keys())
            if before.get(key) != after.get(key)
        ]
    first_mean, alone_mean = _mean(first), _mean(alone)
    return Step(
        rule,
        RULES[rule],
        old,
        new,
        _mean(before),
        _mean(after),
        None if first_mean is None or alone_mean is None else alone_mean - first_mean,
        len(before),
        len(after),
        None if flips is None else sum((flip.after or 0.0) > (flip.before or 0.0) for flip in flips),
        None if flips is None else sum((flip.after or 0.0) < (flip.before or 0.0) for flip in flips),
        flips or [],
    )


def _redrawn(before: dict[Key, float], after: dict[Key, float]) -> bool:
    """Whether units of one side are frames and those of the other turns, so that there is nothing to pair them by."""
    kinds = [{bool(service) for *_, service in side} for side in (before, after)]
    return True in kinds[0] ^ kinds[1]


def _units(scored: System, metric: str) -> dict[Key, float]:
    """The metric's value of each unit that it applies to."""
    parts = aggregate.metric(metric)(scored.frames)
    services = [*scored.services, ""]  # numbers are each scorer's own; the last, at -1, is a unit without a service
    names = (services[code] for code in parts.service.tolist())
    keys = zip(parts.dialogue.tolist(), parts.turn.tolist(), names, strict=True)
    return {key: num for key, num, den in zip(keys, parts.num.tolist(), parts.den.tolist(), strict=True) if den}


def _mean(units: dict[Key, float]) -> float | None:
    return math.fsum(units.values()) / len(units) if units else None
