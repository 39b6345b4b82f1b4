"""Everything that the metrics need of each trial, worked out once: matching, states, faults of calls, success."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from troth.agents import forbidden
from troth.agents.claims import ActionClaim, action_claims
from troth.agents.corpus import AgentCorpus, AgentSystem
from troth.agents.judge import AgentJudge, JudgedTrial
from troth.agents.matching import MatchedCalls, compose_trajectory, match_calls
from troth.agents.provenance import Unsourced, check_values
from troth.agents.rules import MatchingRule
from troth.agents.sources import Sources
from troth.agents.states import PROFILE, FoldedStates, NearestPairs, fold, pair_nearest
from troth.agents.support import Detail, find_details
from troth.agents.tools import Toolbox, has_failed
from troth.core.parts import NONE, Parts, Units
from troth.core.trajectories import LocatedCall, Trajectory, Usage
from troth.tracking.frames import Frames
from troth.tracking.scorer import Scorer

SOLVED = 1.0 - 1e-6  # as τ-bench has it: a reward of 1, up to rounding


class CallFacts(NamedTuple):
    """Findings about a single call."""

    numbered: LocatedCall
    writes: bool
    failed: bool
    forbidden: str | None  # why the tools' definitions forbid it
    repeats: bool  # an earlier call again, with nothing changed in between
    checked: int  # values that must come from somewhere,
    unsourced: tuple[Unsourced, ...]  # and those of them that nobody said and no result held
    unchecked: str | None = None  # why the tools' definitions could not be applied, or not as a whole


@dataclass(frozen=True)
class TrialAnalysis:
    """One trial of a task; `absent` where the system has none."""

    trial: Trajectory
    calls: tuple[CallFacts, ...] = ()
    matched: MatchedCalls | None = None  # None: there is no gold
    near: NearestPairs | None = None
    states: FoldedStates | None = None
    solved: float | None = None  # None: there is neither a reward nor gold
    claims: tuple[ActionClaim, ...] = ()
    details: tuple[Detail, ...] = ()
    absent: bool = False
    judged: JudgedTrial | None = None  # by a chat model; None: it was not asked

    @property
    def item(self) -> str:
        """Name of the trial, to distinguish trials of one task."""
        return f"trial {self.trial.trial}"

    @property
    def usage(self) -> Usage:
        """What the trial cost: the figure given for the whole trial or, without one, the sum over its messages."""
        whole = self.trial.usage or Usage()
        parts = [message.usage for message in self.trial.messages if message.usage is not None]

        def read_field(name: str) -> float | None:
            known = [value for part in parts if (value := getattr(part, name)) is not None]
            total = getattr(whole, name)
            return total if total is not None else sum(known) if known else None

        tokens = [
            None if (count := read_field(name)) is None else int(count) for name in ("input_tokens", "output_tokens")
        ]
        return Usage(tokens[0], tokens[1], read_field("seconds"), read_field("cost"))


@dataclass(frozen=True)
class AnalysisRules:
    """By what trials are judged: the matching rule, what counts as solved, and what an answer may rest on."""

    rule: MatchingRule
    solved: str  # "reward", "match" or "judge"
    context: tuple[str, ...] = ("tools", "user", "system")
    judge: AgentJudge | None = None


@dataclass(frozen=True)
class AgentAnalysis:
    """One system's trials, analysed; what metrics compute from."""

    name: str
    rules: AnalysisRules
    trials: tuple[TrialAnalysis, ...]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(trial.trial.unit for trial in self.trials))

    @cached_property
    def by_task(self) -> dict[str, list[TrialAnalysis]]:
        trials: dict[str, list[TrialAnalysis]] = {}
        for trial in self.trials:
            trials.setdefault(trial.trial.unit, []).append(trial)
        return trials

    @cached_property
    def frames(self) -> Frames:
        """The states of all trials, as state tracking scores them; made when a metric asks for them."""
        scorer = Scorer(PROFILE, None)
        for trial in self.trials:
            if trial.states is not None:
                gold, pred = trial.states.dialogues(trial.trial.id, trial.trial.users())
                scorer.add(gold, None if trial.absent else pred)
        return scorer.frames()

    @property
    def tools(self) -> list[str]:
        """The tools that were called or that gold expects to be called, by name."""
        called = {call.numbered.call.tool for trial in self.trials for call in trial.calls}
        return sorted(called | {gold.tool for trial in self.trials if trial.matched for gold in trial.matched.gold})

    def of_tool(self, tool: str) -> AgentAnalysis:
        """The same trials with the calls of one tool alone."""
        return replace(self, trials=tuple(_select_tool(trial, tool) for trial in self.trials))

    def of_trials(self, fraction: Callable[[TrialAnalysis], tuple[float, float] | None]) -> Parts:
        """Parts with one unit per trial; None where a metric does not apply to it."""
        values = [(fraction(trial), trial) for trial in self.trials]
        keys = [(trial.trial.unit, NONE, trial.item) for value, trial in values if value is not None]
        return Parts.from_fractions([value for value, _ in values if value is not None], keys)

    def of_tasks(self, fraction: Callable[[list[TrialAnalysis]], tuple[float, float] | None]) -> Parts:
        """Parts with one unit per task."""
        values = [(task, fraction(trials)) for task, trials in self.by_task.items()]
        keys = [(task, NONE, "") for task, value in values if value is not None]
        return Parts.from_fractions([value for _, value in values if value is not None], keys)

    def relabelled(self, parts: Parts) -> Parts:
        """Parts of the tracking metrics, whose dialogues are trials, with tasks as what is resampled."""
        trials = {trial.trial.id: trial for trial in self.trials}
        tasks = self.tasks
        task_codes = {task: code for code, task in enumerate(tasks)}
        items = list(dict.fromkeys(trial.item for trial in self.trials))
        item_codes = {item: code for code, item in enumerate(items)}
        named = [trials[id] for id in parts.units.dialogues]
        task = np.array([task_codes[trial.trial.unit] for trial in named] or [0], dtype=np.int64)[parts.units.dialogue]
        item = np.array([item_codes[trial.item] for trial in named] or [0], dtype=np.int64)[parts.units.dialogue]
        return Parts(parts.num, parts.den, Units(tasks, task, parts.units.turn, items, item))


