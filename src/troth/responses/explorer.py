"""What a run of responses keeps for people to look at: every response with the acts that it was to convey."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from troth.models import Entailment
from troth.responses import tamper
from troth.responses.cells import JudgedSystem
from troth.responses.metrics import JudgedAct, JudgedTurn
from troth.storage.explorer import ActView, AnswerView, Archive, DialogueView, SystemView, Utterance


def archive(systems: Sequence[JudgedSystem]) -> Archive:
    """Every dialogue with each system's responses."""
    turns: dict[str, dict[str, list[JudgedTurn]]] = {}
    for system in systems:
        for one in system.turns:
            turns.setdefault(one.turn.dialogue, {}).setdefault(system.name, []).append(one)
    return Archive(dialogues=(_dialogue(name, by_system) for name, by_system in turns.items()))


def _dialogue(name: str, by_system: dict[str, list[JudgedTurn]]) -> DialogueView:
    said: dict[int, Utterance] = {}
    services: dict[str, None] = {}
    for one in (one for mine in by_system.values() for one in mine):
        turn = one.turn
        if turn.previous:
            said[turn.turn - 1] = Utterance(turn.turn - 1, turn.before, turn.previous)
        said[turn.turn] = Utterance(turn.turn, "SYSTEM", turn.gold)
        services |= dict.fromkeys(one.services)
    tracks = [
        SystemView(system, answers=tuple(AnswerView(o.turn.turn, o.response, tuple(map(_act, o.acts))) for o in mine))
        for system, mine in by_system.items()
    ]
    return DialogueView(name, tuple(said[index] for index in sorted(said)), tuple(tracks), "", tuple(services))


def _act(one: JudgedAct) -> ActView:
    (act, service), verdict = one.due, one.verdict
    sought, missed = (tuple(value.text for value in some) for some in (one.values, one.missed))
    if verdict is None:
        return ActView(service.name, act.act, act.slot, act.values, sought, missed)
    entailed = verdict.entailed if verdict.reference is not None else None
    return ActView(
        service.name, act.act, act.slot, act.values, sought, missed, entailed, verdict.reference, verdict.plain,
        verdict.augmented, verdict.excluded, tamper.kind(act, service), verdict.entailed_plain, verdict.present,
    )  # fmt: skip


# -- reading it --------------------------------------------------------------------------------------------------------


class PlacedAnswer(NamedTuple):
    """A response with its place, gold's utterance and the turn before it."""

    system: str
    dialogue: str
    answer: AnswerView
    gold: str
    previous: str

    @property
    def unfaithful(self) -> bool:
        """Whether the response fails one of its acts: by the model, or, where none was asked, by a value left out."""
        judged = [act for act in self.answer.acts if act.present is not None]
        if judged:
            return any(act.entailed is False for act in judged)
        return self.answer.text is None or any(act.missed for act in self.answer.acts)


def answers(dialogues: Iterable[DialogueView]) -> list[PlacedAnswer]:
    """All responses of a run, one system after the other."""
    by_system: dict[str, list[PlacedAnswer]] = {}
    for dialogue in dialogues:
        said = {line.index: line.text for line in dialogue.utterances}
        for track in dialogue.tracks:
            by_system.setdefault(track.system, []).extend(
                PlacedAnswer(track.system, dialogue.id, one, said.get(one.index, ""), said.get(one.index - 1, ""))
                for one in track.answers
            )
    return [one for mine in by_system.values() for one in mine]


def act_rows(dialogues: Iterable[DialogueView], *, validated: bool) -> Iterator[dict[str, Any]]:
    """Every act that a model judged, with the texts that it is about; each probability under its name.

    `validated`: whether gold was validated. Where it was not, the rows do not say why an act is excluded: None would
    mean that it is valid.
    """
    for one in answers(dialogues):
        for act in one.answer.acts:
            if act.present is None:
                continue
            yield {
                "system": one.system, "dialogue": one.dialogue, "turn": one.answer.index,
                "service": act.service, "act": act.act, "slot": act.slot, "values": act.values, "kind": act.kind,
                "reference": act.reference, "plain": _named(act.plain), "augmented": _named(act.augmented),
                "helped": bool(act.entailed) and act.augmented is not None, "entailed": bool(act.entailed),
                "entailed_plain": act.entailed_plain, "present": act.present,
                **({"excluded": act.excluded} if validated else {}),
                "response": one.answer.text, "gold": one.gold, "previous": one.previous,
            }  # fmt: skip


def _named(probabilities: Sequence[float] | None) -> dict[str, float] | None:
    return None if probabilities is None else dict(zip(Entailment._fields, probabilities, strict=True))
