"""The dialogues of all runs in one compact block: strings and slot values once each, everything else as numbers.

    {"texts": [...], "entries": [[service, slot, value, ...], ...], "systems": [...], "sets": [...], "kinds": [...],
     "dialogues": [[set, id, services, utterances, tracks], ...]}

utterance  [speaker, text, number, index, state]
                                              speaker 0: user, 1: system; number -1: no user turn; state: entries
track      [system, turns, answers]           turns in the order of the user's utterances
turn       0 for right and predicted as gold has it; null for not scored; else
           [predicted, units, faults]         predicted: null for nothing, else [entries gold lacks, entries it lacks]
unit       [service, joint, blamed]           only those that are not right; -1: no service, nobody to blame
fault      [service, slot, kind, since, score]
answer     [index, text, acts, candidates]    candidates of the n-best list, if there is one
candidate  [text, score, fidelity, system, points]
point      [act, slot, values, faithful, reference, probabilities, context, present]
act        [service, act, slot, values, missed, entailed, reference, plain, augmented, excluded]

Services, slots and values are places in `texts`. Dialogues are packed as they are read, so that no run is in memory
as a whole.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from troth.report.sources import Source
from troth.storage.explorer import KINDS, ActView, AnswerView, CandidateView, DialogueView, States, SystemView, TurnView

ORIGINAL = "orig"  # the wording that is none of the variants
KIND = {kind: place for place, kind in enumerate(KINDS)}

Values = tuple[str, ...]


@dataclass
class _Track:
    """One system's verdicts on a dialogue: turns by their number, and answers."""

    turns: dict[int, Any]
    answers: list[Any]

    def differs(self, other: _Track) -> bool:
        """Whether both have a value for the same key, and the values differ."""
        pairs = ((self.turns, other.turns), (self.answers, other.answers))
        return any(x and y and x != y for x, y in pairs)


@dataclass
class _Dialogue:
    """Everything that runs have on one dialogue; gold's states are those of the first run."""

    set: str
    id: str
    said: dict[int, list[Any]] = field(default_factory=dict)  # packed utterances by index
    golds: dict[int, States] = field(default_factory=dict)  # by the number of the turn
    services: dict[str, None] = field(default_factory=dict)
    tracks: dict[str, _Track] = field(default_factory=dict)

    def agrees(self, view: DialogueView) -> bool:
        """Whether everything that both have is equal; a run may have a turn without its text."""
        for said in view.utterances:
            speaker, text = self.said.get(said.index, (_speaker(said.speaker), ""))[:2]
            if speaker != _speaker(said.speaker) or (text and said.text and text != said.text):
                return False
        return True


