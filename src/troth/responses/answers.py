"""What runs of responses keep for the page: every response with the acts it was to convey, or with its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from troth.grounding.metrics import Unscored
from troth.storage import explorer

if TYPE_CHECKING:
    from troth.grounding import score as ground
    from troth.responses import metrics as nlg_scores


def of_acts(systems: Sequence[nlg_scores.System]) -> Iterator[bytes]:
    """The lines of `dialogues.jsonl.gz` of a run of `troth nlg`."""
    return explorer.lines(explorer.Header(), _dialogues(systems))


def _dialogues(systems: Sequence[nlg_scores.System]) -> Iterator[explorer.DialogueView]:
    turns: dict[str, dict[str, list[nlg_scores.Turn]]] = {}
    for system in systems:
        for turn in system.turns:
            turns.setdefault(turn.unit.dialogue, {}).setdefault(system.name, []).append(turn)
    for dialogue, by_system in turns.items():
        said: dict[int, explorer.Utterance] = {}
        services: dict[str, None] = {}
        for turn in (turn for mine in by_system.values() for turn in mine):
            unit = turn.unit
            if unit.previous:
                said[unit.turn - 1] = explorer.Utterance(unit.turn - 1, unit.before, unit.previous)
            said[unit.turn] = explorer.Utterance(unit.turn, "SYSTEM", unit.gold)
            services |= dict.fromkeys(turn.services)
        tracks = [
            explorer.SystemView(
                name,
                answers=tuple(explorer.AnswerView(t.unit.turn, t.response, tuple(map(_told, t.acts))) for t in mine),
            )
            for name, mine in by_system.items()
        ]
        lines = tuple(said[index] for index in sorted(said))
        yield explorer.DialogueView(dialogue, lines, tuple(tracks), "", tuple(services))


def _told(told: nlg_scores.Told) -> explorer.ActView:
    act, verdict = told.due.act, told.verdict
    judged = verdict is not None and verdict.reference is not None
    return explorer.ActView(
        told.due.service.name,
        act.act,
        act.slot,
        act.values,
        tuple(value.text for value in told.values),
        tuple(value.text for value in told.missed),
        verdict.entailed if verdict is not None and judged else None,
        None if verdict is None else verdict.reference,
        None if verdict is None or verdict.plain is None else tuple(verdict.plain),
        None if verdict is None or verdict.augmented is None else tuple(verdict.augmented),
        None if verdict is None else verdict.excluded,
    )


def of_documents(systems: Sequence[ground.System]) -> Iterator[bytes]:
    """The lines of `dialogues.jsonl.gz` of a run of `troth ground`."""
    return explorer.lines(explorer.Header(holds="responses"), _responses(systems))


def _responses(systems: Sequence[ground.System]) -> Iterator[explorer.ResponseView]:
    for system in systems:
        for place, item in enumerate(system.items):
            values = {
                name: value for name, found in system.values.items() if not isinstance(value := found[place], Unscored)
            }
            judged = {name: verdict for name, found in system.judged.items() if (verdict := found[place]) is not None}
            yield explorer.ResponseView(
                system.name,
                item.id,
                item.document,
                item.response,
                item.history,
                item.label,
                item.source,
                values,
                {name: one.faithful for name, one in judged.items()},
                {name: one.probability for name, one in judged.items()},
            )
