"""What a run of assistants shows one by one: each trial with its calls, states, gold and claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

import msgspec

from troth.agents.analysis import AgentAnalysis, CallFacts, TrialAnalysis, first_wrong_turn, same_state
from troth.agents.metrics import written_calls
from troth.storage import trajectory_views as views
from troth.storage.explorer import Archive, Header


def build_archive(systems: Iterable[AgentAnalysis]) -> Archive:
    """The trials of all systems, as a run keeps them."""
    trials = (_view(system, trial) for system in systems for trial in system.trials if not trial.absent)
    return Archive(Header(holds="trajectories"), trajectories=trials)


def _view(system: AgentAnalysis, analysis: TrialAnalysis) -> views.TrajectoryView:
    trial = analysis.trial
    wrong_turn = first_wrong_turn(analysis)
    usage = msgspec.to_builtins(analysis.usage)
    return views.TrajectoryView(
        system.name, trial.id, trial.unit, trial.trial, tuple(_messages(analysis)),
        None if analysis.matched is None else tuple(_gold(analysis)), tuple(_states(analysis)), analysis.solved,
        trial.reward, None if analysis.matched is None else analysis.matched.error, wrong_turn,
        _wrong_message(analysis, wrong_turn), tuple(partings(analysis, system.by_task[trial.unit])),
        {name: value for name, value in usage.items() if value is not None},
    )  # fmt: skip


def _messages(trial: TrialAnalysis) -> Iterator[views.MessageView]:
    calls: dict[int, list[views.CallView]] = {}
    for facts in trial.calls:
        calls.setdefault(facts.numbered.message, []).append(_call(trial, facts))
    claims: dict[int, list[views.ClaimView]] = {}
    for detail in trial.details:
        claim = views.ClaimView(detail.start, detail.end, detail.kind, detail.supported, detail.source)
        claims.setdefault(detail.message, []).append(claim)
    for action in trial.claims:
        claim = views.ClaimView(action.start, action.end, "action", action.supported, action.source)
        claims.setdefault(action.message, []).append(claim)
    turn = -1
    for index, message in enumerate(trial.trial.messages):
        turn += message.role == "user"
        yield views.MessageView(
            index, message.role, message.text, turn if turn >= 0 else None, message.tool, message.error,
            tuple(calls.get(index, ())),
            tuple(sorted(claims.get(index, ()), key=lambda claim: (claim.start, claim.end))),
        )  # fmt: skip


def _call(trial: TrialAnalysis, facts: CallFacts) -> views.CallView:
    verdict, gold, wrong = _verdict(trial, facts)
    call = facts.numbered.call
    return views.CallView(
        call.tool, call.arguments, call.broken, facts.numbered.result, facts.writes, facts.failed, verdict, gold, wrong,
        facts.forbidden, facts.repeats, {lacking.argument: lacking.value for lacking in facts.unsourced},
    )  # fmt: skip


def _verdict(trial: TrialAnalysis, facts: CallFacts) -> tuple[views.CallVerdict, int | None, tuple[str, ...]]:
    if trial.matched is None or trial.near is None:
        return "unknown", None, ()
    own = facts.numbered.number
    index = next((index for index, call in enumerate(trial.matched.calls) if call.number == own), None)
    if index is None:
        return "uncounted", None, ()
    if (gold := next((gold for gold, number in trial.near.pairs.items() if number == index), None)) is None:
        return "extra", None, ()
    if gold in trial.matched.pairs:
        return "right", gold, ()
    return "wrong", gold, trial.near.wrong[gold]


def _gold(trial: TrialAnalysis) -> Iterator[views.GoldCallView]:
    if trial.matched is None or trial.near is None:
        return
    for index, gold in enumerate(trial.matched.gold):
        number = trial.near.pairs.get(index)
        message = None if number is None else trial.matched.calls[number].message
        yield views.GoldCallView(gold.tool, dict(gold.arguments), gold.turn, message, index in trial.matched.pairs)


def _states(trial: TrialAnalysis) -> Iterator[views.CallStates]:
    if trial.states is not None:
        for turn, (gold, pred) in enumerate(zip(trial.states.gold, trial.states.pred, strict=True)):
            yield views.CallStates(turn, pred, gold, same_state(gold, pred))


def _wrong_message(trial: TrialAnalysis, turn: int | None) -> int | None:
    """The message with the first call of a turn that gold does not expect."""
    if trial.matched is None or turn is None:
        return None
    unexpected = (trial.matched.calls[number] for number in trial.matched.extra)
    return next((call.message for call in unexpected if call.turn == turn), None)


def partings(trial: TrialAnalysis, trials: Iterable[TrialAnalysis]) -> Iterator[views.PartingView]:
    """The first change in which a trial differs from each other trial of its task."""
    changes = [call.numbered for call in trial.calls if call.writes and not call.failed]
    keys = written_calls(trial)
    for other in trials:
        if other is trial or other.absent:
            continue
        other_changes = [call.numbered for call in other.calls if call.writes and not call.failed]
        pairs = enumerate(zip_longest(keys, written_calls(other)))
        if (index := next((n for n, (first, second) in pairs if first != second), None)) is not None:
            here = changes[index] if index < len(changes) else None
            there = other_changes[index] if index < len(other_changes) else None
            turn = next(call.turn for call in (here, there) if call is not None)
            yield views.PartingView(
                other.trial.trial, here.message if here else None, there.message if there else None, turn
            )