class Pack:
    """Dialogues of several runs in one block: tracks over the same utterances stand side by side.

    Where two runs have another text under the same id (another test set), the later one is a set of its own. A system
    under the original wording is the system itself, if an earlier run has the same of it in every dialogue. A system of
    the same name with other verdicts, from another recipe or other predictions, stands beside it under its run.
    """

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._entries: dict[Values, int] = {}
        self._dialogues: dict[tuple[str, str], _Dialogue] = {}

    def add(self, source: Source) -> None:
        """All dialogues of a run."""
        names = {system.system: system.name for system in source.systems}
        original: dict[str, list[tuple[_Dialogue, str, _Track]]] = {}  # systems that may be here already
        changed: set[str] = set()

        def view(view: DialogueView) -> None:
            dialogue = self._add_dialogue(view, source.name)
            for track in view.tracks:
                packed = self._track(track, dialogue.golds)
                base = names.get(track.system, track.system)
                name = f"{base} {track.wording}".rstrip()
                if track.wording == ORIGINAL:
                    original.setdefault(track.system, []).append((dialogue, name, packed))
                    known = dialogue.tracks.get(base)
                    changed.update([track.system] if known is None or known.turns != packed.turns else [])
                else:
                    _add_track(dialogue, name, packed, source.name)

        source.read(view)
        for system in changed:
            for packed in original[system]:
                _add_track(*packed, source.name)

    def _add_dialogue(self, view: DialogueView, run: str) -> _Dialogue:
        """Adds a view to its dialogue, and returns the dialogue."""
        if (one := self._dialogues.get((view.set, view.id))) is not None and not one.agrees(view):
            name = f"{run} {view.set}".strip()
            one, view = self._dialogues.get((name, view.id)), msgspec.structs.replace(view, set=name)
        if one is None:
            one = self._dialogues.setdefault((view.set, view.id), _Dialogue(view.set, view.id))
        for said in view.utterances:
            known = one.said.setdefault(
                said.index, [_speaker(said.speaker), "", -1 if said.number is None else said.number, said.index, []]
            )
            known[1] = known[1] or said.text
            if said.number is not None and said.state is not None and said.number not in one.golds:
                one.golds[said.number], known[4] = said.state, self._extra_entries(said.state, {})
        one.services.update(dict.fromkeys(view.services))
        return one

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _entry(self, service: str, slot: str, values: Values) -> int:
        return self._entries.setdefault((service, slot, *values), len(self._entries))

    def _extra_entries(self, states: States, others: States) -> list[int]:
        """The entries of one state that another lacks."""
        return [
            self._entry(service, slot, values)
            for service, slots in states.items()
            if slots != (theirs := others.get(service, {}))
            for slot, values in slots.items()
            if theirs.get(slot) != values
        ]

    def _track(self, track: SystemView, golds: Mapping[int, States]) -> _Track:
        turns = {turn.number: self._turn(turn, golds.get(turn.number, {})) for turn in track.tracked}
        return _Track(turns, [self._answer(answer) for answer in track.answers])

    def _turn(self, turn: TurnView, gold: States) -> Any:
        if not turn.units:
            return None
        wrong = [
            [self._text(u.service) if u.service else -1, round(u.joint, 4), -1 if u.blamed is None else u.blamed]
            for u in turn.units
            if u.joint != 1.0
        ]
        predicted: Any = None
        if turn.state is not None:
            if not wrong and turn.state == gold:
                return 0
            predicted = [self._extra_entries(turn.state, gold), self._extra_entries(gold, turn.state)]
            if not wrong and predicted == [[], []]:
                return 0
        faults = [
            [self._text(f.service), self._text(f.slot), KIND[f.kind], f.since, round(f.score, 4)] for f in turn.faults
        ]
        return [predicted, wrong, faults]

    def _answer(self, answer: AnswerView) -> list[Any]:
        packed = [answer.index, answer.text, [self._act(act) for act in answer.acts]]
        return (
            [*packed, [self._candidate(candidate) for candidate in answer.candidates]] if answer.candidates else packed
        )

    def _candidate(self, candidate: CandidateView) -> list[Any]:
        points = [
            [self._text(act.act), self._text(act.slot), [self._text(value) for value in act.values], act.faithful,
             self._text(act.reference), _round_values((act.entailment, act.neutral, act.contradiction)), act.context,
             act.present]
            for act in candidate.acts
        ]  # fmt: skip
        return [self._text(candidate.text), candidate.score, candidate.fidelity, self._text(candidate.system), points]

    def _act(self, act: ActView) -> list[Any]:
        return [
            self._text(act.service), self._text(act.act), self._text(act.slot), [self._text(v) for v in act.values],
            [self._text(v) for v in act.missed], act.entailed, act.reference,
            _round_values(act.plain), _round_values(act.augmented), act.excluded,
        ]  # fmt: skip

    def block(self, order: Sequence[str] = ()) -> str:
        """The block as base64 of gzip of JSON, empty without dialogues. `order`: systems that come first."""
        if not self._dialogues:
            return ""
        every = dict.fromkeys(name for one in self._dialogues.values() for name in one.tracks)
        systems = [name for name in order if name in every] + [name for name in every if name not in order]
        place = {name: code for code, name in enumerate(systems)}
        sets = list(dict.fromkeys(one.set for one in self._dialogues.values()))
        dialogues = []
        for one in self._dialogues.values():
            said = [one.said[index] for index in sorted(one.said)]
            numbers = [line[2] for line in said if line[2] >= 0]
            tracks = sorted(
                [place[name], [track.turns.get(number) for number in numbers] if track.turns else [], track.answers]
                for name, track in one.tracks.items()
            )
            dialogues.append([sets.index(one.set), one.id, [self._text(name) for name in one.services], said, tracks])
        entries = [[self._text(text) for text in entry] for entry in self._entries]
        block = {
            "texts": list(self._texts), "entries": entries, "systems": systems, "sets": sets,
            "kinds": list(KINDS), "dialogues": dialogues,
        }  # fmt: skip
        return base64.b64encode(gzip.compress(msgspec.json.encode(block), 6, mtime=0)).decode()


def pack(sources: Sequence[Source]) -> Pack:
    """Reads and packs the dialogues of all runs."""
    packed = Pack()
    for source in sources:
        packed.add(source)
    return packed


def _add_track(dialogue: _Dialogue, name: str, track: _Track, run: str) -> None:
    if (known := dialogue.tracks.get(name)) is None:
        dialogue.tracks[name] = track
    elif known.differs(track):
        dialogue.tracks[f"{name} ({run})"] = track
    else:
        dialogue.tracks[name] = _Track(known.turns or track.turns, known.answers or track.answers)


def _speaker(speaker: str) -> int:
    return int(speaker != "USER")


def _round_values(values: Sequence[float] | None) -> list[float] | None:
    return None if values is None else [round(value, 3) for value in values]
