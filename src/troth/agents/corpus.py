"""Trajectories of several systems joined with gold, by task and trial.

Gold is in the transcripts themselves (τ-bench), or in files of its own: BFCL's answers and questions, or transcripts
with the right calls. Gold decides what is scored: a task that a system has no trial of counts as missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import msgspec

from troth.agents.tools import Toolbox
from troth.core.decode import TOO_DEEP, is_too_deep
from troth.core.errors import UserError
from troth.core.names import Path, format_count, path_of
from troth.core.trajectories import Expected, Message, Tool, Trajectory
from troth.readers import source, trajectories
from troth.readers import tools as tool_readers


@dataclass(frozen=True)
class AgentTask:
    """What is known about a task apart from its trials: gold calls, expected outputs, tools, the user's turns."""

    id: str
    expected: tuple[Expected, ...] | None = None
    outputs: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    messages: tuple[Message, ...] = ()
    is_unusable: bool = False  # its gold calls are nested too deeply

    def joined(self, other: AgentTask) -> AgentTask:
        """Joins what two files say about a task. Where both say something, the first one counts."""
        return AgentTask(
            self.id,
            other.expected if self.expected is None else self.expected,
            self.outputs or other.outputs,
            self.tools or other.tools,
            self.messages or other.messages,
            self.is_unusable or other.is_unusable,
        )


@dataclass(frozen=True)
class AgentSystem:
    """One system's trajectories, the tasks that it has no trial of, and the format that it was read from."""

    name: str
    trials: tuple[Trajectory, ...]
    missing: tuple[str, ...]
    format: str
    skipped: int = 0  # rows that could not be read and were left out


@dataclass(frozen=True)
class AgentCorpus:
    tasks: dict[str, AgentTask]
    systems: list[AgentSystem]
    tools: tuple[Tool, ...] = ()  # of all tasks
    writing: frozenset[str] | None = None
    notes: list[str] = field(default_factory=list)
    _boxes: dict[tuple[int, ...], Toolbox] = field(default_factory=dict)

    def toolbox(self, trial: Trajectory) -> Toolbox:
        """The tools of a trial: its own, its task's, or those of all tasks."""
        task = self.tasks.get(trial.unit)
        known = trial.tools or (task.tools if task else ()) or self.tools
        if (key := tuple(map(id, known))) not in self._boxes:
            self._boxes[key] = Toolbox({tool.name: tool for tool in known}, self.writing)
        return self._boxes[key]

    def gold(self, trial: Trajectory) -> tuple[Expected, ...] | None:
        """The gold calls of a trial's task, with arguments named where gold gives them by position."""
        task = self.tasks[trial.unit]
        if task.expected is None:
            return None
        toolbox = self.toolbox(trial)
        return tuple(_name_arguments(expected, toolbox) for expected in task.expected)

    @cached_property
    def has_gold(self) -> bool:
        return any(task.expected is not None for task in self.tasks.values())


class ReadTrials(NamedTuple):
    """One system's trajectories as they were read, the format, and the file that errors name."""

    trials: Sequence[Trajectory]
    format: str = "chat"
    file: str = "memory"
    skipped: Sequence[str] = ()  # errors of rows that were left out


def gold_files(gold: Path | Sequence[Path] | None) -> list[str]:
    """The paths of the gold files; users may name none, one or several."""
    if gold is None:
        return []
    several = [gold] if isinstance(gold, str | os.PathLike) else gold
    return [path_of(path) for path in several]


def load(
    files: Sequence[tuple[str, str]],
    gold: Sequence[str],
    tools: str | None,
    format: str | None,
    writing: Iterable[str] | None = None,
    *,
    skip: bool = False,
) -> AgentCorpus:
    """Every system's trajectories (`files`: name and path) with gold from them, or from files of its own.

    `skip`: rows that cannot be read are left out and counted.
    """
    read = {name: _read_trials(path, format, skip=skip) for name, path in files}
    return join_files(read, gold, tools, writing)


def join_files(
    read: Mapping[str, ReadTrials], gold: Sequence[str], tools: str | None, writing: Iterable[str] | None
) -> AgentCorpus:
    """Each system's trajectories, joined with gold and tools from files."""
    expected = [one for path in gold for one in trajectories.read(path)] if gold else None
    shared = tuple(tool_readers.load(tools)) if tools is not None else ()
    return join(read, gold=expected, tools=shared, writing=writing)


def _read_trials(path: str, format: str | None, *, skip: bool) -> ReadTrials:
    skipped: list[str] | None = [] if skip else None
    trials = list(trajectories.read(path, format, skipped))
    return ReadTrials(trials, format or trajectories.detect(source.first(path)), path, skipped or ())


