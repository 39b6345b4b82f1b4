"""Metrics of assistants that call tools: what each is, and its parts over trials, turns or tasks.

Tasks are what is resampled: trials of one task share its difficulty, as turns of one dialogue do. States are scored by
the metrics of state tracking (`troth.agents.states` says how calls become states).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import comb, inf
from typing import Any

import msgspec

from troth.agents.analysis import AgentAnalysis, CallFacts, TrialAnalysis
from troth.agents.claims import ActionClaim
from troth.agents.matching import MatchedCalls
from troth.agents.support import Detail
from troth.core.errors import UserError, suggest_name
from troth.core.metric import Metric
from troth.core.names import parse_names
from troth.core.parts import Parts
from troth.core.registry import Registry
from troth.core.trajectories import Usage
from troth.tracking.metrics import metric as tracking_metric

UNREAD = "unread_blocks"  # given only where there are any
STATES = ("jga", "aga", "slot_precision", "slot_recall", "slot_f1", "fga@0.5", "turn_match")
JUDGED = ("judge_claims", "judge_policy", "judge_success")  # given where a judge is asked
# Scored if no metric is named, after pass^k.
DEFAULT = (
    "calls_right", "call_f1", "arguments_right", "failed_calls", "forbidden_calls", "provenance",
    "claims_without_calls", "grounded_answers", "wavering_tasks",
)  # fmt: skip
# Names that stand for several metrics; "all" for every one.
SETS = {
    "states": STATES,
    "details": ("unsupported_numbers", "unsupported_times", "unsupported_names"),
    "costs": ("calls_per_solved", "turns_per_solved", "tokens_per_solved", "seconds_per_solved", "cost_per_solved"),
}
Fraction = tuple[float, float] | None
_PASS_HAT = re.compile(r"pass\^([1-9][0-9]{0,3})")


def _per_trial(fraction: Callable[[TrialAnalysis], Fraction]) -> Callable[[AgentAnalysis], Parts]:
    return lambda analysis: analysis.of_trials(fraction)


def _per_task(fraction: Callable[[list[TrialAnalysis]], Fraction]) -> Callable[[AgentAnalysis], Parts]:
    return lambda analysis: analysis.of_tasks(fraction)


def _declare(name: str, title: str, about: str, compute: Callable[[AgentAnalysis], Parts], **further: Any) -> Metric:
    return Metric(name, title, about, compute=compute, **further)


def pass_hat(k: int) -> Metric:
    """pass^k, the chance that k trials of a task are all solved: mean over tasks of C(solved, k) / C(trials, k)."""

    def fraction(trials: list[TrialAnalysis]) -> Fraction:
        judged = [trial.solved for trial in trials if trial.solved is not None]
        if any(trial.absent for trial in trials):
            return 0.0, 1.0
        return (comb(int(sum(judged)), k) / comb(len(judged), k), 1.0) if len(judged) >= k else None

    return _declare(
        f"pass^{k}", f"pass^{k}", "chance that all of k trials of a task are solved", _per_task(fraction), unit="task",
        needs=("success",), of="pass^k", variant=str(k), headline=k == 1,
    )  # fmt: skip


def _per_matched(fraction: Callable[[MatchedCalls], Fraction]) -> Callable[[AgentAnalysis], Parts]:
    """Parts of trials that are compared with gold."""
    return _per_trial(lambda trial: None if trial.matched is None else fraction(trial.matched))


def _arguments(trial: TrialAnalysis) -> Fraction:
    """Gold's arguments that the call which stands for the gold call has right; arguments beyond gold's cost nothing."""
    if trial.matched is None or trial.near is None:
        return None
    every = sum(len(gold.arguments) for gold in trial.matched.gold)
    wrong = sum(
        len([name for name in names if name in trial.matched.gold[index].arguments])
        for index, names in trial.near.wrong.items()
    )
    return every - wrong, every


def _order(calls: MatchedCalls) -> Fraction:
    """Pairs of matched calls that stand in gold's order, among all pairs."""
    pairs = list(combinations([calls.pairs[index] for index in sorted(calls.pairs)], 2))
    return sum(first < second for first, second in pairs), len(pairs)


def _share_of_calls(test: Callable[[CallFacts], bool]) -> Callable[[AgentAnalysis], Parts]:
    return _per_trial(lambda trial: None if trial.absent else (sum(map(test, trial.calls)), len(trial.calls)))


def _provenance(analysis: AgentAnalysis) -> Parts:
    def fraction(trial: TrialAnalysis) -> Fraction:
        checked = sum(call.checked for call in trial.calls)
        return checked - sum(len(call.unsourced) for call in trial.calls), checked

    return analysis.of_trials(fraction)


def _unsupported(kind: str) -> Callable[[AgentAnalysis], Parts]:
    def fraction(trial: TrialAnalysis) -> Fraction:
        details = [detail for detail in trial.details if detail.kind == kind]
        return sum(not detail.supported for detail in details), len(details)

    return _per_trial(fraction)


