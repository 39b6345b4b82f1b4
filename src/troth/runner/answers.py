"""What runs of responses keep for the page: every response with the acts it was to convey, or with its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from troth.report import kept
from troth.scorers.grounded import Unscored

if TYPE_CHECKING:
    from troth.runner import ground, nlg_scores


def of_acts(systems: Sequence[nlg_scores.System]) -> Iterator[bytes]:
    """The lines of `dialogues.jsonl.gz` of a run of `troth nlg`."""
    return kept.lines(kept.Header(), _dialogues(systems))


def _dialogues(systems: Sequence[nlg_scores.System]) -> Iterator[kept.Kept]:
    turns: dict[str, dict[str, list[nlg_scores.Turn]]] = {}
    for system in systems:
        for turn in system.turns:
            turns.setdefault(turn.unit.dialogue, {}).setdefault(system.name, []).append(turn)
    for dialogue, by_system in turns.items():
        said: dict[int, kept.Utterance] = {}
        services: dict[str, None] = {}
        for turn in (turn for mine in by_system.values() for turn in mine):
            unit = turn.unit
            if unit.previous:
                said[unit.turn - 1] = kept.Utterance(unit.turn - 1, unit.before, unit.previous)
            said[unit.turn] = kept.Utterance(unit.turn, "SYSTEM", unit.gold)
            services |= dict.fromkeys(turn.services)
        tracks = [
            kept.Track(
                name, answers=tuple(kept.Answer(t.unit.turn, t.response, tuple(map(_told, t.acts))) for t in mine)
            )
            for name, mine in by_system.items()
        ]
        lines = tuple(said[index] for index in sorted(said))
        yield kept.Kept(dialogue, lines, tuple(tracks), "", tuple(services))


def _told(told: nlg_scores.Told) -> kept.Told:
    act, verdict = told.due.act, told.verdict
    judged = verdict is not None and verdict.reference is not None
    return kept.Told(
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
    return kept.lines(kept.Header(holds="responses"), _responses(systems))


def _responses(systems: Sequence[ground.System]) -> Iterator[kept.Response]:
    for system in systems:
        for place, item in enumerate(system.items):
            values = {
                name: value for name, found in system.values.items() if not isinstance(value := found[place], Unscored)
            }
            judged = {name: verdict for name, found in system.judged.items() if (verdict := found[place]) is not None}
            yield kept.Response(
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
