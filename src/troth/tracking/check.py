"""Checks gold before anything is scored against it: its score against itself, and oddities of its annotation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from troth import readers
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.parts import Parts
from troth.core.records import Dialogue, Frame, Pair, Schema, Turn
from troth.core.score import Score
from troth.stats.estimates import Resampling, score_cells
from troth.tracking.cells import Grouping, TrackedSystem, cells
from troth.tracking.metrics import select_metrics
from troth.tracking.profiles import Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import default_profile, schema_of
from troth.tracking.scorer import Scorer
from troth.tracking.statistics import CorpusStatistics, summarize_sizes

ANYTHING = "dontcare"  # a value of every slot, though no schema lists it


class FindingPlace(msgspec.Struct, frozen=True):
    file: str
    dialogue: str
    turn: int | None  # the user turn, counted from 0, or the number that the file gives it
    what: str


class OddityCount(msgspec.Struct, frozen=True):
    """One kind of oddity: how often, and where first."""

    kind: str
    count: int
    places: list[FindingPlace]


class Checked(msgspec.Struct, frozen=True):
    dialogues: int
    unscored: int  # dialogues that cannot be scored at all, and take no part in the ceiling
    ceiling: list[Score]  # gold scored as its own prediction; anything below 1 comes with a reason
    findings: list[OddityCount]
    statistics: CorpusStatistics


def check(
    gold: Path, *, profile: str | Profile | None = None, schema: Path | None = None, format: str | None = None
) -> Checked:
    """Scores gold against itself, and lists oddities of its annotation.

    >>> from troth import demo
    >>> check(demo.path("gold")).dialogues
    22
    """
    path = path_of(gold)
    schemas = schema_of(schema, path)
    name = format or readers.detect(path)
    if readers.FORMATS.load(name).FORMAT.correctness:
        raise UserError("holds right and wrong and no states", file=path, hint="check the gold dialogues themselves")
    scorer = Scorer(find_profile(profile) if profile else default_profile(schemas, name), schemas, strict=False)
    places: dict[str, list[FindingPlace]] = defaultdict(list)
    seen: set[str] = set()
    turns: list[int] = []
    for file, items in readers.batches(path, format):
        for item in items:
            dialogue = item.gold if isinstance(item, Pair) else item
            odd = list(_oddities(dialogue, schemas, complete=name != "sgd"))
            if dialogue.id in seen:
                odd.append(("duplicate id", None, "this id came before"))
            seen.add(dialogue.id)
            turns.append(sum(1 for _ in dialogue.user_turns()))
            for kind, turn, what in odd:
                places[kind].append(FindingPlace(file, dialogue.id, turn, what))
            try:
                scorer.add(dialogue, dialogue)
            except UserError as error:  # here a finding, not a reason to stop
                places["cannot be scored"].append(FindingPlace(file, dialogue.id, error.turn, error.what))
    if not seen:
        raise UserError("no dialogue in it", file=path, hint="is it the right file?")
    findings = [OddityCount(kind, len(some), some) for kind, some in sorted(places.items()) if some]
    return Checked(
        len(seen), len(places["cannot be scored"]), _ceiling(scorer, schemas), findings, summarize_sizes(turns)
    )


def _ceiling(scorer: Scorer, schema: Schema | None) -> list[Score]:
    gold = TrackedSystem.from_scorer("gold", scorer)
    if not len(gold.frames.table):
        return []
    metrics = select_metrics(rates=(0.5,))
    ceiling = []
    every = score_cells("gold", cells(gold, metrics, Grouping(schema=schema)), gold.frames.dialogues, Resampling(1))
    for metric, score in zip(metrics, every, strict=True):
        below = score.value is not None and score.value < 1.0
        reason = _below(gold.parts(metric), scorer.profile) if below else score.reason
        ceiling.append(msgspec.structs.replace(score, low=None, high=None, reason=reason))
    return ceiling


def _below(parts: Parts, profile: Profile) -> str:
    lost = parts.num < parts.den
    dialogue, turn, _ = parts.take(lost).units.keys()[0]
    place = f"dialogue {dialogue}, turn {turn}"
    why = "values that the matcher calls empty"
    if profile.dontcare == "drop":
        why = f"profile {profile.name} leaves dontcare out of gold and not out of predictions"
    return f"{int(lost.sum())} units do not match themselves, the first in {place}: {why}"


Oddity = tuple[str, int | None, str]


def _oddities(dialogue: Dialogue, schema: Schema | None, *, complete: bool) -> Iterator[Oddity]:
    """`complete`: every turn holds the states of all services; a service without a frame has an empty state."""
    states: dict[str, dict[str, tuple[str, ...]]] = {}
    numbers: set[int] = set()
    before: str | None = None
    worded = any(turn.text for turn in dialogue.turns)  # files of states alone have no texts and no system turns
    answered = any(turn.speaker == "SYSTEM" for turn in dialogue.turns)
    place = -1  # the user turn that a finding belongs to: its own, or the one before a system turn
    for turn in dialogue.turns:
        if turn.speaker == "USER":
            place = place + 1 if turn.number is None else turn.number
        place = max(place, 0)
        if worded and not turn.text.strip():
            yield "empty turn", place, f"{turn.speaker} says nothing"
        if answered and turn.speaker == before:
            yield "speaker twice in a row", place, f"{turn.speaker} after {turn.speaker}"
        if turn.number is not None and turn.speaker == "USER":
            if turn.number in numbers:
                yield "duplicate turn", place, f"user turn {turn.number} came before"
            numbers.add(turn.number)
        before = turn.speaker
        services = [frame.service for frame in turn.frames]
        for service in sorted({service for service in services if services.count(service) > 1}):
            yield "service twice in a turn", place, f"{service}: only the last frame is scored"
        for frame in turn.frames:
            yield from ((kind, place, what) for kind, what in _frame_oddities(turn, frame, schema))
        if turn.speaker == "USER":
            now = {f.service: f.state.slot_values for f in turn.frames if f.state is not None}
            for service, slots in states.items():
                for slot in slots.keys() - now.get(service, {} if complete else slots).keys():
                    yield "state shrinks", place, f"{service}.{slot} is gone"
            states = now if complete else {**states, **now}
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
        if span.start < 0 and span.copy_from is not msgspec.UNSET:
            continue  # MultiWOZ 2.2: the value is that of another slot, and need not be said
        if not 0 <= span.start < span.exclusive_end <= len(turn.text):
            yield "span outside the text", f"{frame.service}.{span.slot} at {span.start}-{span.exclusive_end}"
        elif slots is not None and span.slot not in slots:
            yield "slot not in the schema", f"{frame.service}.{span.slot}"
