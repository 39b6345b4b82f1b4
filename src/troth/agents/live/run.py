"""Runs an assistant live on recorded conversations, under other words of its tools and of its users.

Sets are the original, each rewording of the tools (users as they were) and each rewording of the users (tools as they
were). Every task is replayed in every set and trial, several at a time. The folder gets `SET/trial-N.jsonl` with the
trajectories under the original names, `missing.json` with what could not be finished, `result/` with the scores, and
`journal.jsonl` with every answer: the same command resumes the run.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path as Folder
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import msgspec

from troth.agents.live import summary
from troth.agents.live.budget import Budget, UnansweredError
from troth.agents.live.endpoint import Assistant, Chat, Reply, open_assistant
from troth.agents.live.journal import Journal
from troth.agents.live.plan import RunAgentSettings, RunPlan, WordingSet, make_plan
from troth.agents.live.replay import Recording, Replayed, ToolWording, replay
from troth.agents.live.summary import LiveSet, ReplayKey
from troth.core.decode import TOO_DEEP
from troth.core.names import Path, format_count, path_of
from troth.core.options import keywords, record_arguments, resolve
from troth.core.progress import bar
from troth.core.result import Note, Result
from troth.core.tasks import Task
from troth.readers.plain import encode_indented
from troth.readers.trajectories import chat
from troth.stats.estimates import Resampling, SystemCells, build_result
from troth.storage.claims import Claim
from troth.storage.files import replaced_file, writing

PLAN, JOURNAL, MISSED, RESULT = "plan.json", "journal.jsonl", "missing.json", "result"


TASK = Task(
    "agent run", "live assistants", "conversations", "troth.report.page.agents",
    no_explorer="Live runs hold scores and no trajectories. Score the folders of their sets with troth agent score "
    "--out, and give that run as well.",
)  # fmt: skip


@keywords(RunAgentSettings)
def run_agent(agent: str | Callable[..., Any], tasks: Path, **options: Any) -> Result:
    """Replays recorded conversations to an assistant under other words; returns how its calls hold up.

    `agent` is `endpoint:URL#MODEL` (an OpenAI-compatible server), `module:function`, or a Python function of messages
    and tools. `tasks` holds the recorded conversations, in any format of trajectories. The folder `out` gets the
    trajectories; the same call resumes it without asking anything twice. The options are those of
    `RunAgentSettings`.

    >>> import tempfile
    >>> tasks = [{"messages": [{"role": "user", "content": "Cancel order 7."}],
    ...           "expected": [{"name": "cancel", "arguments": {"id": 7}}]}]
    >>> call = {"function": {"name": "cancel", "arguments": {"id": 7}}}
    >>> def agent(messages, tools):
    ...     return {"tool_calls": [call]} if messages[-1]["role"] == "user" else "It is cancelled."
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Folder(folder, "tasks.json").write_bytes(msgspec.json.encode(tasks))
    ...     run_agent(agent, f"{folder}/tasks.json", out=f"{folder}/run")["call_recall"].value
    1.0
    """
    settings = resolve(RunAgentSettings, options)
    live = open_assistant(
        agent, temperature=settings.temperature, timeout=settings.timeout, retries=settings.retries,
        key=settings.key_variable,
    )  # fmt: skip
    plan = make_plan(live.name, path_of(tasks), settings)
    folder = Folder(path_of(settings.out))
    budget = Budget(settings.budget)
    with Claim(PLAN, "a run of an assistant", plan.identity | {"agent": live.identity}).working(folder):
        journal = Journal(folder / JOURNAL)
        replays = _replay_all(plan, settings, _Live(live, journal, budget))
        _write(folder, replays)
        result = _result(plan, replays, settings, (journal, budget))
        result.save(folder / RESULT)
    return result


class _Live(NamedTuple):
    """An assistant whose answers are kept, and paid for, once."""

    assistant: Assistant
    journal: Journal
    budget: Budget

    def ask(self, wording: ToolWording, trial: int, seed: int, messages: Chat) -> Reply:
        question = {"agent": self.assistant.name, "tools": wording.tools, "messages": messages, "trial": trial}
        ask = partial(self.assistant.ask, list(messages), wording.tools, seed=seed + trial, budget=self.budget)
        return self.journal.answer(question, ask)


def _replay_all(plan: RunPlan, settings: RunAgentSettings, live: _Live) -> dict[ReplayKey, Replayed | str]:
    """Every conversation of the plan, or why it could not be finished."""

    def work(wording_set: WordingSet, recording: Recording, trial: int) -> Replayed | str:
        wording = plan.wording(wording_set, recording.task)
        ask = partial(live.ask, wording, trial, settings.seed)
        users = wording_set.users.get(recording.task, recording.users)
        try:
            return replay(recording, users, wording, ask, trial=trial, steps=settings.steps)
        except UnansweredError as error:
            return str(error)

    jobs = {
        ReplayKey(wording_set.name, recording.task, trial): (wording_set, recording, trial)
        for trial in range(settings.trials)
        for recording in plan.recordings
        for wording_set in plan.sets
    }
    waiting, done = deque(jobs), SimpleQueue[tuple[ReplayKey, Replayed | str | BaseException]]()

    def worker() -> None:
        while waiting:
            try:
                key = waiting.popleft()
            except IndexError:  # another worker was faster
                return
            try:
                done.put((key, work(*jobs[key])))
            except BaseException as error:  # noqa: BLE001 (raised where the results are gathered)
                done.put((key, error))

    replays: dict[ReplayKey, Replayed | str] = {}
    try:
        for _ in range(min(settings.parallel, len(jobs))):  # daemons: an interrupt does not wait for a server
            Thread(target=worker, daemon=True).start()
        with bar("conversations") as step:
            while len(replays) < len(jobs):
                key, outcome = done.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                replays[key] = outcome
                step(len(replays), len(jobs))
    finally:  # an interrupt, or an error that the user can fix: answers so far are in the journal
        waiting.clear()
        live.budget.stop()
    return {key: replays[key] for key in jobs}


def _write(folder: Folder, replays: Mapping[ReplayKey, Replayed | str]) -> None:
    """One file of trajectories for each set and trial, and what is missing."""
    missing = [
        {"set": key.set, "task": key.task, "trial": key.trial, "reason": outcome}
        for key, outcome in replays.items()
        if isinstance(outcome, str)
    ]
    for name, trial in dict.fromkeys((key.set, key.trial) for key in replays):
        of_set = [outcome for key, outcome in replays.items() if (key.set, key.trial) == (name, trial)]
        trajectories = [outcome.trajectory for outcome in of_set if isinstance(outcome, Replayed)]
        with writing(str(folder)):
            (folder / name).mkdir(exist_ok=True)
        encoded = b"".join(msgspec.json.encode(chat.to_row(outcome)) + b"\n" for outcome in trajectories)
        _replace(folder / name / f"trial-{trial}.jsonl", encoded)
    _replace(folder / MISSED, encode_indented(missing))


def _replace(file: Folder, content: bytes) -> None:
    with replaced_file(str(file), lambda _: None) as out:
        out.write(content)


def _result(
    plan: RunPlan,
    replays: Mapping[ReplayKey, Replayed | str],
    settings: RunAgentSettings,
    spent: tuple[Journal, Budget],
) -> Result:
    expected = {one.task: summary.reference(one) for one in plan.recordings}
    seen = [
        outcome
        for key, one in replays.items()
        if isinstance(one, Replayed)
        for outcome in summary.outcomes(key, one, expected[key.task])
    ]
    names = [one.name for one in plan.sets]
    recipe = (summary.RULE, {"trials": settings.trials, "steps": settings.steps})
    sets = {
        name: LiveSet(
            [outcome for outcome in seen if outcome.key.set == name],
            {key: replayed for key, replayed in replays.items() if key.set == name},
        )
        for name in names
    }
    tasks = [one.task for one in plan.recordings]
    counts = {name: _counts(name, replays) for name in names}
    return build_result(
        TASK.name,
        (SystemCells(name, summary.cells(one, recipe), tasks, counts[name]) for name, one in sets.items()),
        Resampling(seed=settings.seed, cluster="task"),
        metrics=[summary.METRICS.load(name) for name in summary.METRICS],
        notes=[Note(text) for text in _notes(plan, replays, counts, spent)],
        findings=summary.findings(seen, plan.wordings, plan.users, seed=settings.seed),
        arguments={"agent": plan.agent} | record_arguments(settings),
    )


def _counts(name: str, replays: Mapping[ReplayKey, Replayed | str]) -> dict[str, int]:
    outcomes = [outcome for key, outcome in replays.items() if key.set == name]
    done = [outcome for outcome in outcomes if isinstance(outcome, Replayed)]
    return {
        "conversations": len(outcomes),
        "missing": len(outcomes) - len(done),
        "calls": sum(len(list(outcome.trajectory.calls())) for outcome in done),
        "unrecorded": sum(outcome.unrecorded for outcome in done),
        "turns_cut": sum(outcome.cut for outcome in done),
    }


def _notes(
    plan: RunPlan,
    replays: Mapping[ReplayKey, Replayed | str],
    counts: Mapping[str, Mapping[str, int]],
    spent: tuple[Journal, Budget],
) -> list[str]:
    journal, budget = spent
    total: Counter[str] = Counter()
    for item in counts.values():
        total.update(item)
    requests = f" in {budget.calls} requests" if budget.calls != journal.asked else ""
    notes = [f"{journal.asked} answers were asked for{requests}, {budget.tokens} tokens; others were known from before"]
    if reasons := Counter(item for item in replays.values() if isinstance(item, str)):
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        lacking = f"{total['missing']} of {total['conversations']} conversations are missing"
        notes.append(f"{lacking} ({why}): resume with the same command")
    if total["unrecorded"]:
        notes.append(f"{total['unrecorded']} of {total['calls']} calls have no recorded result, and were told so")
    if total["turns_cut"]:
        notes.append(f"cut after the last step that is allowed: {format_count(total['turns_cut'], 'turn')}")
    if not all(plan.wording(plan.sets[0], item.task).tools for item in plan.recordings):
        notes.append("there are tasks without tools; give their definitions")
    if plan.deep_tools:
        notes.append(f"tools that were sent without their parameters, which are {TOO_DEEP}: {plan.deep_tools}")
    if any(item.expected is None for item in plan.recordings):
        notes.append("tasks without expected calls are compared with the calls of their recording")
    return notes
