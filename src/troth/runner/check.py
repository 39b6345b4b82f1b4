"""Is the gold fit to score against? Gold scored against itself, and what is odd in its annotation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from troth import readers
from troth.errors import UserError
from troth.metrics import aggregate
from troth.metrics.profiles import Profile
from troth.metrics.tracking import Scorer
from troth.records import Dialogue, Frame, Pair, Schema, Score, Turn
from troth.runner.dst import default_profile
from troth.runner.scores import scores, system

ANYTHING = "dontcare"  # a value of every slot, though no schema lists it


class Place(msgspec.Struct, frozen=True):
    file: str
    dialogue: str
    turn: int | None  # index into the dialogue's turns, or the number that the file gives the turn
    what: str


class Finding(msgspec.Struct, frozen=True):
    """One kind of oddity: how often, and where first."""

    kind: str
    count: int
    places: list[Place]


class Checked(msgspec.Struct, frozen=True):
    dialogues: int
    ceiling: list[Score]  # gold as its own prediction; anything below 1 comes with a reason
    findings: list[Finding]


def check(
    gold: str, *, profile: Profile | None = None, schema: str | None = None, format: str | None = None
) -> Checked:
    """Score gold against itself and list what is odd in it."""
    from troth.metrics.profiles import PROFILES

    schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
    name = format or readers.detect(gold)
    if name == "trippy":
        raise UserError("holds right and wrong and no states", file=gold, hint="check the gold dialogues themselves")
    chosen = profile or PROFILES[default_profile(schemas, name)]
    scorer = Scorer(chosen, schemas, strict=False)
    found: dict[str, list[Place]] = defaultdict(list)
    seen: set[str] = set()
    for file, items in readers.batches(gold, format):
        for item in items:
            dialogue = item.gold if isinstance(item, Pair) else item
            odd = list(_oddities(dialogue, schemas))
            if dialogue.id in seen:
                odd.append(("duplicate id", None, "this id came before"))
            seen.add(dialogue.id)
            for kind, turn, what in odd:
                found[kind].append(Place(file, dialogue.id, turn, what))
            try:
                scorer.add(dialogue, dialogue)
            except UserError as error:  # what cannot be scored is a finding here, not the end
                found["cannot be scored"].append(Place(file, dialogue.id, error.turn, error.what))
    if not seen:
        raise UserError("no dialogue in it", file=gold, hint="is it the right file?")
    findings = [Finding(kind, len(places), places) for kind, places in sorted(found.items())]
    return Checked(len(seen), _ceiling(scorer, schemas), findings)


def _ceiling(scorer: Scorer, schema: Schema | None) -> list[Score]:
    if not len(scorer.table()):
        return []
    whole = system("gold", scorer, schema)
    listed = []
    for score in scores(whole, aggregate.names((0.5,)), (), None, schema, resamples=1, seed=0):
        reason = score.reason
        if score.value is not None and score.value < 1.0:
            reason = _below(aggregate.metric(score.metric)(whole.frames), whole.dialogues)
        listed.append(msgspec.structs.replace(score, low=None, high=None, reason=reason))
    return listed


def _below(parts: aggregate.Parts, dialogues: list[str]) -> str:
    lost = parts.num < parts.den
    first = int(lost.argmax())
    place = f"dialogue {dialogues[parts.dialogue[first]]}, turn {parts.turn[first]}"
    return f"{int(lost.sum())} units do not match themselves, the first in {place}: values that the matcher calls empty"


# -- oddities ----------------------------------------------------------------------------------------------------------

Oddity = tuple[str, int | None, str]


def _oddities(dialogue: Dialogue, schema: Schema | None) -> Iterator[Oddity]:
    states: dict[str, dict[str, tuple[str, ...]]] = {}
    numbers: set[int] = set()
    before: str | None = None
    for index, turn in enumerate(dialogue.turns):
        if not turn.text.strip():
            yield "empty turn", index, f"{turn.speaker} says nothing"
        if turn.speaker == before:
            yield "speaker twice in a row", index, f"{turn.speaker} after {turn.speaker}"
        if turn.number is not None and turn.speaker == "USER":
            if turn.number in numbers:
                yield "duplicate turn", index, f"user turn {turn.number} came before"
            numbers.add(turn.number)
        before = turn.speaker
        for frame in turn.frames:
            yield from ((kind, index, what) for kind, what in _frame_oddities(turn, frame, schema))
            if frame.state is not None:
                for slot in states.get(frame.service, {}).keys() - frame.state.slot_values.keys():
                    yield "state shrinks", index, f"{frame.service}.{slot} is gone"
                states[frame.service] = frame.state.slot_values
    if not any(turn.speaker == "USER" for turn in dialogue.turns):
        yield "no user turn", None, "nothing to score"


def _frame_oddities(turn: Turn, frame: Frame, schema: Schema | None) -> Iterator[tuple[str, str]]:
    service = schema.get(frame.service) if schema is not None else None
    if schema is not None and service is None:
        yield "service not in the schema", frame.service
    slots = {slot.name: slot for slot in service.slots} if service else None
    if frame.state is not None:
        for slot, values in frame.state.slot_values.items():
            if not values or not all(value.strip() for value in values):
                yield "empty value", f"{frame.service}.{slot}"
            if slots is None:
                continue
            if slot not in slots:
                yield "slot not in the schema", f"{frame.service}.{slot}"
            elif slots[slot].is_categorical:
                for value in values:
                    if value not in slots[slot].possible_values and value != ANYTHING:
                        yield "value not in the schema", f"{frame.service}.{slot} = '{value}'"
        intent = frame.state.active_intent
        if service and intent not in (None, "NONE") and intent not in {i.name for i in service.intents}:
            yield "intent not in the schema", f"{frame.service}: {intent}"
    for span in frame.spans or ():
        if not 0 <= span.start < span.exclusive_end <= len(turn.text):
            yield "span outside the text", f"{frame.service}.{span.slot} at {span.start}-{span.exclusive_end}"
        elif slots is not None and span.slot not in slots:
            yield "slot not in the schema", f"{frame.service}.{span.slot}"
