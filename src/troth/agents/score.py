"""Scores assistants that call tools: transcripts in, every metric out, with intervals over tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from troth.agents import explorer
from troth.agents.analysis import AgentAnalysis, AnalysisRules, analyse
from troth.agents.corpus import AgentCorpus, gold_files, load
from troth.agents.findings import AgentFinding, findings
from troth.agents.metrics import BY_TOOL, select_metrics
from troth.agents.rules import MatchingRule, find_rule
from troth.agents.states import PROFILE
from troth.agents.support import CONTEXT
from troth.core.data_options import format_option
from troth.core.digest import digest
from troth.core.errors import UserError
from troth.core.groups import Group, parse_groups
from troth.core.metric import Metric
from troth.core.names import Path, name_paths, parse_names, path_of
from troth.core.options import check_choice, keywords, option, resamples_option, resolve, run_folder, seed_option
from troth.core.result import Note, Result
from troth.core.tasks import Task
from troth.readers import trajectories
from troth.stats.estimates import NOTHING, Cell, Resampling, SystemCells, build_result
from troth.storage.runs import check_out

__all__ = ["AgentFinding", "AgentSettings", "agent", "score_corpus"]
TASK = Task("agent score", "assistants", "tasks", "troth.report.page.agents")
REASONS = {
    "gold": "no gold calls are known; give gold",
    "success": "it is not known which trials are solved: there are neither rewards nor gold",
    "tools": "the tools are not known; give them",
    "trials": "no task has more than one trial",
    "usage": "the transcripts do not say, or no trial is solved",
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
        choices=("reward", "match"),
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
    resamples: int = resamples_option(over="tasks")
    seed: int = seed_option()
    out: Path | None = run_folder()


@keywords(AgentSettings)
def agent(*transcripts: Path, **options: Any) -> Result:
    """Scores assistants by their transcripts; each file is one system, each conversation a trial of a task.

    `transcripts`: files, folders or `NAME=FILE` in any format of trajectories. Gold calls are taken from the
    transcripts (τ-bench), or from `gold`. Intervals are over tasks: trials of a task are drawn together. The options
    are those of `AgentSettings`.

    >>> from troth import demo
    >>> result = agent(demo.path("agents/hasty.jsonl"), tools=demo.path("agents/tools.json"))
    >>> result["pass^1"].n, result["claims_without_calls"].value > 0
    (6, True)
    """
    settings = resolve(AgentSettings, options)
    if not transcripts:
        raise UserError("no transcript is named", hint="for example results.json, or name=results.json")
    out = None if settings.out is None else check_out(settings.out)
    files = name_paths(transcripts, "file")
    tools = None if settings.tools is None else path_of(settings.tools)
    writing = None if settings.writing is None else parse_names(settings.writing)
    corpus = load(files, gold_files(settings.gold), tools, settings.format, writing)
    return score_corpus(corpus, settings, [path_of(path) for path in transcripts]).save_if(out)


def score_corpus(corpus: AgentCorpus, settings: AgentSettings, transcripts: Sequence[str] = ()) -> Result:
    """The result of trajectories that are in memory; `transcripts`: the files that they come from, for the record."""
    rules = _rules(settings, corpus)
    systems = [analyse(corpus, system, rules) for system in corpus.systems]
    trials = [len(trials) for system in systems for trials in system.by_task.values() if not trials[0].absent]
    metrics = select_metrics(settings.metrics, min(trials, default=1))
    by, tasks = parse_groups(settings.by, ("tool",)), sorted(corpus.tasks)
    gold = [(task.id, task.expected, task.outputs) for task in corpus.tasks.values() if task.expected is not None]
    inputs = {"gold": digest(gold)} if gold else {}
    measured = (
        SystemCells(system.name, cells(system, metrics, corpus, by), tasks, _counts(system), inputs)
        for system in systems
    )
    return build_result(
        TASK.name, measured, Resampling(settings.resamples, settings.seed, "task"), metrics=metrics,
        notes=[*map(Note, corpus.notes), *(note for system in systems for note in _notes(system, rules))],
        findings=[finding for system in systems for finding in findings(system)],
        arguments=_arguments(transcripts, settings, rules),
        explorer=lambda: explorer.build_archive(systems),
    )  # fmt: skip


def _rules(settings: AgentSettings, corpus: AgentCorpus) -> AnalysisRules:
    declared = [trajectories.FORMATS.load(system.format).FORMAT.profile for system in corpus.systems]
    by = find_rule(settings.rule if settings.rule is not None else declared[0] or "exact")
    rewards = all(trial.reward is not None for system in corpus.systems for trial in system.trials)
    solved = settings.solved or ("reward" if rewards else "match")
    named = settings.context.replace("+", ",") if isinstance(settings.context, str) else settings.context
    context = tuple(check_choice("context", kind, CONTEXT) for kind in parse_names(named))
    return AnalysisRules(by, check_choice("solved", solved, ("reward", "match")), context or CONTEXT)


def cells(
    system: AgentAnalysis, metrics: Sequence[Metric], corpus: AgentCorpus, by: Sequence[str] = ()
) -> Iterator[Cell]:
    """Every metric of one system, with its recipe and the reason where there is nothing to score; then by tool."""
    for metric in metrics:
        lacking = [need for need in metric.needs if _lacks(need, system, corpus)]
        parts = metric.compute(system)
        scarce = [need for need in metric.needs if need in ("trials", "usage")]
        reason = REASONS[(lacking or scarce)[0]] if lacking or scarce else NOTHING
        if lacking:
            parts = parts.take(parts.den < 0)
        yield Cell(metric, parts, _recipe(metric, system.rules), reason=reason)
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
    if need == "tools":
        return not any(corpus.toolbox(trial.trial).tools for trial in system.trials)
    return False


def _recipe(metric: Metric, rules: AnalysisRules) -> tuple[Any, ...]:
    """The rules that move a metric's number, which its signature names."""
    if "success" in metric.needs:
        return ({"solved": "reward"},) if rules.solved == "reward" else (rules.rule, {"solved": "match"})
    if "gold" in metric.needs:
        return (rules.rule, PROFILE) if metric.unit == "turn" else (rules.rule,)
    if "context" in metric.needs and set(rules.context) != set(CONTEXT):
        return ({"context": rules.context},)
    return ({},)


def _counts(system: AgentAnalysis) -> dict[str, int]:
    present = [trial for trial in system.trials if not trial.absent]
    return {
        "tasks": len({trial.trial.unit for trial in present}),
        "trials": len(present),
        "missing_tasks": len(system.trials) - len(present),
        "calls": sum(len(trial.calls) for trial in present),
    }


def _notes(system: AgentAnalysis, rules: AnalysisRules) -> Iterator[Note]:
    counts = Counter(len(trials) for trials in system.by_task.values() if not trials[0].absent)
    if len(counts) > 1:
        yield Note(f"tasks have {min(counts)} to {max(counts)} trials", system.name)
    if missing := sum(trial.absent for trial in system.trials):
        yield Note(f"tasks of gold without a trial, which count as not solved: {missing}", system.name)
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
        "format": settings.format, "resamples": settings.resamples, "seed": settings.seed,
    }  # fmt: skip
