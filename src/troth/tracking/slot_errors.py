"""Which slots cause errors: how many units are wrong in one slot alone, and their cost in joint goal accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from troth.core.names import Path, path_of
from troth.tracking.cells import TrackedSystem
from troth.tracking.feed import DialogueSource, Predictions, feed
from troth.tracking.frames import SLOT_COLUMN
from troth.tracking.metrics import metric as find_metric
from troth.tracking.profiles import Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import check_sides, profile_for_files, schema_of
from troth.tracking.scorer import Scorer

Unit = tuple[str, int, str]  # dialogue, turn, and service where units are frames


class SlotCost(msgspec.Struct, frozen=True):
    """The units that a slot makes wrong. `*.name` stands for the slots of this name of all services."""

    slot: str
    wrong: int  # units in which it is wrong
    alone: int  # units in which nothing else is wrong
    share: float  # of all wrong units, those in which nothing else is wrong
    cost: float  # how much joint goal accuracy would rise if these were right


def slot_errors(
    gold: Path,
    pred: Path | None = None,
    *,
    profile: str | Profile | None = None,
    schema: Path | None = None,
    format: str | None = None,
    pred_format: str | None = None,
) -> list[SlotCost]:
    """How many units each slot makes wrong, by itself or with others; the slots that cost most come first.

    `profile`: without it, the one that fits the predictions.

    >>> from troth import demo
    >>> first = slot_errors(demo.path("gold"), demo.path("hasty"))[0]
    >>> first.slot, first.wrong, f"{first.cost:.3f}"
    ('Stays_1.hotel_name', 25, '0.094')
    """
    path, guess = path_of(gold), None if pred is None else path_of(pred)
    known = schema_of(schema, path)
    check_sides(path, [guess] if guess else [], format, pred_format)
    rules = profile_for_files(path, guess, known, format, pred_format) if profile is None else find_profile(profile)
    predictions = Predictions(
        DialogueSource(guess or "", pred_format), lambda: [Scorer(rules, known, by_slot=True, strict=False)]
    )
    ((scorer,),) = feed(DialogueSource(path, format), [predictions])
    system = TrackedSystem.from_scorer(rules.name, scorer)
    parts = system.parts(find_metric("jga"))
    lost = {
        key: 1.0 - right
        for key, right, counts in zip(parts.units.keys(), parts.num.tolist(), parts.den.tolist(), strict=True)
        if counts and right < 1.0
    }
    wrong: dict[Unit, set[str]] = {}
    for unit, slot in _wrong_slots(system, scorer, by_turn=rules.unit == "turn"):
        if unit in lost:
            wrong.setdefault(unit, set()).add(slot)
    return _count(lost, wrong, int(parts.den.sum()))


def _wrong_slots(system: TrackedSystem, scorer: Scorer, *, by_turn: bool) -> Iterator[tuple[Unit, str]]:
    for row in scorer.slot_table().tolist():
        if row[SLOT_COLUMN["score"]] < 1.0:
            name = system.slots[int(row[SLOT_COLUMN["slot"]])]
            place = system.frames.dialogues[int(row[SLOT_COLUMN["dialogue"]])], int(row[SLOT_COLUMN["turn"]])
            yield (*place, "" if by_turn else name.rpartition(".")[0]), name


def _count(lost: dict[Unit, float], wrong: dict[Unit, set[str]], units: int) -> list[SlotCost]:
    names = {slot for slots in wrong.values() for slot in slots}
    groups = {name: {name} for name in names}
    for name in names:
        groups.setdefault(f"*.{name.rpartition('.')[2]}", set()).add(name)
    found = []
    for name, slots in groups.items():
        if name.startswith("*.") and len(slots) < 2:
            continue
        alone = [unit for unit, bad in wrong.items() if bad <= slots]
        cost = math.fsum(lost[unit] for unit in alone) / units
        hit = sum(bool(bad & slots) for bad in wrong.values())
        found.append(SlotCost(name, hit, len(alone), len(alone) / len(lost), cost))
    return sorted(found, key=lambda one: (-one.cost, -one.wrong, one.slot))
