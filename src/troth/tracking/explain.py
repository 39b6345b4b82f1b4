"""Explains why two scripts disagree: changes the rules that differ between two profiles one at a time.

All steps are scored in one pass. The first step starts at one profile's score, the last ends at the other's.
`alone` is the effect of one rule by itself, which differs from its step where rules act on the same units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import Path, path_of
from troth.tracking import near_misses
from troth.tracking.cells import TrackedSystem
from troth.tracking.dialogues import DialogueRecorder, DialogueStates, SlotValues
from troth.tracking.feed import DialogueSource, PairConsumer, Predictions, feed
from troth.tracking.frames import SLOT_COLUMN
from troth.tracking.metrics import metric as find_metric
from troth.tracking.profiles import ABOUT, ORDER, Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import check_sides, profile_for_files, schema_of
from troth.tracking.scorer import Scorer

Key = tuple[str, int, str]


class RuleFlip(msgspec.Struct, frozen=True):
    """A unit with a score that one rule changes, and the slots that cause it."""

    dialogue: str
    turn: int
    service: str | None
    before: float | None  # None: not a unit under that rule
    after: float | None
    slots: list[SlotValues] = []


class RuleStep(msgspec.Struct, frozen=True):
    """One rule changed: the score before and after it, and the units that it moves."""

    rule: str
    meaning: str
    old: str
    new: str
    before: float | None
    after: float | None
    alone: float | None  # change of the score if only this rule is changed
    units_before: int
    units_after: int
    raised: int | None  # units with a higher or lower score; None if the rule changes the unit itself
    lowered: int | None
    flips: list[RuleFlip]
    near_misses: list[str] = []  # wrong before or after the rule, and equal to gold except in writing


def explain(
    gold: Path,
    pred: Path | None = None,
    *,
    start: str | Profile | None = None,
    end: str | Profile | None = None,
    metric: str = "jga",
    schema: Path | None = None,
    format: str | None = None,
    pred_format: str | None = None,
) -> list[RuleStep]:
    """The rules that differ between two profiles, and the effect of each of them on a metric.

    `start`: without it, the profile that fits the predictions. `end`: without it `trade`, or `mwzeval` if that is where
    it starts. Each step names the units that the rule moves, and the slots with both values.

    >>> from troth import demo
    >>> steps = explain(demo.path("gold"), demo.path("hasty"), start="trade", end="sgd")
    >>> f"{steps[0].before:.3f} … {steps[-1].after:.3f}"
    '0.333 … 0.495'
    """
    path, guess = path_of(gold), None if pred is None else path_of(pred)
    known, measure = schema_of(schema, path), find_metric(metric)
    check_sides(path, [guess] if guess else [], format, pred_format)
    first = profile_for_files(path, guess, known, format, pred_format) if start is None else find_profile(start)
    last = find_profile(end or ("mwzeval" if first.name == "trade" else "trade"))
    if "given" in (first.match, last.match):
        raise UserError("profile trippy has no values, so no rule can be changed", hint="choose another profile")
    rules = [rule for rule in ORDER if getattr(first, rule) != getattr(last, rule)]
    way = [first]
    for rule in rules:
        way.append(_change_rule(way[-1], rule, last))
    profiles = [*way, *(_change_rule(first, rule, last) for rule in rules)]

    def make() -> list[PairConsumer]:
        scorers = [Scorer(profile, known, by_slot=True, strict=False) for profile in profiles]
        return [*scorers, DialogueRecorder(first, known), DialogueRecorder(last, known)]

    predictions = Predictions(DialogueSource(guess or "", pred_format), make)
    ((*scorers, at_first, at_last),) = feed(DialogueSource(path, format), [predictions])
    scored = [_Scored(one, measure) for one in scorers]
    texts = _Values((at_first, at_last))
    return [
        _step(rule, (scored[index], scored[index + 1]), (scored[0], scored[len(way) + index]), texts)
        for index, rule in enumerate(rules)
    ]


def _change_rule(profile: Profile, rule: str, end: Profile) -> Profile:
    change: dict[str, Any] = {rule: getattr(end, rule)}
    return replace(profile, **change)


class _Scored:
    """One profile's value of each unit that the metric applies to, and the score of each slot."""

    def __init__(self, scorer: Scorer, metric: Metric) -> None:
        system = TrackedSystem.from_scorer(scorer.profile.name, scorer)
        parts = system.parts(metric)
        sides = zip(parts.units.keys(), parts.num.tolist(), parts.den.tolist(), strict=True)
        self.profile, self.near_misses = scorer.profile, scorer.near_misses
        self.units: dict[Key, float] = {key: num / den for key, num, den in sides if den}
        self.mean = math.fsum(parts.num.tolist()) / math.fsum(parts.den.tolist()) if self.units else None
        self.slots: dict[tuple[str, int], dict[str, float]] = {}
        for row in scorer.slot_table().tolist():
            place = (system.frames.dialogues[int(row[0])], int(row[1]))
            self.slots.setdefault(place, {})[system.slots[int(row[SLOT_COLUMN["slot"]])]] = row[SLOT_COLUMN["score"]]