def _grounded(trial: TrialAnalysis) -> Fraction:
    """Answers that hold something checkable, and those of them in which all of it is supported."""
    answers: dict[int, bool] = {}
    statements: list[Detail | ActionClaim] = [*trial.details, *trial.claims]
    for statement in statements:
        answers[statement.message] = answers.get(statement.message, True) and statement.supported
    return sum(answers.values()), len(answers)


def _judged(question: str) -> Callable[[AgentAnalysis], Parts]:
    """Trials in which the judge finds nothing amiss."""

    def fraction(trial: TrialAnalysis) -> Fraction:
        judgement = None if trial.judged is None else getattr(trial.judged, question)
        return None if judgement is None or judgement.value is None else (judgement.value, 1.0)

    return _per_trial(fraction)


def _is_wavering(trials: list[TrialAnalysis]) -> Fraction:
    judged = {trial.solved for trial in trials if trial.solved is not None}
    return (float(len(judged) > 1), 1.0) if len(trials) > 1 and judged else None


def _same_calls(trials: list[TrialAnalysis]) -> Fraction:
    pairs = list(combinations([written_calls(one) for one in trials], 2))
    return sum(first == second for first, second in pairs), len(pairs)


def written_calls(trial: TrialAnalysis) -> list[bytes]:
    """The successful calls of a trial that change something, in order, in a form that can be compared."""
    return [
        msgspec.json.encode([call.numbered.call.tool, call.numbered.call.arguments], order="sorted")
        for call in trial.calls
        if call.writes and not call.failed
    ]


def _per_solved(spent: Callable[[TrialAnalysis], float | None]) -> Callable[[AgentAnalysis], Parts]:
    """What all trials have cost over how many of them are solved: failures are paid for, too."""

    def fraction(trial: TrialAnalysis) -> Fraction:
        cost = spent(trial)
        return None if cost is None or trial.solved is None else (cost, trial.solved)

    return _per_trial(fraction)


def _read_usage(read: Callable[[Usage], float | None]) -> Callable[[TrialAnalysis], float | None]:
    return lambda trial: None if trial.absent else read(trial.usage)


def _tokens(usage: Usage) -> float | None:
    known = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    return sum(known) if known else None


def _state_metric(name: str) -> Metric:
    base = tracking_metric(name)
    return msgspec.structs.replace(
        base, needs=("gold",), unit="turn", against="", headline=name == "jga",
        compute=lambda analysis: analysis.relabelled(base.compute(analysis.frames)),
    )  # fmt: skip


# Metrics over calls and over their arguments are also given by tool.
BY_TOOL = ("call", "argument")
_GOLD: dict[str, Any] = {"needs": ("gold",), "unit": "trial"}
_GOLD_CALLS: dict[str, Any] = {"needs": ("gold",), "unit": "call"}
_COUNT: dict[str, Any] = {"better": "lower", "scale": "number", "top": inf}
_COST: dict[str, Any] = {"needs": ("success", "usage"), "unit": "trial", **_COUNT}
_CALLS: dict[str, Any] = {"unit": "call", "better": "lower"}
_ANSWERS: dict[str, Any] = {"needs": ("context", "transcript"), "unit": "trial"}  # all that was said and done
_JUDGED: dict[str, Any] = {"needs": ("judge", "transcript"), "unit": "trial"}

