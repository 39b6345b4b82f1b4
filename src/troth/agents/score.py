"""Scores assistants that call tools: transcripts in, every metric out, with intervals over tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from troth.agents import explorer
from troth.agents.analysis import AgentAnalysis, AnalysisRules, analyse
from troth.agents.corpus import AgentCorpus, ReadTrials, gold_files, join_files, load
from troth.agents.findings import AgentFinding, findings
from troth.agents.judge import NO_VOTE, AgentJudge, open_chat_model
from troth.agents.live.budget import Budget
from troth.agents.metrics import BY_TOOL, JUDGED, METRICS, UNREAD, select_metrics
from troth.agents.rules import MatchingRule, find_rule
from troth.agents.states import PROFILE
from troth.agents.support import CONTEXT
from troth.agents.unread import NOT_READ, count_unjudged, count_unread, reading_notes, unread_parts, unscored_trials
from troth.core.data_options import format_option
from troth.core.decode import reading
from troth.core.digest import digest
from troth.core.errors import UserError
from troth.core.groups import Group, parse_groups
from troth.core.metric import Metric
from troth.core.names import Path, is_path, name_paths, parse_names, path_of
from troth.core.options import (
    cache_file,
    check_choice,
    keywords,
    option,
    resamples_option,
    resolve,
    run_folder,
    seed_option,
)
from troth.core.result import Note, Result
from troth.core.tasks import Task
from troth.core.trajectories import Trajectory
from troth.grounding.judge import VOTES
from troth.models import Lm
from troth.readers import trajectories
from troth.stats.estimates import NOTHING, Cell, Resampling, SystemCells, build_result
from troth.storage.runs import check_out

__all__ = ["AgentFinding", "AgentSettings", "agent", "score_corpus"]
TASK = Task("agent score", "assistants", "tasks", "troth.report.page.agents")
Transcripts = Path | Sequence[Trajectory] | Mapping[str, Sequence[Trajectory]]
MOST_KINDS = 50  # types of unread blocks that have a score of their own
REASONS = {
    "gold": "no gold calls are known; give gold",
    "success": "it is not known which trials are solved: there are neither rewards nor gold",
    "tools": "the tools are not known; give them",
    "trials": "no task has more than one trial",
    "usage": "the transcripts do not say, or no trial is solved",
    "judge": "no judge is asked; name one",
    "policy": "there is no policy; give one",
}


@dataclass(frozen=True)
class AgentSettings:
    gold: Path | Sequence[Path] | None = option(
        None, "File with gold calls, where the transcripts have none; may be given several times.", "FILE", repeat=True
    )
    tools: Path | None = option(None, "Definitions of the tools, in any usual layout.", "FILE")
    rule: str | MatchingRule | None = option(
        None, "How calls are matched: exact, bfcl or tau. Default: by the format.", "NAME",
        complete=("troth.agents.rules:RULES",),
    )  # fmt: skip
    solved: str | None = option(
        None, "How a trial counts as solved. Default: by its reward, where all trials have one.",
        choices=("reward", "match", "judge"),
    )  # fmt: skip
    metrics: str | Iterable[str] | None = option(
        None,
        "Metrics, comma-separated, or sets of them: states, details, costs, all. Default: ten common ones.",
        "NAMES",
        complete=("troth.agents.metrics:METRICS",),
    )
    by: str | Iterable[str] = option(
        (), "Add scores by tool: the calls and arguments of each.", "NAMES", complete=("tool",)
    )
    writing: str | Iterable[str] | None = option(
        None, "Tools that change something, comma-separated. Default: by their definitions and names.", "NAMES"
    )
    context: str | Iterable[str] = option(
        "+".join(CONTEXT), "Sources that support an answer: tools, user, system.", "KINDS"
    )
    format: str | None = format_option("the transcripts", "troth.readers.trajectories:FORMATS")
    judge: str | Lm | None = option(
        None, "Chat model that also judges claims, success and, with a policy, breaches of it.", "NAME",
        complete=("troth.models:BACKENDS",),
    )  # fmt: skip
    policy: Path | None = option(None, "Text file with the policy that the judge holds the assistant to.", "FILE")
    votes: int = option(VOTES, "Answers that the judge is asked for, per question.", least=1)
    budget: str | int | None = option(None, "Most that the judge may be asked: 500, 500calls or 200ktokens.", "N")
    cache: Path | None = cache_file()
    timeout: float | None = option(None, "Longest time for one answer of the judge.", "SECONDS", least=0, above=True)
    on_error: str = option(
        "stop", "At a row that cannot be read: stop, or skip it and count it.", choices=("stop", "skip")
    )
    resamples: int = resamples_option(over="tasks")
    seed: int = seed_option()
    out: Path | None = run_folder()


@keywords(AgentSettings)
def agent(*transcripts: Transcripts, **options: Any) -> Result:
    """Scores assistants by their transcripts; each file is one system, each conversation a trial of a task.

    `transcripts`: files, folders or `NAME=FILE` in any format of trajectories; or, from memory, one list of
    `Trajectory` records, or a mapping of system names to such lists. Gold calls are taken from the transcripts
    (τ-bench), or from `gold`. Intervals are over tasks: trials of a task are drawn together. The options are those of
    `AgentSettings`.

    >>> from troth import demo
    >>> result = agent(demo.path("agents/hasty.jsonl"), tools=demo.path("agents/tools.json"))
    >>> result["pass^1"].n, result["claims_without_calls"].value > 0
    (6, True)
    """
    settings = resolve(AgentSettings, options)
    if not transcripts:
        raise UserError("no transcript is named", hint="for example results.json, or name=results.json")
    out = None if settings.out is None else check_out(settings.out)
    paths = [path_of(item) for item in transcripts if is_path(item)]
    return score_corpus(read_trajectories(transcripts, settings), settings, paths).save_if(out)


def read_trajectories(transcripts: Sequence[Transcripts], settings: AgentSettings) -> AgentCorpus:
    """The corpus of a scoring run, from files or from memory."""
    tools = None if settings.tools is None else path_of(settings.tools)
    writing = None if settings.writing is None else parse_names(settings.writing)
    paths, gold = [item for item in transcripts if is_path(item)], gold_files(settings.gold)
    if len(paths) == len(transcripts):
        skip = settings.on_error == "skip"
        return load(name_paths(paths, "file"), gold, tools, settings.format, writing, skip=skip)
    if len(transcripts) > 1:
        raise UserError(
            "transcripts must be files, or one list or mapping of trajectories",
            hint="give several systems as a mapping: {'old': […], 'new': […]}",
        )
    records: Any = transcripts[0]
    systems = records if isinstance(records, Mapping) else {"trajectories": records}
    return join_files({name: ReadTrials(list(own)) for name, own in systems.items()}, gold, tools, writing)


def score_corpus(corpus: AgentCorpus, settings: AgentSettings, transcripts: Sequence[str] = ()) -> Result:
    """The result of trajectories that are in memory; `transcripts`: the files that they come from, for the record."""
    rules = _rules(settings, corpus)
    systems = [analyse(corpus, system, rules) for system in corpus.systems]
    trials = [len(trials) for system in systems for trials in system.by_task.values() if not trials[0].absent]
    judged = [] if rules.judge is None else [name for name in JUDGED if name != "judge_policy" or rules.judge.policy]
    metrics = select_metrics(settings.metrics, min(trials, default=1), judged)
    if settings.metrics is None and any(trial.trial.unread for system in systems for trial in system.trials):
        metrics.append(METRICS.load(UNREAD))
    by, tasks = parse_groups(settings.by, ("tool",)), sorted(corpus.tasks)
    gold = [(task.id, task.expected, task.outputs) for task in corpus.tasks.values() if task.expected is not None]
    inputs = {"gold": digest(gold)} if gold else {}
    measured = (
        SystemCells(
            system.name,
            cells(system, metrics, corpus, by),
            tasks,
            _counts(system, read.skipped),
            inputs,
            unscored=list(unscored_trials(system, metrics)),
        )
        for system, read in zip(systems, corpus.systems, strict=True)
    )
    return build_result(
        TASK.name, measured, Resampling(settings.resamples, settings.seed, "task"), metrics=metrics,
        notes=[
            *map(Note, corpus.notes),
            *(note for system in systems for note in _notes(system, rules)),
            *(map(Note, rules.judge.remarks) if rules.judge is not None else ()),
        ],
        findings=[finding for system in systems for finding in findings(system)],
        arguments=_arguments(transcripts, settings, rules),
        explorer=lambda: explorer.build_archive(systems),
    )  # fmt: skip


def _rules(settings: AgentSettings, corpus: AgentCorpus) -> AnalysisRules:
    declared = [trajectories.FORMATS.load(system.format).FORMAT.profile for system in corpus.systems]
    by = find_rule(settings.rule if settings.rule is not None else declared[0] or "exact")
    rewards = all(trial.reward is not None for system in corpus.systems for trial in system.trials)
    judge = open_judge(settings)
    solved = settings.solved or ("reward" if rewards else "match" if corpus.has_gold or judge is None else "judge")
    if solved == "judge" and judge is None:
        raise UserError("is judge, and no judge is named", option="solved", hint="name a chat model as the judge")
    named = settings.context.replace("+", ",") if isinstance(settings.context, str) else settings.context
    context = tuple(check_choice("context", kind, CONTEXT) for kind in parse_names(named))
    return AnalysisRules(by, check_choice("solved", solved, ("reward", "match", "judge")), context or CONTEXT, judge)


def open_judge(settings: AgentSettings) -> AgentJudge | None:
    """The judge that the settings name, with its policy, budget and cache."""
    if settings.judge is None:
        if settings.policy is not None:
            raise UserError("needs a judge", option="policy", hint="name a chat model as the judge")
        return None
    policy = None
    if settings.policy is not None:
        with reading(path_of(settings.policy)):
            policy = FilePath(path_of(settings.policy)).read_text(encoding="utf-8")
        if not policy.strip():
            raise UserError("is empty", file=path_of(settings.policy), hint="write what the assistant must keep to")
    budget = None if settings.budget is None else Budget(settings.budget)
    return AgentJudge(
        open_chat_model(settings.judge, settings.cache, settings.timeout, budget), policy, settings.votes, budget
    )


def cells(
    system: AgentAnalysis, metrics: Sequence[Metric], corpus: AgentCorpus, by: Sequence[str] = ()
) -> Iterator[Cell]:
    """Every metric of one system, with its recipe and the reason where there is nothing to score; then by tool."""
    for metric in metrics:
        lacking = [need for need in metric.needs if _lacks(need, system, corpus)]
        if metric.name == "judge_policy" and system.rules.judge is not None and system.rules.judge.policy is None:
            lacking = ["policy"]
        parts = metric.compute(system)
        scarce = [need for need in metric.needs if need in ("trials", "usage")]
        unread = "transcript" in metric.needs and any(trial.trial.unread for trial in system.trials)
        nothing = NOT_READ if unread else NOTHING
        if "judge" in metric.needs:
            nothing = next((reason for reason, _ in count_unjudged(system, metric).most_common(1)), NO_VOTE)
        reason = REASONS[(lacking or scarce)[0]] if lacking or scarce else nothing
        if lacking:
            parts = parts.take(parts.den < 0)
        yield Cell(metric, parts, _recipe(metric, system.rules), reason=reason)
        for kind, _ in count_unread(system).most_common(MOST_KINDS) if metric.name == UNREAD else ():
            yield Cell(metric, unread_parts(system, kind), _recipe(metric, system.rules), Group("block", kind))
    for tool in system.tools if "tool" in by else ():
        only = system.of_tool(tool)
        for metric in metrics:
            if metric.unit in BY_TOOL and not any(_lacks(need, system, corpus) for need in metric.needs):
                yield Cell(metric, metric.compute(only), _recipe(metric, system.rules), Group("tool", tool))


def _lacks(need: str, system: AgentAnalysis, corpus: AgentCorpus) -> bool:
    if need == "gold":
        return not corpus.has_gold
    if need == "success":
        return all(trial.solved is None for trial in system.trials)
    if need == "judge":
        return system.rules.judge is None
    if need == "tools":
        return not any(corpus.toolbox(trial.trial).tools for trial in system.trials)
    return False


def _recipe(metric: Metric, rules: AnalysisRules) -> tuple[Any, ...]:
    """The rules that move a metric's number, which its signature names."""
    if "judge" in metric.needs or ("success" in metric.needs and rules.solved == "judge"):
        if rules.judge is None:
            return ({},)
        decides = {"solved": "judge"} if "success" in metric.needs else {}
        return ({**decides, **(rules.judge.policy_recipe if metric.name == "judge_policy" else rules.judge.recipe)},)
    if "success" in metric.needs:
        return ({"solved": "reward"},) if rules.solved == "reward" else (rules.rule, {"solved": "match"})
    if "gold" in metric.needs:
        return (rules.rule, PROFILE) if metric.unit == "turn" else (rules.rule,)
    if "context" in metric.needs and set(rules.context) != set(CONTEXT):
        return ({"context": rules.context},)
    return ({},)


