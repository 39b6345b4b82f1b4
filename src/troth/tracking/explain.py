"""Why two scripts disagree: the rules that differ between two profiles, changed one at a time.

All steps are scored in one pass over the files. The steps add up: the first starts at one profile's score, the last
ends at the other's. `alone` is what a rule does by itself, which differs where rules act on the same units.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import Path, path_of
from troth.tracking.cells import TrackedSystem
from troth.tracking.feed import Corpus, Predictions, feed
from troth.tracking.metrics import metric as find_metric
from troth.tracking.profiles import ABOUT, ORDER, Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import schema_of
from troth.tracking.scorer import Scorer

Key = tuple[str, int, str]


class RuleFlip(msgspec.Struct, frozen=True):
    """A unit whose score one rule moves."""

    dialogue: str
    turn: int
    service: str | None
    before: float | None  # None: not a unit under that rule
    after: float | None


class RuleStep(msgspec.Struct, frozen=True):
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
    flips: list[RuleFlip]


def explain(
    gold: Path,
    pred: Path | None = None,
    *,
    start: str | Profile = "sgd",
    end: str | Profile = "trade",
    metric: str = "jga",
    schema: Path | None = None,
    format: str | None = None,
    pred_format: str | None = None,
) -> list[RuleStep]:
    """The rules that differ between two profiles, and what each of them does to a metric.

    >>> from troth import demo
    >>> steps = explain(demo.path("gold"), demo.path("hasty"), start="trade", end="sgd")
    >>> f"{steps[0].before:.3f} … {steps[-1].after:.3f}"
    '0.333 … 0.495'
    """
    first, last, measure = find_profile(start), find_profile(end), find_metric(metric)
    if "given" in (first.match, last.match):
        raise UserError("profile trippy holds no values, so no rule can be changed", hint="choose another profile")
    rules = [rule for rule in ORDER if getattr(first, rule) != getattr(last, rule)]
    path = [first]
    for rule in rules:
        path.append(_changed(path[-1], rule, last))
    profiles = [*path, *(_changed(first, rule, last) for rule in rules)]
    known = schema_of(schema, path_of(gold))
    system = Predictions(
        None if pred is None else path_of(pred), lambda: [Scorer(one, known, strict=False) for one in profiles]
    )
    (scorers,) = feed(Corpus(path_of(gold), format, pred_format), [system])
    units = [_units(TrackedSystem.of(one.profile.name, one), measure) for one in scorers]
    return [
        _step(rule, (first, last), (units[index], units[index + 1]), (units[0], units[len(path) + index]))
        for index, rule in enumerate(rules)
    ]


def _changed(profile: Profile, rule: str, end: Profile) -> Profile:
    change: dict[str, Any] = {rule: getattr(end, rule)}
    return replace(profile, **change)


_Units = dict[Key, float]  # a metric's value of each unit that it applies to


def _step(
    rule: str, ends: tuple[Profile, Profile], pair: tuple[_Units, _Units], single: tuple[_Units, _Units]
) -> RuleStep:
    """`pair`: units before and after this rule on the way; `single`: at the start, and with only this rule changed."""
    before, after = pair
    flips: list[RuleFlip] | None = None
    if not _redrawn(before, after):
        flips = [
            RuleFlip(key[0], key[1], key[2] or None, before.get(key), after.get(key))
            for key in sorted(before.keys() | after.keys())
            if before.get(key) != after.get(key)
        ]
    first, alone = _mean(single[0]), _mean(single[1])
    return RuleStep(
        rule,
        ABOUT[rule],
        str(getattr(ends[0], rule)),
        str(getattr(ends[1], rule)),
        _mean(before),
        _mean(after),
        None if first is None or alone is None else alone - first,
        len(before),
        len(after),
        None if flips is None else sum((flip.after or 0.0) > (flip.before or 0.0) for flip in flips),
        None if flips is None else sum((flip.after or 0.0) < (flip.before or 0.0) for flip in flips),
        flips or [],
    )


def _redrawn(before: _Units, after: _Units) -> bool:
    """Whether units of one side are frames and those of the other turns, so that there is nothing to pair them by."""
    kinds = [{bool(service) for *_, service in side} for side in (before, after)]
    return True in kinds[0] ^ kinds[1]


def _units(system: TrackedSystem, metric: Metric) -> _Units:
    parts = system.parts(metric)
    keys = parts.units.keys()
    return {key: num for key, num, den in zip(keys, parts.num.tolist(), parts.den.tolist(), strict=True) if den}


def _mean(units: _Units) -> float | None:
    return math.fsum(units.values()) / len(units) if units else None
