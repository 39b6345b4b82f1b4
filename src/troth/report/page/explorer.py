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
answer     [index, text, acts]
act        [service, act, slot, values, missed, entailed, reference, plain, augmented, excluded]

Services, slots and values are places in `texts`.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from troth.report.sources import Source
from troth.storage.explorer import KINDS, ActView, AnswerView, DialogueView, States, TurnView, Utterance

ORIGINAL = "orig"  # the wording that is none of the variants
KIND = {kind: place for place, kind in enumerate(KINDS)}


class _Pack:
    """Numbers for texts and slot values, so that each is stored once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.entries: dict[tuple[int, ...], int] = {}

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def state(self, states: States) -> list[int]:
        return [
            self.entries.setdefault((self.text(service), self.text(slot), *map(self.text, values)), len(self.entries))
            for service, slots in states.items()
            for slot, values in slots.items()
        ]

    def utterance(self, said: Utterance) -> list[Any]:
        number = -1 if said.number is None else said.number
        return [int(said.speaker != "USER"), said.text, number, said.index, self.state(said.state or {})]

    def turn(self, turn: TurnView, gold: States) -> Any:
        if not turn.units:
            return None
        wrong = [
            [self.text(u.service) if u.service else -1, round(u.joint, 4), -1 if u.blamed is None else u.blamed]
            for u in turn.units
            if u.joint != 1.0
        ]
        predicted: Any = None
        if turn.state is not None:
            ours, theirs = self.state(gold), self.state(turn.state)
            predicted = [[e for e in theirs if e not in ours], [e for e in ours if e not in theirs]]
        if not wrong and predicted == [[], []]:
            return 0
        faults = [
            [self.text(f.service), self.text(f.slot), KIND[f.kind], f.since, round(f.score, 4)] for f in turn.faults
        ]
        return [predicted, wrong, faults]

    def act(self, act: ActView) -> list[Any]:
        return [
            self.text(act.service), self.text(act.act), self.text(act.slot), [self.text(v) for v in act.values],
            [self.text(v) for v in act.missed], act.entailed, act.reference,
            _rounded(act.plain), _rounded(act.augmented), act.excluded,
        ]  # fmt: skip

    def answer(self, answer: AnswerView) -> list[Any]:
        return [answer.index, answer.text, [self.act(act) for act in answer.acts]]


def _rounded(values: Sequence[float] | None) -> list[float] | None:
    return None if values is None else [round(value, 3) for value in values]


def pack(sources: Sequence[Source]) -> str | None:
    """The block as base64 of gzip of JSON; None if no run holds dialogues."""
    merged = _merged(sources)
    if not merged:
        return None
    packed = _Pack()
    systems: dict[str, int] = {}
    sets: dict[str, int] = {}
    dialogues = []
    for view in merged:
        golds = {said.number: said.state or {} for said in view.utterances if said.number is not None}
        tracks = []
        for track in view.tracks:
            turns = {turn.number: packed.turn(turn, golds.get(turn.number, {})) for turn in track.tracked}
            tracks.append(
                [
                    systems.setdefault(track.system, len(systems)),
                    [turns.get(number) for number in golds] if turns else [],
                    [packed.answer(answer) for answer in track.answers],
                ]
            )
        services = [packed.text(service) for service in view.services]
        utterances = [packed.utterance(said) for said in view.utterances]
        dialogues.append([sets.setdefault(view.set, len(sets)), view.id, services, utterances, tracks])
    block = {
        "texts": list(packed.texts),
        "entries": [list(entry) for entry in packed.entries],
        "systems": list(systems),
        "sets": list(sets),
        "kinds": list(KINDS),
        "dialogues": dialogues,
    }
    return base64.b64encode(gzip.compress(msgspec.json.encode(block), 9, mtime=0)).decode()


def _merged(sources: Sequence[Source]) -> list[DialogueView]:
    """Dialogues of several runs in one list: tracks over the same utterances stand side by side.

    Where two runs have another text under the same id (another test set), the later one is a set of its own. A system
    under the original wording is the system itself, if an earlier run has the same of it in every dialogue.
    """
    merged: dict[tuple[str, str], DialogueView] = {}
    for source in sources:
        names = {one.system: one.name for one in source.systems}
        known = _known(source, names, merged)
        for view in source.archive.dialogues:
            tracks = tuple(
                msgspec.structs.replace(track, system=_called(names, track.system))
                for track in view.tracks
                if track.system not in known
            )
            one = msgspec.structs.replace(view, tracks=tracks)
            other = merged.get((one.set, one.id))
            if other is not None and not _agree(other, one):
                one = msgspec.structs.replace(one, set=f"{source.name} {one.set}".strip())
                other = merged.get((one.set, one.id))
            merged[one.set, one.id] = one if other is None else _joined(other, one, source.name)
    return list(merged.values())


def _known(source: Source, names: Mapping[str, str], merged: Mapping[tuple[str, str], DialogueView]) -> set[str]:
    """Systems of a run under the original wording whose tracks are all here already."""
    same: dict[str, bool] = {}
    for view in source.archive.dialogues:
        other = merged.get((view.set, view.id))
        theirs = {track.system: track.tracked for track in other.tracks} if other is not None else {}
        for track in view.tracks:
            base, _, wording = track.system.rpartition(":")
            if wording == ORIGINAL and base in names:
                equal = theirs.get(names[base]) == track.tracked
                same[track.system] = same.get(track.system, True) and equal
    return {system for system, equal in same.items() if equal}


def _called(names: Mapping[str, str], system: str) -> str:
    """`system:v1` is a system of the run under one wording."""
    base, _, wording = system.rpartition(":")
    return names.get(system) or (f"{names[base]} {wording}" if base in names else system)


def _agree(a: DialogueView, b: DialogueView) -> bool:
    """Whether nothing that both have differs; a run may know of a turn without its text."""
    theirs = {said.index: said for said in b.utterances}
    shared = [(said, theirs[said.index]) for said in a.utterances if said.index in theirs]
    return all(x.speaker == y.speaker and (x.text == y.text or not x.text or not y.text) for x, y in shared)


def _joined(a: DialogueView, b: DialogueView, run: str) -> DialogueView:
    """All that is known of one dialogue; gold's state is the first one's that has it.

    A system of that name with other verdicts, from another recipe or other predictions, stands beside it under its run.
    """
    said = {one.index: one for one in a.utterances}
    for one in b.utterances:
        known = said.get(one.index)
        if known is None or (known.state is None and one.state is not None) or not known.text:
            said[one.index] = one
    tracks = {track.system: track for track in a.tracks}
    for track in b.tracks:
        mine = tracks.get(track.system)
        if mine is None:
            tracks[track.system] = track
        elif any(x and y and x != y for x, y in ((mine.tracked, track.tracked), (mine.answers, track.answers))):
            name = f"{track.system} ({run})"
            tracks[name] = msgspec.structs.replace(track, system=name)
        else:
            tracks[track.system] = msgspec.structs.replace(
                mine, tracked=mine.tracked or track.tracked, answers=mine.answers or track.answers
            )
    services = tuple(dict.fromkeys((*a.services, *b.services)))
    return DialogueView(a.id, tuple(said[index] for index in sorted(said)), tuple(tracks.values()), a.set, services)
