"""Replays the users' turns of recorded conversations to an assistant; recorded results answer its calls.

A call is answered by the result that was recorded for the same tool and arguments: in the conversation that is
replayed, else in another trial of the same task; the n-th equal call gets the n-th such result. What was not recorded
is answered with a sentence that says so, and counted. Users say what they said, whatever the assistant answers: that a
user would have reacted otherwise is a known limit of replaying.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from troth.agents.live.endpoint import Chat, Reply
from troth.agents.tools import normalize_numbers
from troth.core.trajectories import Call, Expected, Message, Trajectory
from troth.perturb.schemas import calls as renamed_calls
from troth.perturb.schemas import mentions
from troth.perturb.schemas.calls import FunctionNames
from troth.readers.trajectories import chat
from troth.text.normalize import compose

STOP = "###STOP###"  # τ-bench: the user ends the conversation
NOT_RECORDED = "No result of this call was recorded."
NO_OBJECT = "The arguments of this call are not a JSON object."

Ask = Callable[[Chat], Reply]  # the next message of a conversation


class ToolWording(msgspec.Struct, frozen=True):
    """Tools as an assistant gets them, and how their calls are brought back to the original names."""

    name: str
    tools: tuple[dict[str, Any], ...]  # in OpenAI's layout
    names: dict[str, FunctionNames] = {}  # {}: these are the original names


class Recording(msgspec.Struct, frozen=True):
    """What is replayed of a task: what stands before the user's first turn, the user's turns, and recorded results."""

    task: str
    opening: tuple[Message, ...]
    users: tuple[str, ...]
    results: tuple[dict[str, list[str]], ...]  # by `call_key`: of the conversation itself, then of the other trials
    expected: tuple[Expected, ...] | None = None
    outputs: tuple[str, ...] = ()
    recorded: tuple[Call, ...] = ()  # the calls of the conversation itself

    def result(self, call: Call, before: int) -> str | None:
        """The recorded result of a call that was made `before` times before; None if there is none."""
        for results in self.results:
            if listed := results.get(call_key(call)):
                return listed[min(before, len(listed) - 1)]
        return None


class Replayed(msgspec.Struct, frozen=True):
    """A conversation with an assistant, its calls under the original names, and what was not as recorded."""

    trajectory: Trajectory
    unrecorded: int = 0  # calls without a recorded result
    cut: int = 0  # turns in which the assistant went on calling until it was stopped


def make_recordings(trajectories: Iterable[Trajectory]) -> list[Recording]:
    """One recording per task, in order: of its trials the one with the highest reward, the first of equals."""
    trials: dict[str, list[Trajectory]] = {}
    for trial in trajectories:
        trials.setdefault(trial.unit, []).append(trial)
    return [_recording(task, listed) for task, listed in trials.items()]


def _recording(task: str, trials: Sequence[Trajectory]) -> Recording:
    best = max(trials, key=lambda trial: (trial.reward or 0.0, -trial.trial))
    first = next((index for index, message in enumerate(best.messages) if message.role == "user"), 0)
    opening = tuple(message for message in best.messages[:first] if message.role in ("system", "assistant"))
    others: dict[str, list[str]] = {}
    for trial in trials:
        if trial is not best:
            _collect(trial, others)
    return Recording(
        task,
        opening,
        tuple(text for text in best.users() if STOP not in text),
        (_collect(best, {}), others),
        best.expected,
        best.outputs,
        tuple(trial.call for trial in best.calls()),
    )


def _collect(trajectory: Trajectory, results: dict[str, list[str]]) -> dict[str, list[str]]:
    for numbered in trajectory.calls():
        if numbered.result is not None:
            results.setdefault(call_key(numbered.call), []).append(trajectory.messages[numbered.result].text)
    return results


def call_key(call: Call) -> str:
    """What two calls share that are the same: the tool and its arguments. null is absent, and 1.0 is 1."""
    present = {name: value for name, value in call.arguments.items() if value is not None}
    return f"{call.tool} {msgspec.json.encode(compose(normalize_numbers(present)), order='sorted').decode()}"


def replay(
    recording: Recording, users: Sequence[str], wording: ToolWording, ask: Ask, *, trial: int, steps: int
) -> Replayed:
    """Replays the users' turns to an assistant. `steps`: maximum number of its messages per turn."""
    conversation = _Conversation(recording, wording)
    for user in users:
        conversation.add_user(user)
        for step in range(steps):
            calls = conversation.add_reply(ask(conversation.sent))
            if not calls:
                break
            conversation.cut += step == steps - 1
    trajectory = Trajectory(
        f"{recording.task}/{trial}", tuple(conversation.messages), recording.task, trial,
        expected=recording.expected, outputs=recording.outputs,
    )  # fmt: skip
    return Replayed(trajectory, conversation.unrecorded, conversation.cut)


class _Conversation:
    """A conversation twice: as the assistant sees it, and under the original names."""

    def __init__(self, recording: Recording, wording: ToolWording) -> None:
        self.recording, self.wording = recording, wording
        functions = {function.name: new for new, function in wording.names.items() if function.name != new}
        self.messages = list(recording.opening)
        self.sent = [
            {"role": message.role, "content": mentions.replace_names(message.text, functions)}
            for message in recording.opening
        ]
        self.made: Counter[str] = Counter()
        self.unrecorded = self.cut = 0

    def add_user(self, user: str) -> None:
        self.messages.append(Message("user", user))
        self.sent.append({"role": "user", "content": user})

    def add_reply(self, reply: Reply) -> int:
        """Adds an answer and the results of its calls; returns how many calls it has."""
        message = reply.read()
        first = sum(len(known.calls) for known in self.messages)
        calls = [
            msgspec.structs.replace(call, id=call.id or f"call_{first + index}")
            for index, call in enumerate(message.calls)
        ]
        as_sent = msgspec.structs.replace(message, calls=tuple(calls), usage=None)
        self.sent.append(chat.message_row(as_sent))
        original = tuple(self._original(call) for call in calls)
        self.messages.append(msgspec.structs.replace(message, calls=original))
        for sent, call in zip(calls, original, strict=True):
            result = self._result(call)
            self.messages.append(Message("tool", result, call_id=call.id, tool=call.tool))
            self.sent.append({"role": "tool", "tool_call_id": sent.id, "name": sent.tool, "content": result})
        return len(calls)

    def _original(self, call: Call) -> Call:
        name, arguments = renamed_calls.original(self.wording.names, call.tool, call.arguments)
        return msgspec.structs.replace(call, tool=name, arguments=arguments)

    def _result(self, call: Call) -> str:
        if call.broken is not None:
            return NO_OBJECT
        key = call_key(call)
        result = self.recording.result(call, self.made[key])
        self.made[key] += 1
        self.unrecorded += result is None
        return NOT_RECORDED if result is None else result


def openai_tools(definitions: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Functions with `name`, `description` and `parameters` as OpenAI's chat takes them."""
    return tuple({"type": "function", "function": dict(function)} for function in definitions)