def _counts(system: AgentAnalysis, skipped: int) -> dict[str, int]:
    present = [trial for trial in system.trials if not trial.absent]
    further = {"unread_blocks": count_unread(system).total(), "skipped_rows": skipped}
    return {
        "tasks": len({trial.trial.unit for trial in present}),
        "trials": len(present),
        "missing_tasks": len(system.trials) - len(present),
        "calls": sum(len(trial.calls) for trial in present),
        **{name: count for name, count in further.items() if count},
    }


def _notes(system: AgentAnalysis, rules: AnalysisRules) -> Iterator[Note]:
    counts = Counter(len(trials) for trials in system.by_task.values() if not trials[0].absent)
    if len(counts) > 1:
        yield Note(f"tasks have {min(counts)} to {max(counts)} trials", system.name)
    if missing := sum(trial.absent for trial in system.trials):
        yield Note(f"tasks of gold without a trial, which count as not solved: {missing}", system.name)
    yield from reading_notes(system)
    unchecked = Counter(call.unchecked for trial in system.trials for call in trial.calls if call.unchecked is not None)
    if unchecked:
        why = ", ".join(f"{count}: {reason}" for reason, count in unchecked.most_common())
        what = "calls that could not be checked by their tools' definitions, and count as allowed"
        yield Note(f"{what}: {unchecked.total()} ({why})", system.name)
    other = [
        trial.trial.id
        for trial in system.trials
        if rules.solved == "reward" and trial.matched is not None and trial.solved != float(trial.matched.valid)
    ]
    if other and not missing:
        share = f"{len(other)} of {len(system.trials)} trials"
        named = ", ".join(other[:3]) + (", …" if len(other) > 3 else "")
        yield Note(f"reward and the rule '{rules.rule.name}' differ on {share} ({named})", system.name)


def _arguments(transcripts: Sequence[str], settings: AgentSettings, rules: AnalysisRules) -> dict[str, Any]:
    writing = None if settings.writing is None else parse_names(settings.writing)
    tools = None if settings.tools is None else path_of(settings.tools)
    return {
        "transcripts": list(transcripts), "gold": gold_files(settings.gold), "tools": tools,
        "rule": rules.rule.name, "solved": rules.solved, "context": list(rules.context), "writing": writing,
        "by": parse_names(settings.by),
        "judge": None if rules.judge is None else rules.judge.lm.name,
        "policy": None if settings.policy is None else path_of(settings.policy), "votes": settings.votes,
        "format": settings.format, "resamples": settings.resamples, "seed": settings.seed,
    }  # fmt: skip
