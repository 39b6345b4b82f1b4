"""Views of scored dialogues for the explorer, gathered in the same pass that scores the dialogues.

How a slot is wrong: `missed`, `invented`, `wrong`, or `stale` (the prediction keeps a value that gold had before and
has given up). A fault begins at the turn from which its slot has been wrong with the same prediction and the same
gold. Where gold's value changes while the slot is wrong, a new fault begins, as in line 10 of FGA's algorithm 1.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from troth.core.parts import Floats
from troth.core.records import Dialogue, Schema, Turn
from troth.storage.explorer import DialogueView, Kind, SlotFault, States, SystemView, TurnView, UnitView, Utterance
from troth.tracking.frames import COLUMN, Frames
from troth.tracking.profiles import Profile
from troth.tracking.scorer import Scorer
from troth.tracking.states import Comparer

Values = tuple[str, ...]
Slots = dict[str, Values]


class SlotValues(msgspec.Struct, frozen=True):
    """A slot with gold's and the predicted values, as the files have them."""

    slot: str  # "service.slot"
    gold: tuple[str, ...]
    pred: tuple[str, ...]

    def __str__(self) -> str:
        """`restaurant.name: gold 'curry garden', predicted nothing`."""
        gold, pred = (" | ".join(f"'{value}'" for value in side) or "nothing" for side in (self.gold, self.pred))
        return f"{self.slot}: gold {gold}, predicted {pred}"


class DialogueStates(NamedTuple):
    """The states of a dialogue and the slots that are wrong, by the number of the user turn."""

    gold: dict[int, States]
    pred: dict[int, States]
    faults: dict[int, tuple[SlotFault, ...]]

    def wrong_slots(self, turn: int, service: str | None = None) -> list[SlotValues]:
        """The slots that are wrong in a user turn, of one service or of all."""

        def values(side: dict[int, States], fault: SlotFault) -> Values:
            return side.get(turn, {}).get(fault.service, {}).get(fault.slot, ())

        return [
            SlotValues(f"{fault.service}.{fault.slot}", values(self.gold, fault), values(self.pred, fault))
            for fault in self.faults.get(turn, ())
            if service is None or fault.service == service
        ]


class _Read(msgspec.Struct, frozen=True, gc=False):
    """A dialogue as it was read, with states as the profile has them."""

    id: str
    services: tuple[str, ...]
    utterances: tuple[Utterance, ...]
    predicted: dict[int, States]  # by the user turn's number; a turn without a prediction is absent
    faults: dict[int, tuple[SlotFault, ...]]  # by the user turn's number, of the turns that were scored
    correct: frozenset[int] = frozenset()  # turns with correctness per slot instead of values


def _pack(read: _Read) -> bytes:
    """A dialogue compressed: states repeat from turn to turn, so that it takes a tenth of the memory."""
    return zlib.compress(msgspec.json.encode(read), 1)


def _unpack(data: bytes) -> _Read:
    return msgspec.json.decode(zlib.decompress(data), type=_Read)


