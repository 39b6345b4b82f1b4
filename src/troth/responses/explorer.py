"""What a run of responses keeps for people to look at: every response with the acts that it was to convey."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from troth.core.result import Finding
from troth.models import Entailment
from troth.responses.metrics import JudgedResponse
from troth.storage.explorer import Archive, DialogueView, SystemView, Utterance


def archive(systems: Mapping[str, Sequence[JudgedResponse]]) -> Archive:
    """Every dialogue with each system's responses."""
    dialogues: dict[str, dict[str, list[JudgedResponse]]] = {}
    for system, responses in systems.items():
        for response in responses:
            dialogues.setdefault(response.dialogue, {}).setdefault(system, []).append(response)
    return Archive(dialogues=(_dialogue(name, by_system) for name, by_system in dialogues.items()))


def _dialogue(name: str, by_system: Mapping[str, Sequence[JudgedResponse]]) -> DialogueView:
    utterances: dict[int, Utterance] = {}
    services: dict[str, None] = {}
    for r in (r for responses in by_system.values() for r in responses):
        turn = r.answer.index
        if r.previous:
            utterances[turn - 1] = Utterance(turn - 1, r.before, r.previous)
        utterances[turn] = Utterance(turn, "SYSTEM", r.gold)
        services |= dict.fromkeys(r.services)
    tracks = tuple(
        SystemView(system, answers=tuple(r.answer for r in responses)) for system, responses in by_system.items()
    )
    return DialogueView(name, tuple(utterances[index] for index in sorted(utterances)), tracks, "", tuple(services))


def collect_responses(dialogues: Iterable[DialogueView]) -> dict[str, list[JudgedResponse]]:
    """The responses of a run, by system: what `archive` was made from."""
    systems: dict[str, list[JudgedResponse]] = {}
    for dialogue in dialogues:
        lines = {line.index: line for line in dialogue.utterances}
        nothing = Utterance(-1, "USER", "")
        for track in dialogue.tracks:
            for answer in track.answers:
                gold, before = (lines.get(answer.index - back, nothing) for back in (0, 1))
                response = JudgedResponse(dialogue.id, answer, gold.text, before.text, before.speaker)
                systems.setdefault(track.system, []).append(response)
    return systems


class JudgedAct(Finding, frozen=True, tag="act", omit_defaults=False):
    """An act that the model judged in a response, with the texts that it is about."""

    system: str
    dialogue: str
    turn: int
    service: str
    act: str
    slot: str
    values: tuple[str, ...]
    kind: str
    reference: str | None  # None: no rule for such an act
    plain: dict[str, float] | None  # probabilities for the response alone
    augmented: dict[str, float] | None  # probabilities in context; None: not asked
    helped: bool
    entailed: bool
    entailed_plain: bool | None
    present: bool | None
    excluded: str | msgspec.UnsetType | None  # why validation leaves the act out; unset: gold was not validated
    response: str | None
    gold: str
    previous: str


def judged_acts(systems: Mapping[str, Sequence[JudgedResponse]], *, validated: bool) -> Iterator[JudgedAct]:
    """Every act that a model judged. `validated`: whether gold was validated."""
    for system, responses in systems.items():
        for response, act in ((r, a) for r in responses for a in r.answer.acts if a.present is not None):
            yield JudgedAct(
                system, response.dialogue, response.answer.index, act.service, act.act, act.slot, act.values, act.kind,
                act.reference, _name_probabilities(act.plain), _name_probabilities(act.augmented), act.helped,
                bool(act.entailed), act.entailed_plain, act.present, act.excluded if validated else msgspec.UNSET,
                response.answer.text, response.gold, response.previous,
            )  # fmt: skip


def _name_probabilities(probabilities: Sequence[float] | None) -> dict[str, float] | None:
    return None if probabilities is None else dict(zip(Entailment._fields, probabilities, strict=True))
