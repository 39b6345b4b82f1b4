"""Chat transcripts with calls of tools (OpenAI, Responses items, Anthropic, Gemini, Bedrock), alone or with their task.

    {"id": "c1", "task": "refund", "trial": 0, "messages": [
      {"role": "user", "content": "Cancel order 7."},
      {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "cancel", "arguments": "{\\"id\\": 7}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "done"},
      {"role": "assistant", "content": "Order 7 is cancelled."}],
     "tools": […], "expected": [{"name": "cancel", "arguments": {"id": 7}, "turn": 0}], "reward": 1.0}

One conversation per line, a list of conversations, or a single one; a list of messages is a conversation, too. Only the
messages are required. They may be under `messages`, or under `input` and `output` as in a logged request of the
Responses API, or under `contents` as in Gemini's. A logged request of Anthropic's, Gemini's or Bedrock's has its system
instructions beside them. A logged `response` (a text, a message, or the whole answer of one of these servers) is added
after the messages, unless it is already the last of them. Trials of one task have the same `task`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.trajectories import Expected, Message, Tool, Trajectory
from troth.readers import plain, tools
from troth.readers.decode import decode_unique, error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.items import first_item, items
from troth.readers.trajectories.messages import is_message, messages, name_of, text_of, trial_number, usage
from troth.readers.trajectories.tau import reward

FORMAT = Format(
    name="chat", about="chat messages with tool calls: OpenAI, Responses items, Anthropic, Gemini, Bedrock",
    writes=True, ending=".jsonl",
)  # fmt: skip
SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
HOLDERS = ("messages", "contents", "input", "output")


def detect(document: Document) -> bool:
    row = first_item(document)
    if is_message(row) or (isinstance(row, list) and row and is_message(row[0])):
        return True
    return isinstance(row, dict) and any(isinstance(row.get(key), list) for key in HOLDERS)


def read(document: Document) -> Iterator[Trajectory]:
    for number, value in enumerate(_conversations(document)):
        keys = value if isinstance(value, dict) else {"messages": value}
        default = str(number) if keys.get("task") is None else f"{keys['task']}/{keys.get('trial', 0)}"
        id = name_of(keys.get("id", keys.get("conversation_id")), default)
        with error_context(dialogue=id):
            yield _trajectory(id, keys)


def write(trajectories: Iterable[Trajectory], out: BinaryIO) -> None:
    """One conversation per line, in OpenAI's layout."""
    plain.write_lines(map(to_row, trajectories), out)


def to_row(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory as a line of this format; reading it gives the same trajectory."""
    row: dict[str, Any] = {"id": trajectory.id}
    row |= {"task": trajectory.task, "trial": trajectory.trial} if trajectory.task else {}
    row["messages"] = [message_row(message) for message in trajectory.messages]
    if trajectory.tools:
        row["tools"] = [{"type": "function", "function": _tool_row(tool)} for tool in trajectory.tools]
    if trajectory.expected is not None:
        row["expected"] = [msgspec.to_builtins(expected) for expected in trajectory.expected]
    row |= {"outputs": list(trajectory.outputs)} if trajectory.outputs else {}
    row |= {} if trajectory.reward is None else {"reward": trajectory.reward}
    return row | _usage_row(trajectory)


def _conversations(document: Document) -> Iterator[Any]:
    head = first_item(document)
    if is_message(head):
        if document.starts(b"["):
            yield decode_unique(document, list[Any])
            return
        raise UserError("is a single message", hint="a conversation is a list of messages")
    for value in items(document):
        if not isinstance(value, list | dict):
            raise UserError("a conversation is neither an object nor a list")
        yield value


def _trajectory(id: str, keys: dict[str, Any]) -> Trajectory:
    values = [message for key in HOLDERS for message in _message_list(keys.get(key), key)]
    if not any(isinstance(keys.get(key), list | str) for key in HOLDERS):
        raise UserError("the conversation has no 'messages'")
    system = text_of(next((keys[key] for key in SYSTEM if keys.get(key)), None))
    before = (Message("system", system),) if system else ()
    history, answer = messages(values), messages(_response(keys.get("response")))
    return Trajectory(
        id,
        (*before, *history, *(answer if history[-len(answer) :] != answer else ())),
        name_of(keys.get("task", keys.get("task_id")), ""),
        trial_number(keys.get("trial")),
        tuple(tools.read(keys["tools"])) if keys.get("tools") and tools.definitions(keys["tools"]) else (),
        _expected(keys.get("expected")),
        tuple(plain.text(output, "an output") for output in plain.sequence(keys.get("outputs") or [], "'outputs'")),
        reward(keys.get("reward")),
        usage(keys),
    )


def _message_list(value: Any, key: str) -> list[Any]:
    if value is None:
        return []
    return [{"role": "user", "content": value}] if isinstance(value, str) else plain.sequence(value, f"'{key}'")


def _response(value: Any) -> list[Any]:
    """The messages of a logged response: a text, a message, or an answer of OpenAI, Anthropic, Gemini or Bedrock."""
    if value is None:
        return []
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}]
    inside: Any = value
    if isinstance(value, dict):
        for key, inner in (("choices", "message"), ("candidates", "content")):
            if isinstance(value.get(key), list) and value[key] and isinstance(value[key][0], dict):
                inside = value[key][0].get(inner)
        if "output" in value:
            output = value["output"]
            inside = output.get("message") if isinstance(output, dict) else output
    values = inside if isinstance(inside, list) else [inside]
    if not values or not all(map(is_message, values)):
        raise UserError("the 'response' is not a message", hint="a text, a message, or a server's whole answer")
    return values


def _expected(value: Any) -> tuple[Expected, ...] | None:
    """Gold calls: as `to_row` writes them, or with one plain value per argument."""
    if value is None:
        return None
    expected: list[Expected] = []
    for item in plain.sequence(value, "'expected'"):
        row = plain.mapping(item, "an expected call")
        if "tool" in row:
            with reading(None, "not an expected call"):
                expected.append(msgspec.convert(row, Expected))
            continue
        arguments = plain.mapping(row.get("arguments") or {}, "'arguments'")
        turn = None if row.get("turn") is None else plain.whole_number(row["turn"], "'turn'")
        name = plain.text_of(row, "name", "an expected call")
        expected.append(Expected(name, {key: (value,) for key, value in arguments.items()}, turn=turn))
    return tuple(expected)


def message_row(message: Message) -> dict[str, Any]:
    """A message in OpenAI's layout."""
    row: dict[str, Any] = {"role": message.role, "content": message.text}
    for call in message.calls:
        arguments = msgspec.json.encode(call.arguments).decode() if call.broken is None else call.broken
        function = {"name": call.tool, "arguments": arguments}
        row.setdefault("tool_calls", []).append({"id": call.id, "type": "function", "function": function})
    row |= {"tool_call_id": message.call_id} if message.call_id else {}
    row |= {"name": message.tool} if message.tool else {}
    row |= {"error": True} if message.error else {}
    return row | _usage_row(message)


def _tool_row(tool: Tool) -> dict[str, Any]:
    row = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return row if tool.writes is None else row | {"annotations": {"readOnlyHint": not tool.writes}}


def _usage_row(item: Trajectory | Message) -> dict[str, Any]:
    values = {} if item.usage is None else msgspec.structs.asdict(item.usage)
    rest = {name: value for name, value in values.items() if value is not None}
    tokens = {name: rest.pop(name) for name in ("input_tokens", "output_tokens") if name in rest}
    return ({"usage": tokens} if tokens else {}) | rest