class DialogueRecorder:
    """Records dialogues with the slots that a scorer found wrong. Each is held packed: small in memory, and quick to
    hand between processes. The scorer must be given each dialogue first; without one, only states are recorded."""

    def __init__(self, profile: Profile, schema: Schema | None, scorer: Scorer | None = None) -> None:
        self.comparer = Comparer(profile, schema, strict=False)
        self.scorer = scorer
        if scorer is not None:
            scorer.keeps_slot_scores = True
        self.dialogues: list[str] = []
        self.read: list[bytes] = []

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None:
        numbers = iter([number for number, _ in gold.user_turns()])
        said = []
        for index, turn in enumerate(gold.turns):
            number = next(numbers) if turn.speaker == "USER" else None
            state = None if number is None else self._states(turn, gold=True)
            said.append(Utterance(index, turn.speaker, turn.text, number, state))
        turns = {} if pred is None else dict(pred.user_turns())
        self.dialogues.append(gold.id)
        predicted = {number: self._states(turn) for number, turn in turns.items()}
        correct = {number: turn.correct for number, turn in turns.items() if turn.correct is not None}
        faults = dict(self._faults(said, predicted, correct))
        read = _Read(gold.id, gold.services, tuple(said), predicted, faults, frozenset(correct))
        self.read.append(_pack(read))

    def _faults(
        self, said: Sequence[Utterance], predicted: Mapping[int, States], correct: Mapping[int, Mapping[str, bool]]
    ) -> Iterator[tuple[int, tuple[SlotFault, ...]]]:
        """The wrong slots of each user turn that was scored."""
        faults = SlotFaults(whole=self.comparer.profile.scope == "state")
        scores = {} if self.scorer is None else self.scorer.slot_scores
        for utterance in said:
            number = utterance.number
            if number is None:
                continue
            if number in correct:
                yield number, tuple(faults.add_correctness(number, correct[number]))
            elif number in scores:
                gold = utterance.state or {}
                yield number, tuple(faults.add_turn(number, gold, predicted.get(number), scores[number]))

    def merge(self, other: DialogueRecorder) -> None:
        self.dialogues += other.dialogues
        self.read += other.read

    def states(self, dialogue: str) -> DialogueStates:
        """Gold's and the predicted states of a dialogue, by the user turn's number, and its wrong slots."""
        read = _unpack(self.read[self.dialogues.index(dialogue)])
        golds = {said.number: said.state for said in read.utterances if said.number is not None}
        return DialogueStates({number: state or {} for number, state in golds.items()}, read.predicted, read.faults)

    def _states(self, turn: Turn, *, gold: bool = False) -> States:
        return {service: dict(values) for service, (values, _) in self.comparer.sides(turn, gold=gold).items()}


class ScoredDialogues(NamedTuple):
    """One system's dialogues with the verdicts on them."""

    recorded: DialogueRecorder
    frames: Frames
    system: str
    wording: str = ""  # of the schema


def views(systems: Sequence[ScoredDialogues], *, set: str = "") -> Iterator[DialogueView]:
    """Every dialogue with what each system made of it; gold is the first system's."""
    verdicts = [_Verdicts(one) for one in systems]
    for dialogue in systems[0].recorded.dialogues:
        read = [one.read(dialogue) for one in verdicts]
        tracks = [
            SystemView(one.scored.system, tuple(one.turns(dialogue, mine)), wording=one.scored.wording)
            for one, mine in zip(verdicts, read, strict=True)
        ]
        yield DialogueView(dialogue, read[0].utterances, tuple(tracks), set, read[0].services)


class _Verdicts:
    """The scorer's table, looked up by dialogue; records are made of one dialogue at a time."""

    def __init__(self, scored: ScoredDialogues) -> None:
        self.scored = scored
        self.packed = dict(zip(scored.recorded.dialogues, scored.recorded.read, strict=True))
        frames = scored.frames
        self.index = {name: code for code, name in enumerate(frames.dialogues)}
        self.services = [*frames.services, ""]
        self.whole = frames.profile.unit == "turn"
        units = frames.table[frames.turns] if self.whole else frames.table
        joint, lag = frames.lags
        self.units = _Grouped(units[:, COLUMN["turn"]], units[:, COLUMN["service"]], joint, lag, by=units[:, 0])
        columns = (frames.column("turn"), frames.column("service"), frames.column("joint"))
        self.frames = _Grouped(*columns, by=frames.column("dialogue")) if self.whole else None

    def read(self, dialogue: str) -> _Read:
        return _unpack(self.packed[dialogue])

    def turns(self, dialogue: str, read: _Read) -> Iterator[TurnView]:
        verdicts, joints = self._find_verdicts(self.index.get(dialogue))
        for said in read.utterances:
            if said.number is None:
                continue
            units, faults = verdicts.get(said.number, []), read.faults.get(said.number, ())
            if said.number in read.correct:
                yield TurnView(said.number, None, tuple(units), {}, faults)
                continue
            services = {service: joint for service, joint in joints.get(said.number, []) if service}
            predicted = read.predicted.get(said.number)
            yield TurnView(said.number, predicted, tuple(units), services, faults)

    def _find_verdicts(self, code: int | None) -> tuple[dict[int, list[UnitView]], dict[int, list[tuple[str, float]]]]:
        """The verdicts on a dialogue, and the joint score of each service, by the user turn's number."""
        verdicts: dict[int, list[UnitView]] = {}
        joints: dict[int, list[tuple[str, float]]] = {}
        for number, service, joint, lag in self.units.rows(code):
            name = "" if self.whole else self.services[int(service)]
            verdicts.setdefault(int(number), []).append(UnitView(name, joint, _blamed_turn(number, joint, lag)))
        for number, service, joint in () if self.frames is None else self.frames.rows(code):
            joints.setdefault(int(number), []).append((self.services[int(service)], joint))
        return verdicts, joints