def analyse(corpus: AgentCorpus, system: AgentSystem, rules: AnalysisRules) -> AgentAnalysis:
    """Every trial of a system, and an absent one for each task that it has no trial of."""
    absent = [Trajectory(task, corpus.tasks[task].messages, task) for task in system.missing]
    missing = frozenset(system.missing)
    trials = [_analyse_trial(corpus, trial, rules, absent=trial.unit in missing) for trial in (*system.trials, *absent)]
    if rules.judge is not None:
        trials = _judge_trials(trials, rules.judge, decides=rules.solved == "judge")
    return AgentAnalysis(system.name, rules, tuple(trials))


def _judge_trials(trials: list[TrialAnalysis], judge: AgentJudge, *, decides: bool) -> list[TrialAnalysis]:
    """Trials with the verdicts of a judge, who sees only transcripts that were read as a whole."""
    whole = [trial for trial in trials if not trial.absent and not trial.trial.unread]
    verdicts = {id(one): judged for one, judged in zip(whole, judge.judge([one.trial for one in whole]), strict=True)}
    marked = [replace(trial, judged=verdicts.get(id(trial))) for trial in trials]
    if not decides:
        return marked
    return [trial if trial.absent else replace(trial, solved=_judged_success(trial)) for trial in marked]


def _judged_success(trial: TrialAnalysis) -> float | None:
    return None if trial.judged is None or trial.judged.success is None else trial.judged.success.value


