"""Findings: every single thing in a trial that lowers a metric, with its place, the reason and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from troth.agents import explorer
from troth.agents.analysis import AgentAnalysis, CallFacts, TrialAnalysis, first_wrong_turn
from troth.agents.metrics import JUDGED, STATES, written_calls
from troth.core.result import Finding
from troth.core.trajectories import LocatedCall

DETAILS = ("number", "time", "name")
UNSUPPORTED = "not in the results, the user's words or the instructions before it, and does not follow from them"
_GOLD = ("missing call", "extra call", "wrong arguments", "wrong order", "not gold's")
# The kinds of findings behind each metric: a value that is not perfect has at least one of them.
KINDS: dict[str, tuple[str, ...]] = {
    "pass^k": ("unsolved",),
    "calls_right": _GOLD,
    "call_precision": ("extra call", "wrong arguments"),
    "call_recall": ("missing call", "wrong arguments"),
    "call_f1": _GOLD,
    "arguments_right": ("missing call", "wrong arguments"),
    "order_kept": ("wrong order",),
    "extra_calls": ("extra call", "wrong arguments"),
    "missing_calls": ("missing call", "wrong arguments"),
    **dict.fromkeys(STATES, ("wrong state",)),
    "repeated_calls": ("repeated call",),
    "failed_calls": ("failed call",),
    "forbidden_calls": ("forbidden call",),
    "provenance": ("value",),
    "claims_without_calls": ("claim",),
    "unsupported_numbers": ("number",),
    "unsupported_times": ("time",),
    "unsupported_names": ("name",),
    "grounded_answers": ("claim", *DETAILS),
    "judge_claims": ("judged claim",),
    "judge_policy": ("judged breach",),
    "judge_success": ("judged failure",),
    "wavering_tasks": ("wavers",),
    "same_calls": ("other changes",),
}


class AgentFinding(Finding, frozen=True, tag="agent"):
    """Something in one trial that a reader should see."""

    kind: str  # "claim", "number", "time", "name", "value", "failed call", …: see `KINDS`
    system: str
    task: str
    trial: int | None = None
    turn: int | None = None
    message: int | None = None
    text: str = ""  # the claim or the detail
    tool: str = ""
    argument: str = ""
    value: str = ""  # that has no source
    solved: tuple[int, ...] = ()  # trials of a wavering task,
    failed: tuple[int, ...] = ()
    parts_at: int | None = None  # and the user turn at which the first two that differ in outcome part
    conversation: str = ""  # id of the trial in its file
    start: int | None = None  # characters in the text of the message
    end: int | None = None
    reason: str = ""
    evidence: int | None = None  # index of the message that shows it


def findings_behind(findings: Iterable[AgentFinding], metric: str, system: str) -> list[AgentFinding]:
    """The findings of a system that lower a metric."""
    kinds = KINDS.get("pass^k" if metric.startswith("pass^") else metric, ())
    return [finding for finding in findings if finding.system == system and finding.kind in kinds]


def findings(system: AgentAnalysis) -> Iterator[AgentFinding]:
    """Everything that lowers a metric, trial by trial; then tasks whose trials differ."""
    for trial in system.trials:
        own = TrialFindings(system.name, trial)
        yield from own.claims()
        yield from own.details()
        yield from own.calls()
        yield from own.gold()
        yield from own.judged()
    for task, trials in system.by_task.items():
        solved = [trial for trial in trials if trial.solved]
        failed = [trial for trial in trials if trial.solved == 0.0]
        if solved and failed:
            parting = next((p for p in explorer.partings(failed[0], [solved[0]])), None)
            names = [tuple(trial.trial.trial for trial in side) for side in (solved, failed)]
            turn = None if parting is None else parting.turn
            yield AgentFinding("wavers", system.name, task, solved=names[0], failed=names[1], parts_at=turn)
        if len({tuple(written_calls(trial)) for trial in trials}) > 1:
            reason = "its trials do not change the same things"
            yield AgentFinding("other changes", system.name, task, reason=reason)


class TrialFindings:
    """One trial of a system, and where things are in it."""

    def __init__(self, system: str, trial: TrialAnalysis) -> None:
        self.system, self.trial = system, trial
        self.turns: list[int] = []
        turn = -1
        for message in trial.trial.messages:
            turn += message.role == "user"
            self.turns.append(max(turn, 0))

    def _finding(self, kind: str, message: int | None, **fields: object) -> AgentFinding:
        trial = self.trial.trial
        turn = None if message is None else self.turns[message]
        return AgentFinding(
            kind, self.system, trial.unit, trial.trial, turn, message, conversation=trial.id, **fields  # type: ignore[arg-type]
        )  # fmt: skip

    def claims(self) -> Iterator[AgentFinding]:
        for claim in self.trial.claims:
            if not claim.supported:
                yield self._finding(
                    "claim", claim.message, text=claim.text, start=claim.start, end=claim.end, reason=claim.reason,
                    evidence=claim.evidence,
                )  # fmt: skip

    def details(self) -> Iterator[AgentFinding]:
        for detail in self.trial.details:
            if not detail.supported:
                span = {"start": detail.start, "end": detail.end}
                yield self._finding(detail.kind, detail.message, text=detail.text, reason=UNSUPPORTED, **span)

    def calls(self) -> Iterator[AgentFinding]:
        for call in self.trial.calls:
            for lacking in call.unsourced:
                yield self._call("value", call.numbered, UNSUPPORTED, argument=lacking.argument, value=lacking.value)
            for kind, reason in _faults(call):
                yield self._call(kind, call.numbered, reason)

    def _call(self, kind: str, call: LocatedCall, reason: str, **fields: object) -> AgentFinding:
        return self._finding(kind, call.message, tool=call.call.tool, reason=reason, evidence=call.result, **fields)

    def gold(self) -> Iterator[AgentFinding]:
        """How the trial differs from gold: calls, their order, states, and whether it is solved."""
        trial = self.trial
        if trial.solved is not None and trial.solved < 1:
            error = "" if trial.matched is None else trial.matched.error or ""
            yield self._finding(
                "unsolved", None, reason="there is no trial" if trial.absent else error or "the reward is below 1"
            )
        if trial.matched is None or trial.near is None:
            return
        matched, near = trial.matched, trial.near
        for gold in matched.missing:
            tool = matched.gold[gold].tool
            if gold in near.pairs:
                names = ", ".join(near.wrong.get(gold, ()))
                yield self._call(
                    "wrong arguments",
                    matched.calls[near.pairs[gold]],
                    f"gold has other values of {names}" if names else "gold has other values",
                )
            else:
                yield self._finding("missing call", None, tool=tool, reason="gold expects this call")
        for number in matched.extra:
            if number not in near.pairs.values():
                yield self._call("extra call", matched.calls[number], "gold does not expect this call")
        order = [matched.pairs[gold] for gold in sorted(matched.pairs)]
        if order != sorted(order):
            yield self._finding("wrong order", None, reason="gold has these calls in another order")
        if matched.error is not None and not matched.missing and not matched.extra:
            yield self._finding("not gold's", None, reason=matched.error)
        if (turn := first_wrong_turn(trial)) is not None or (trial.absent and trial.states is not None):
            yield self._finding("wrong state", None, reason=f"the state is wrong from user turn {turn or 0} on")

    def judged(self) -> Iterator[AgentFinding]:
        """What a judge objects to: sentences, calls, or the whole."""
        verdicts = self.trial.judged
        questions = (
            () if verdicts is None else zip(JUDGED, (verdicts.claims, verdicts.policy, verdicts.success), strict=True)
        )
        for metric, judgement in questions:
            for found in () if judgement is None else judgement.found:
                item = found.item
                span = (
                    {} if item is None else {"start": item.start, "end": item.end, "text": item.text, "tool": item.tool}
                )
                message = found.evidence if item is None else item.message
                yield self._finding(KINDS[metric][0], message, reason=found.reason, evidence=found.evidence, **span)


def _faults(call: CallFacts) -> Iterator[tuple[str, str]]:
    """What is wrong with a call by itself, as kind of finding and reason."""
    if call.forbidden is not None:
        yield "forbidden call", call.forbidden
    if call.failed:
        yield "failed call", "its result is an error"
    if call.repeats:
        yield "repeated call", "it repeats a call after which nothing has changed"