_METRICS = (
    _declare("calls_right", "Calls right", "share of trials whose calls are gold's by the matching rule",
             _per_trial(lambda one: None if one.matched is None else (float(one.matched.valid and not one.absent), 1)),
             **_GOLD, headline=True),
    _declare("call_precision", "Call precision", "share of calls that gold expects",
             _per_matched(lambda calls: (len(calls.pairs), len(calls.calls))), **_GOLD_CALLS),
    _declare("call_recall", "Call recall", "share of gold's calls that were made",
             _per_matched(lambda calls: (len(calls.pairs), len(calls.gold))), **_GOLD_CALLS),
    _declare("call_f1", "Call F1", "harmonic mean of call precision and call recall, over all trials together",
             _per_matched(lambda calls: (2 * len(calls.pairs), len(calls.calls) + len(calls.gold))),
             **_GOLD_CALLS, headline=True),
    _declare("arguments_right", "Arguments right", "share of the arguments of gold's calls that were given right",
             _per_trial(_arguments), needs=("gold",), unit="argument"),
    _declare("order_kept", "Order kept", "share of pairs of matched calls that stand in gold's order",
             _per_matched(_order), **_GOLD),
    _declare("extra_calls", "Extra calls", "calls per trial that gold does not expect",
             _per_trial(lambda one: None if one.absent or one.matched is None else (len(one.matched.extra), 1)),
             **_GOLD, **_COUNT),
    _declare("missing_calls", "Missing calls", "gold's calls per trial that were not made",
             _per_matched(lambda calls: (len(calls.missing), 1)), **_GOLD, **_COUNT),
    *map(_state_metric, STATES),
    _declare("repeated_calls", "Repeated calls", "share of calls that repeat one after which nothing has changed",
             _share_of_calls(lambda call: call.repeats), **_CALLS),
    _declare("failed_calls", "Failed calls", "share of calls whose result is an error",
             _share_of_calls(lambda call: call.failed), **_CALLS),
    _declare("forbidden_calls", "Forbidden calls", "share of calls that the tools' definitions do not allow",
             _share_of_calls(lambda call: call.forbidden is not None), **_CALLS, needs=("tools",)),
    _declare("provenance", "Provenance",
             "share of values in calls that change something which the user said or a result held", _provenance,
             unit="argument", needs=("transcript",), headline=True),
    _declare("claims_without_calls", "Claims without calls",
             "share of claims of done actions that no successful call stands behind",
             _per_trial(lambda one: (sum(not claim.supported for claim in one.claims), len(one.claims))), unit="trial",
             needs=("transcript",), better="lower", headline=True),
    _declare("unsupported_numbers", "Unsupported numbers", "share of numbers in answers that nothing seen supports",
             _unsupported("number"), **_ANSWERS, better="lower"),
    _declare("unsupported_times", "Unsupported times", "share of times and dates in answers that nothing seen supports",
             _unsupported("time"), **_ANSWERS, better="lower"),
    _declare("unsupported_names", "Unsupported names", "share of names and codes in answers that nothing seen supports",
             _unsupported("name"), **_ANSWERS, better="lower"),
    _declare("grounded_answers", "Grounded answers",
             "share of answers with details or claims in which all of them are supported", _per_trial(_grounded),
             **_ANSWERS),
    _declare("judge_claims", "Claims, by a judge", "share of trials without a claim that the judge calls false",
             _judged("claims"), **_JUDGED),
    _declare("judge_policy", "Policy, by a judge", "share of trials in which the judge finds no breach of the policy",
             _judged("policy"), **_JUDGED),
    _declare("judge_success", "Success, by a judge", "share of trials that the judge calls solved",
             _judged("success"), **_JUDGED),
    _declare(UNREAD, "Unread blocks", "blocks, parts and keys per trial that were not read",
             _per_trial(lambda one: None if one.absent else (sum(one.trial.unread.values()), 1)), **_COUNT,
             unit="trial"),
    _declare("wavering_tasks", "Wavering tasks", "share of tasks that some trials solve and others do not",
             _per_task(_is_wavering), unit="task", better="lower", needs=("success", "trials")),
    _declare("same_calls", "Same calls", "share of pairs of trials of a task that change the same things in order",
             _per_task(_same_calls), unit="task", needs=("trials",)),
    _declare("calls_per_solved", "Calls per solved trial", "calls of all trials per solved one",
             _per_solved(lambda one: float(len(one.calls))), **_COST),
    _declare("turns_per_solved", "User turns per solved trial", "user turns of all trials per solved one",
             _per_solved(lambda one: float(len(one.trial.users()))), **_COST),
    _declare("tokens_per_solved", "Tokens per solved trial", "tokens of all trials per solved one",
             _per_solved(_read_usage(_tokens)), **_COST),
    _declare("seconds_per_solved", "Seconds per solved trial", "seconds of all trials per solved one",
             _per_solved(_read_usage(lambda usage: usage.seconds)), **_COST),
    _declare("cost_per_solved", "Cost per solved trial", "cost of all trials per solved one",
             _per_solved(_read_usage(lambda usage: usage.cost)), **_COST),
)  # fmt: skip

METRICS: Registry[Metric] = Registry(
    "metric of assistants", "troth.agent_metrics", {one.name: one for one in (*map(pass_hat, range(1, 5)), *_METRICS)}
)


def metric(name: str) -> Metric:
    """A metric by name; `pass^8` for any number of trials."""
    hat = _PASS_HAT.fullmatch(name)
    return pass_hat(int(hat[1])) if hat else METRICS.load(name)


def select_metrics(names: str | Iterable[str] | None, trials: int, judged: Sequence[str] = ()) -> list[Metric]:
    """The metrics of these names, which may be those of `SETS` or "default"; without names the default ones.

    Both "all" and "default" have pass^1 up to the number of trials per task, the metrics of plug-ins, and those of the
    judge that are `judged`.
    """
    left_out = {UNREAD, *JUDGED} - {*judged}
    every = [name for name in METRICS.by_name() if METRICS.load(name).of != "pass^k" and name not in left_out]
    hats = [f"pass^{k}" for k in range(1, max(trials, 1) + 1)]
    default = [*hats, *DEFAULT, *judged, *(name for name in every if name not in METRICS.own)]
    sets = {"all": (*hats, *every), "default": default, **SETS, "judge": JUDGED}
    named = ["default"] if names is None else parse_names(names)
    wanted = dict.fromkeys(member for name in named for member in sets.get(name, (name,)))
    if not wanted:
        raise UserError("no metric is named", hint="for example call_f1 or pass^1")
    for name in wanted:
        if name not in METRICS and not _PASS_HAT.fullmatch(name):
            hint = suggest_name(name, [*METRICS, *sets]) or f"sets: {', '.join(sets)}; metrics: {', '.join(METRICS)}"
            raise UserError(f"no metric of assistants is called '{name}'", hint=hint)
    return [metric(name) for name in wanted]