def join(
    read: Mapping[str, ReadTrials],
    *,
    gold: Iterable[Trajectory] | None = None,
    tools: tuple[Tool, ...] = (),
    writing: Iterable[str] | None = None,
) -> AgentCorpus:
    """Each system's trajectories joined with gold: that of separate gold files, or that in its own file."""
    tasks: dict[str, AgentTask] = {}
    for one in gold or ():
        known = _task(one, derived=True)
        tasks[one.unit] = tasks[one.unit].joined(known) if one.unit in tasks else known
    notes: list[str] = []
    for name, (trials, _, file, skipped) in read.items():
        if skipped:
            notes.append(f"{name}: {format_count(len(skipped), 'row')} skipped; the first: {skipped[0]}")
        if not trials:
            raise UserError("no trajectory in it", file=file, hint="is it the right file?")
        for one in trials:
            if gold is not None:
                if one.unit not in tasks:
                    hint = "do gold and transcripts belong together?"
                    raise UserError(f"gold has no task '{one.unit}'", file=file, dialogue=one.id, hint=hint)
                continue
            known = _task(one)
            before = tasks.setdefault(one.unit, known)
            if before.expected is not None and known.expected not in (None, before.expected):
                notes.append(f"WARNING: {name}: gold of task {one.unit} differs from that of an earlier file; not used")
    if unusable := sum(task.is_unusable for task in tasks.values()):
        notes.append(f"tasks whose gold calls are {TOO_DEEP}, and are not scored: {unusable}")
    systems = [_system(name, own, tasks) for name, own in read.items()]
    chosen = None if writing is None else frozenset(writing)
    return AgentCorpus(tasks, systems, tools, chosen, list(dict.fromkeys(notes)))


def _system(name: str, own: ReadTrials, tasks: dict[str, AgentTask]) -> AgentSystem:
    present = {one.unit for one in own.trials}
    ordered = sorted(own.trials, key=lambda one: (one.unit, one.trial))  # the order of files and lines changes nothing
    missing = tuple(sorted(task for task in tasks if task not in present))
    trials = tuple(_complete_trial(one, tasks[one.unit]) for one in _restore_dots(ordered, tasks))
    return AgentSystem(name, trials, missing, own.format, len(own.skipped))


def _task(trial: Trajectory, *, derived: bool = False) -> AgentTask:
    """What a transcript says of its task; in a gold file the calls that were made are the expected ones."""
    expected = trial.expected
    if expected is None and derived and any(message.calls for message in trial.messages):
        expected = tuple(
            Expected(n.call.tool, {key: (value,) for key, value in n.call.arguments.items()}, turn=n.turn)
            for n in trial.calls()
        )
    is_unusable = any(is_too_deep(value) for call in expected or () for value in call.arguments.values())
    users = tuple(message for message in trial.messages if message.role == "user" and message.text)
    tools = trial.tools if derived else ()
    return AgentTask(trial.unit, None if is_unusable else expected, trial.outputs, tools, users, is_unusable)


def _complete_trial(trial: Trajectory, task: AgentTask) -> Trajectory:
    """A trial with what gold knows: the outputs, and the user's words where the results file has none."""
    empty = [message for message in trial.messages if message.role == "user"]
    messages = trial.messages
    if len(task.messages) == len(empty) and not any(message.text for message in empty):
        users = iter(task.messages)
        messages = tuple(next(users) if message.role == "user" else message for message in messages)
    return msgspec.structs.replace(trial, messages=messages, outputs=trial.outputs or task.outputs)


def _restore_dots(trials: list[Trajectory], tasks: dict[str, AgentTask]) -> list[Trajectory]:
    """Calls under their tools' names, where a whole file writes `math_add` for `math.add`.

    Function calling APIs allow no dots in names, so that results of BFCL come without them.
    """
    if any("." in call.tool for trial in trials for message in trial.messages for call in message.calls):
        return trials
    names = {
        trial.unit: {tool.name.replace(".", "_"): tool.name for tool in tasks[trial.unit].tools if "." in tool.name}
        for trial in trials
    }
    if not any(names.values()):
        return trials

    def rename_calls(message: Message, by: dict[str, str]) -> Message:
        if not message.calls:
            return message
        calls = tuple(msgspec.structs.replace(call, tool=by.get(call.tool, call.tool)) for call in message.calls)
        return msgspec.structs.replace(message, calls=calls)

    return [
        msgspec.structs.replace(
            trial, messages=tuple(rename_calls(message, names[trial.unit]) for message in trial.messages)
        )
        for trial in trials
    ]


def _name_arguments(expected: Expected, toolbox: Toolbox) -> Expected:
    """Arguments that gold gives by position ("0", "1", …), under the names of the tool's parameters."""
    if not any(name.isdigit() for name in expected.arguments):
        return expected
    tool = toolbox.tools.get(expected.tool)
    properties = list((tool.parameters.get("properties") or {}) if tool else {})
    names = {str(index): name for index, name in enumerate(properties)}
    arguments = {names.get(name, name): values for name, values in expected.arguments.items()}
    return msgspec.structs.replace(expected, arguments=arguments)
