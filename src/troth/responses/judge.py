"""Judges responses: the verdicts of the model and the slot error rate on each act, for runs and single responses."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from troth.models import Nli
from troth.responses import ser, sgsacc, tamper
from troth.responses.metrics import JudgedResponse
from troth.responses.sgsacc import ActVerdict, DueAct, SystemTurn
from troth.storage.explorer import ActView, AnswerView, CandidateView


def assemble_response(
    turn: SystemTurn,
    text: str | None,
    verdicts: Sequence[ActVerdict | None],
    slots: ser.Slots,
    *,
    kinds: bool,
    candidates: tuple[CandidateView, ...] = (),
) -> JudgedResponse:
    """A response with its acts. `verdicts`: the model's, None where it was not asked; `kinds`: name those of values.

    `candidates`: the list that the response was chosen from, if its file has it.
    """
    pairs = zip(turn.acts, verdicts, strict=True)
    acts = tuple(_judge_act(due, text, verdict, slots, kinds) for due, verdict in pairs)
    answer = AnswerView(turn.turn, text, acts, candidates)
    return JudgedResponse(turn.dialogue, answer, turn.gold, turn.previous, turn.before)


def judge(turns: Sequence[SystemTurn], responses: Sequence[str], nli: Nli) -> list[JudgedResponse]:
    """Judges responses as in production: by the acts alone, without gold utterances; any candidate reference counts."""
    bare = [turn._replace(gold="") for turn in turns]
    prepared = sgsacc.prepare(bare, nli, pool={}, augment="retry", validate=False, refs="b")
    verdicts = sgsacc.verdicts(bare, prepared, responses, nli, augment="retry")
    return [
        assemble_response(
            turn, text, acts, ser.noncategorical_slots({due.service.name: due.service for due in turn.acts}), kinds=True
        )
        for turn, text, acts in zip(bare, responses, verdicts, strict=True)
    ]


def _judge_act(due: DueAct, text: str | None, verdict: ActVerdict | None, slots: ser.Slots, kinds: bool) -> ActView:
    """An act with the values that SER looks for and misses, and the model's verdict, if one was asked."""
    act, service = due
    sought = ser.expected_values(act, service.name, slots)
    missed = tuple(ser.missing_values(sought, text or ""))
    kind = tamper.classify_act(act, service) if kinds else ""
    view = ActView(service.name, act.act, act.slot, act.values, sought, missed, kind=kind)
    if verdict is None:
        return view
    fields = verdict._asdict() | {"entailed": verdict.entailed if verdict.reference is not None else None}
    return msgspec.structs.replace(view, **fields)
