"""Records of assistants that call tools: tools, messages, calls, and the calls that gold expects.

Every transcript format is read into these (`troth.readers.trajectories`), every list of tools into `Tool`
(`troth.readers.tools`). Text in them comes from users, models and tools, and is never trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

Role = Literal["system", "user", "assistant", "tool"]


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function that an assistant can call."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}  # JSON Schema of the arguments as the file has it; {}: nothing is said of them
    writes: bool | None = None  # whether a call changes anything; None: the definition does not say


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of a tool as the assistant wrote it."""

    tool: str
    arguments: dict[str, Any] = {}
    id: str = ""  # "": the transcript gives none. Ids may repeat within a transcript.
    broken: str | None = None  # the arguments as text, where they are not a JSON object


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a message, or a whole trajectory, has cost; None: not recorded."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None  # in the currency of the file


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message: text, calls made with it, or (role `tool`) the result of a call."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()  # of an assistant, in the order in which it wrote them
    call_id: str = ""  # of a result: the id of the call that it answers
    tool: str = ""  # of a result: the tool that was called, where the transcript says so
    error: bool = False  # of a result: the transcript marks it as an error
    usage: Usage | None = None


class Expected(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that gold expects: for each argument, the values that are accepted."""

    tool: str
    arguments: dict[str, tuple[Any, ...]] = {}
    optional: frozenset[str] = frozenset()  # arguments that may be left out
    turn: int | None = None  # the user turn, from 0, after which it is expected; None: anywhere
    nested: bool = False  # inside objects, too, every value is a list of accepted ones (BFCL)
    open: bool = False  # arguments that are not named here may have any value (τ²-bench: `compare_args`)


class LocatedCall(NamedTuple):
    """A call, the message that made it, the user turn that it follows (from 0), and the message with its result."""

    call: Call
    message: int
    turn: int
    result: int | None  # None: no result is recorded
    number: int  # its position among all calls of the trajectory, from 0


class Trajectory(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation of an assistant with tools: one trial of one task."""

    id: str  # unique in the file: `12` or, where there are several trials, `12/3`
    messages: tuple[Message, ...]
    task: str = ""  # trials of one task share it; "": the trajectory's own id
    trial: int = 0
    tools: tuple[Tool, ...] = ()  # where the transcript has them
    expected: tuple[Expected, ...] | None = None  # gold calls where the file has them; (): gold expects no call
    outputs: tuple[str, ...] = ()  # texts that gold expects somewhere in the assistant's answers (τ-bench)
    reward: float | None = None  # as the benchmark scored it; 1 is success
    usage: Usage | None = None  # of the whole, where it is not given by message
    unread: dict[str, int] = {}  # blocks, parts and keys that were not understood, by type
    rows: int = 1  # rows of a log, one per model call, that were joined into this conversation

    @property
    def unit(self) -> str:
        """The task that this is a trial of."""
        return self.task or self.id

    def users(self) -> list[str]:
        """What the user said, in order."""
        return [message.text for message in self.messages if message.role == "user"]

    def calls(self) -> Iterator[LocatedCall]:
        """Every call in order, with its user turn and the message that holds its result.

        A result belongs to the first unanswered call of the same id or, without an id, to the first unanswered call
        of the same tool (of any, where the tool is not named), those without an id first. Calls before the first user
        message belong to turn 0.
        """
        answers = self._answers()
        turn = -1
        number = 0
        for index, message in enumerate(self.messages):
            turn += message.role == "user"
            for call in message.calls:
                yield LocatedCall(call, index, max(turn, 0), answers.get(number), number)
                number += 1

    def _answers(self) -> dict[int, int]:
        """Position of a call among all calls, to the index of the message with its result."""
        waiting: dict[int, Call] = {}
        answers: dict[int, int] = {}
        position = 0
        for index, message in enumerate(self.messages):
            for call in message.calls:
                waiting[position] = call
                position += 1
            if message.role == "tool":
                chosen = _find_waiting_call(waiting, message)
                if chosen is not None:
                    answers[chosen] = index
                    del waiting[chosen]
        return answers


def _find_waiting_call(waiting: dict[int, Call], result: Message) -> int | None:
    """The waiting call that a result belongs to."""
    if result.call_id:
        return next((position for position, call in waiting.items() if call.id == result.call_id), None)
    same = [position for position, call in waiting.items() if not result.tool or call.tool == result.tool]
    return next((position for position in same if not waiting[position].id), next(iter(same), None))