class _Values:
    """Values looked up by dialogue, turn and slot, under the slot's name before or after a normaliser."""

    def __init__(self, recorders: Sequence[DialogueRecorder]) -> None:
        self.recorders, self.seen = recorders, dict[str, list[DialogueStates]]()

    def find(self, dialogue: str, turn: int, slot: str) -> SlotValues:
        if dialogue not in self.seen:
            self.seen[dialogue] = [recorder.states(dialogue) for recorder in self.recorders]
        service, _, name = slot.rpartition(".")
        sides = [[side.get(turn, {}).get(service, {}).get(name, ()) for side in one[:2]] for one in self.seen[dialogue]]
        pairs = [(gold, pred) for gold, pred in sides if gold or pred] or [((), ())]
        # A normaliser may have made the values equal: better shown as they were before it.
        gold, pred = next(((gold, pred) for gold, pred in pairs if not set(gold) & set(pred)), pairs[0])
        return SlotValues(slot, gold, pred)


def _step(rule: str, pair: tuple[_Scored, _Scored], single: tuple[_Scored, _Scored], values: _Values) -> RuleStep:
    """`pair`: before and after this rule on the way; `single`: at the start, and with only this rule changed."""
    before, after = pair
    flips: list[RuleFlip] | None = None
    # If units are frames on one side and turns on the other, they cannot be paired.
    kinds = [{bool(service) for *_, service in side.units} for side in pair]
    if True not in kinds[0] ^ kinds[1]:
        flips = [
            _flip(key, pair, values)
            for key in sorted(before.units.keys() | after.units.keys())
            if before.units.get(key) != after.units.get(key)
        ]
    first, alone = single[0].mean, single[1].mean
    return RuleStep(
        rule,
        ABOUT[rule],
        getattr(before.profile, rule),
        getattr(after.profile, rule),
        before.mean,
        after.mean,
        None if first is None or alone is None else alone - first,
        len(before.units),
        len(after.units),
        None if flips is None else sum((flip.after or 0.0) > (flip.before or 0.0) for flip in flips),
        None if flips is None else sum((flip.after or 0.0) < (flip.before or 0.0) for flip in flips),
        flips or [],
        # A stricter rule adds near misses, a more lenient one takes some away.
        list(near_misses.lines((after.near_misses - before.near_misses) | (before.near_misses - after.near_misses))),
    )


def _flip(key: Key, pair: tuple[_Scored, _Scored], values: _Values) -> RuleFlip:
    """A unit with the slots that score differently under two profiles; a slot that one of them ignores is right."""
    dialogue, turn, service = key
    old, new = (one.slots.get((dialogue, turn), {}) for one in pair)
    moved = [slot for slot in {**old, **new} if old.get(slot, 1.0) != new.get(slot, 1.0)]
    slots = [values.find(dialogue, turn, slot) for slot in moved if not service or slot.rpartition(".")[0] == service]
    return RuleFlip(dialogue, turn, service or None, pair[0].units.get(key), pair[1].units.get(key), slots)
