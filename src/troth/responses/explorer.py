"""What a run of responses keeps for people to look at: every response with the acts that it was to convey."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from troth.models import Entailment
from troth.responses.metrics import JudgedResponse
from troth.storage.explorer import Archive, DialogueView, SystemView, Utterance


def archive(systems: Mapping[str, Sequence[JudgedResponse]]) -> Archive:
    """Every dialogue with each system's responses."""
    dialogues: dict[str, dict[str, list[JudgedResponse]]] = {}
    for system, said in systems.items():
        for one in said:
            dialogues.setdefault(one.dialogue, {}).setdefault(system, []).append(one)
    return Archive(dialogues=(_dialogue(name, by_system) for name, by_system in dialogues.items()))


def _dialogue(name: str, by_system: Mapping[str, Sequence[JudgedResponse]]) -> DialogueView:
    said: dict[int, Utterance] = {}
    services: dict[str, None] = {}
    for one in (one for mine in by_system.values() for one in mine):
        turn = one.answer.index
        if one.previous:
            said[turn - 1] = Utterance(turn - 1, one.before, one.previous)
        said[turn] = Utterance(turn, "SYSTEM", one.gold)
        services |= dict.fromkeys(one.services)
    tracks = tuple(SystemView(system, answers=tuple(one.answer for one in mine)) for system, mine in by_system.items())
    return DialogueView(name, tuple(said[index] for index in sorted(said)), tracks, "", tuple(services))


def collect_responses(dialogues: Iterable[DialogueView]) -> dict[str, list[JudgedResponse]]:
    """The responses of a run, by system: what `archive` was made from."""
    systems: dict[str, list[JudgedResponse]] = {}
    for dialogue in dialogues:
        lines = {line.index: line for line in dialogue.utterances}
        nothing = Utterance(-1, "USER", "")
        for track in dialogue.tracks:
            for answer in track.answers:
                gold, before = (lines.get(answer.index - back, nothing) for back in (0, 1))
                one = JudgedResponse(dialogue.id, answer, gold.text, before.text, before.speaker)
                systems.setdefault(track.system, []).append(one)
    return systems


def act_rows(systems: Mapping[str, Sequence[JudgedResponse]], *, validated: bool) -> Iterator[dict[str, Any]]:
    """Every act that a model judged, with the texts that it is about; each probability under its name.

    `validated`: whether gold was validated. Where it was not, the rows do not say why an act is excluded: None would
    mean that it is valid.
    """
    for system, said in systems.items():
        for one, act in ((r, a) for r in said for a in r.answer.acts if a.present is not None):
            yield {
                "system": system, "dialogue": one.dialogue, "turn": one.answer.index,
                "service": act.service, "act": act.act, "slot": act.slot, "values": act.values, "kind": act.kind,
                "reference": act.reference, "plain": _name_probabilities(act.plain), "augmented": _name_probabilities(act.augmented),
                "helped": act.helped, "entailed": bool(act.entailed),
                "entailed_plain": act.entailed_plain, "present": act.present,
                **({"excluded": act.excluded} if validated else {}),
                "response": one.answer.text, "gold": one.gold, "previous": one.previous,
            }  # fmt: skip


def _name_probabilities(probabilities: Sequence[float] | None) -> dict[str, float] | None:
    return None if probabilities is None else dict(zip(Entailment._fields, probabilities, strict=True))