class _Grouped:
    """Columns of a table, with its rows looked up by dialogue."""

    def __init__(self, *columns: Floats, by: Floats) -> None:
        codes = by.astype(np.int64)
        order = np.argsort(codes, kind="stable")
        self.columns = [column[order] for column in columns]
        self.begins = np.searchsorted(codes[order], np.arange(codes.max(initial=-1) + 2))

    def rows(self, code: int | None) -> Iterator[tuple[float, ...]]:
        if code is None or code + 1 >= len(self.begins):
            return iter(())
        begin, end = self.begins[code : code + 2]
        return zip(*(column[begin:end].tolist() for column in self.columns), strict=True)


def _blamed_turn(number: float, joint: float, lag: float) -> int | None:
    return int(number - lag) if joint < 1.0 and np.isfinite(lag) else None


class _Past(NamedTuple):
    gold: Values | None
    pred: Values | None
    since: int


class SlotFaults:
    """The slots of a dialogue that are wrong: how, and since which turn. Turns are added in order."""

    def __init__(self, *, whole: bool) -> None:
        """`whole`: states are compared whole, so that a service without a predicted frame has an empty state."""
        self.whole = whole
        self.past: dict[tuple[str, str], _Past] = {}  # slots that were wrong in their service's last frame
        self.had: dict[tuple[str, str], set[str]] = {}  # every value that gold has had

    def add_turn(
        self, number: int, golds: States, preds: States | None, scores: Mapping[str, Mapping[str, float]]
    ) -> Iterator[SlotFault]:
        """`scores`: of the slots of each service, as the scorer has them; a service that is all right may be absent."""
        services = dict.fromkeys((*golds, *(preds or {}))) if self.whole else golds
        for service in services:
            gold = golds.get(service, {})
            pred = None if preds is None else preds.get(service, {} if self.whole else None)
            # Nothing predicted: everything that gold has is missed.
            mine = dict.fromkeys(gold, 0.0) if pred is None else scores.get(service, {})
            yield from self._add_frame(number, service, gold, pred or {}, mine)
            for slot, values in gold.items():
                self.had.setdefault((service, slot), set()).update(values)

    def _add_frame(
        self, number: int, service: str, gold: Slots, pred: Slots, scores: Mapping[str, float]
    ) -> Iterator[SlotFault]:
        for slot in {**gold, **pred}:
            key = (service, slot)
            if scores.get(slot, 1.0) == 1.0:
                self.past.pop(key, None)
                continue
            mine, guess = gold.get(slot), pred.get(slot)
            before = self.past.get(key)
            same = before is not None and _is_same_value(before.gold, mine) and before.pred == guess
            since = before.since if before is not None and same else number
            self.past[key] = _Past(mine, guess, since)
            yield SlotFault(service, slot, self._kind(key, mine, guess), since, scores[slot])
        for key in [key for key in self.past if key[0] == service and key[1] not in gold and key[1] not in pred]:
            del self.past[key]

    def _kind(self, key: tuple[str, str], gold: Values | None, pred: Values | None) -> Kind:
        if pred is None:
            return "missed"
        if pred and pred[0] in self.had.get(key, ()) and (gold is None or pred[0] not in gold):
            return "stale"
        return "invented" if gold is None else "wrong"

    def add_correctness(self, number: int, marks: Mapping[str, bool]) -> Iterator[SlotFault]:
        """Files that say right or wrong per slot, without values."""
        for slot, right in marks.items():
            key = ("", slot)
            if right:
                self.past.pop(key, None)
                continue
            since = self.past[key].since if key in self.past else number
            self.past[key] = _Past(None, None, since)
            yield SlotFault("", slot, "wrong", since)


def _is_same_value(old: Values | None, new: Values | None) -> bool:
    """Whether gold has not changed; a further wording of a value is not a change."""
    if old is None or new is None:
        return old is new
    return old == new or any(value in old for value in new)
