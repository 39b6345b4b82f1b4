"""Dialogues from bare states, and scores of them: what the metric tests are written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from troth.core.records import Dialogue, Frame, Schema, Service, SlotSchema, State, Turn
from troth.tracking.frames import Frames
from troth.tracking.metrics import metric as find
from troth.tracking.profiles import Profile
from troth.tracking.scorer import Scorer

Values = Mapping[str, str | tuple[str, ...]]
States = Sequence[Mapping[str, Values] | None]  # a turn each: service to slots; None: no such turn

SCHEMA: Schema = {
    "Stays_1": Service(
        "Stays_1",
        slots=(
            SlotSchema("name"),
            SlotSchema("area", is_categorical=True, possible_values=("North", "South")),
            SlotSchema("nights"),
            SlotSchema("stars", is_categorical=True, possible_values=("1", "2", "3")),
        ),
    ),
    "Sights_1": Service("Sights_1", slots=(SlotSchema("name"), SlotSchema("fee"))),  # nothing categorical
}


def state(values: Values) -> State:
    return State(
        active_intent="Find",
        requested_slots=(),
        slot_values={slot: (value,) if isinstance(value, str) else tuple(value) for slot, value in values.items()},
    )


def dialogue(turns: States, name: str = "d") -> Dialogue:
    return Dialogue(
        name,
        tuple(
            Turn(
                "USER", "", tuple(Frame(service, state(v), spans=()) for service, v in services.items()), number=number
            )
            for number, services in enumerate(turns)
            if services is not None
        ),
    )


def frames(
    gold: Sequence[Dialogue], pred: Sequence[Dialogue | None], profile: Profile, *, schema: Schema | None = SCHEMA
) -> Frames:
    scorer = Scorer(profile, schema)
    for one, other in zip(gold, pred, strict=True):
        scorer.add(one, other)
    return replace(scorer.frames(), slots=30)


def values(units: Frames, metric: str) -> list[float | None]:
    """The metric of each unit, None where it does not apply."""
    parts = find(metric).compute(units)
    return [num / den if den else None for num, den in zip(parts.num.tolist(), parts.den.tolist(), strict=True)]


def mean(units: Frames, metric: str) -> float | None:
    found = [value for value in values(units, metric) if value is not None]
    return sum(found) / len(found) if found else None