def _analyse_trial(corpus: AgentCorpus, trial: Trajectory, rules: AnalysisRules, *, absent: bool) -> TrialAnalysis:
    toolbox, gold = corpus.toolbox(trial), corpus.gold(trial)
    composed = compose_trajectory(trial)
    matched = None if gold is None else match_calls(trial, gold, rules.rule, toolbox, composed)
    near = None if matched is None else pair_nearest(matched, rules.rule, toolbox)
    states = None if matched is None or near is None else fold(trial, matched, near, rules.rule, toolbox)
    trial = composed
    if absent:
        return TrialAnalysis(trial, (), matched, near, states, 0.0, absent=True)
    seen = Sources(trial)
    calls, claims = tuple(_analyse_calls(trial, toolbox, seen)), tuple(action_claims(trial, toolbox))
    details = tuple(find_details(trial, seen, rules.context))
    if trial.unread:  # what stands behind a claim or a value may be in a block that was not read
        calls, claims, details = tuple(call._replace(checked=0, unsourced=()) for call in calls), (), ()
    solved = _solved(trial, matched, rules.solved)
    return TrialAnalysis(trial, calls, matched, near, states, solved, claims, details)


def _solved(trial: Trajectory, matched: MatchedCalls | None, by: str) -> float | None:
    if by == "reward":
        return None if trial.reward is None else float(trial.reward >= SOLVED)
    return None if matched is None else float(matched.valid)


def _analyse_calls(trial: Trajectory, toolbox: Toolbox, seen: Sources) -> Iterator[CallFacts]:
    earlier: set[bytes] = set()  # calls since something was last changed
    for numbered in trial.calls():
        writes, lost = toolbox.writes(numbered.call.tool), has_failed(trial, numbered)
        key = msgspec.json.encode([numbered.call.tool, numbered.call.arguments, numbered.call.broken], order="sorted")
        repeats = key in earlier
        if writes and not lost:
            earlier.clear()
        if not lost:
            earlier.add(key)
        tool = toolbox.tools.get(numbered.call.tool)
        checked, lacking = check_values(numbered, seen, tool, writes=writes)
        why, unchecked = forbidden.check_call(numbered.call, toolbox)
        yield CallFacts(numbered, writes, lost, why, repeats, checked, lacking, unchecked)


def _select_tool(trial: TrialAnalysis, tool: str) -> TrialAnalysis:
    calls = tuple(call for call in trial.calls if call.numbered.call.tool == tool)
    if trial.matched is None or trial.near is None:
        return replace(trial, calls=calls)
    calls_of_tool = [index for index, call in enumerate(trial.matched.calls) if call.call.tool == tool]
    golds = [index for index, gold in enumerate(trial.matched.gold) if gold.tool == tool]

    def select_pairs(pairs: dict[int, int]) -> dict[int, int]:
        return {golds.index(gold): calls_of_tool.index(call) for gold, call in pairs.items() if gold in golds}

    matched = MatchedCalls(
        [trial.matched.calls[index] for index in calls_of_tool], [trial.matched.gold[index] for index in golds],
        select_pairs(trial.matched.pairs), trial.matched.error,
    )  # fmt: skip
    wrong = {golds.index(gold): names for gold, names in trial.near.wrong.items() if gold in golds}
    return replace(trial, calls=calls, matched=matched, near=NearestPairs(select_pairs(trial.near.pairs), wrong))


def first_wrong_turn(trial: TrialAnalysis) -> int | None:
    """The first turn whose state is wrong; None where all are right, or there is no gold."""
    if trial.states is None:
        return None
    pairs = zip(trial.states.gold, trial.states.pred, strict=True)
    return next((turn for turn, (gold, pred) in enumerate(pairs) if not same_state(gold, pred)), None)


def same_state(gold: dict[str, dict[str, tuple[str, ...]]], pred: dict[str, dict[str, tuple[str, ...]]]) -> bool:
    """Whether two states are equal; any of gold's values counts."""
    if gold.keys() != pred.keys():
        return False
    return all(
        gold[service].keys() == slots.keys() and all(values[0] in gold[service][name] for name, values in slots.items())
        for service, slots in pred.items()
    )
