"""Chat transcripts with calls of tools (OpenAI, Responses items, Anthropic, Gemini, Bedrock), alone or with their task.

    {"id": "c1", "task": "refund", "trial": 0, "messages": [
      {"role": "user", "content": "Cancel order 7."},
      {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "cancel", "arguments": "{\\"id\\": 7}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "done"},
      {"role": "assistant", "content": "Order 7 is cancelled."}],
     "tools": […], "expected": [{"name": "cancel", "arguments": {"id": 7}, "turn": 0}], "reward": 1.0}

One conversation per line, a list of conversations, or a single one; a list of messages is a conversation, too. Only the
messages are needed. They may stand under `messages`, or under `input` and `output` as in a logged request of the
Responses API, or under `contents` as in Gemini's. A logged request of Anthropic's, Gemini's or Bedrock's has its
system's instructions beside them. What was logged as the `response` (a text, a message, or the whole answer of one of
these servers) comes after the messages, where it is not already the last of them. Trials of one task have the same
`task`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from troth.core.errors import UserError
from troth.core.trajectories import Expected, Message, Tool, Trajectory
from troth.readers import plain, tools
from troth.readers.decode import unique, where
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.items import first, items
from troth.readers.trajectories.messages import is_message, messages, name_of, text_of, usage, whole_number
from troth.readers.trajectories.tau import reward

FORMAT = Format(
    name="chat", about="chat messages with tool calls: OpenAI, Responses items, Anthropic, Gemini, Bedrock",
    writes=True, ending=".jsonl",
)  # fmt: skip
SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
HOLDERS = ("messages", "contents", "input", "output")


def detect(document: Document) -> bool:
    row = first(document)
    if is_message(row) or (isinstance(row, list) and row and is_message(row[0])):
        return True
    return isinstance(row, dict) and any(isinstance(row.get(key), list) for key in HOLDERS)


def read(document: Document) -> Iterator[Trajectory]:
    for number, value in enumerate(_conversations(document)):
        keys = value if isinstance(value, dict) else {"messages": value}
        default = str(number) if keys.get("task") is None else f"{keys['task']}/{keys.get('trial', 0)}"
        id = name_of(keys.get("id", keys.get("conversation_id")), default)
        with where(dialogue=id):
            yield _trajectory(id, keys)


def write(trajectories: Iterable[Trajectory], out: BinaryIO) -> None:
    """One conversation per line, in OpenAI's layout."""
    plain.write_lines(map(written, trajectories), out)


def written(one: Trajectory) -> dict[str, Any]:
    """A trajectory as a line of this format; reading it gives the trajectory back."""
    row: dict[str, Any] = {"id": one.id}
    row |= {"task": one.task, "trial": one.trial} if one.task else {}
    row["messages"] = [written_message(message) for message in one.messages]
    if one.tools:
        row["tools"] = [{"type": "function", "function": _written_tool(tool)} for tool in one.tools]
    if one.expected is not None:
        row["expected"] = [msgspec.to_builtins(expected) for expected in one.expected]
    row |= {"outputs": list(one.outputs)} if one.outputs else {}
    row |= {} if one.reward is None else {"reward": one.reward}
    return row | _written_usage(one)


def _conversations(document: Document) -> Iterator[Any]:
    head = first(document)
    if is_message(head):
        if document.starts(b"["):
            yield unique(document, list[Any])
            return
        raise UserError("is a single message", hint="a conversation is a list of messages")
    for value in items(document):
        if not isinstance(value, list | dict):
            raise UserError("a conversation is neither an object nor a list")
        yield value


def _trajectory(id: str, keys: dict[str, Any]) -> Trajectory:
    listed = [message for key in HOLDERS for message in _listed(keys.get(key), key)]
    if not any(isinstance(keys.get(key), list | str) for key in HOLDERS):
        raise UserError("the conversation has no 'messages'")
    system = text_of(next((keys[key] for key in SYSTEM if keys.get(key)), None))
    before = (Message("system", system),) if system else ()
    said, answer = messages(listed), messages(_response(keys.get("response")))
    return Trajectory(
        id,
        (*before, *said, *(answer if said[-len(answer) :] != answer else ())),
        name_of(keys.get("task", keys.get("task_id")), ""),
        whole_number(keys.get("trial")),
        tuple(_tools(keys.get("tools"))),
        _expected(keys.get("expected")),
        tuple(plain.text(one, "an output") for one in plain.sequence(keys.get("outputs") or [], "'outputs'")),
        reward(keys.get("reward")),
        usage(keys),
    )


def _listed(value: Any, key: str) -> list[Any]:
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
    found = inside if isinstance(inside, list) else [inside]
    if not found or not all(is_message(one) for one in found):
        raise UserError("the 'response' is no message", hint="a text, a message, or a server's whole answer")
    return found


def _tools(value: Any) -> list[Tool]:
    return tools.read(value) if value and tools.definitions(value) else []


def _expected(value: Any) -> tuple[Expected, ...] | None:
    """Gold calls: as `written` has them, or with one plain value for each argument."""
    if value is None:
        return None
    expected: list[Expected] = []
    for item in plain.sequence(value, "'expected'"):
        row = plain.mapping(item, "an expected call")
        if "tool" in row:
            try:
                expected.append(msgspec.convert(row, Expected))
            except msgspec.ValidationError as error:
                raise UserError(f"an expected call does not fit: {error}") from error
            continue
        arguments = plain.mapping(row.get("arguments") or {}, "'arguments'")
        turn = None if row.get("turn") is None else plain.whole(row["turn"], "'turn'")
        name = plain.text_of(row, "name", "an expected call")
        expected.append(Expected(name, {key: (one,) for key, one in arguments.items()}, turn=turn))
    return tuple(expected)


def written_message(message: Message) -> dict[str, Any]:
    """A message in OpenAI's layout."""
    row: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        row["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.tool,
                    "arguments": msgspec.json.encode(call.arguments).decode() if call.broken is None else call.broken,
                },
            }
            for call in message.calls
        ]
    row |= {"tool_call_id": message.call_id} if message.call_id else {}
    row |= {"name": message.tool} if message.tool else {}
    row |= {"error": True} if message.error else {}
    return row | _written_usage(message)


def _written_tool(tool: Tool) -> dict[str, Any]:
    row = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return row if tool.writes is None else row | {"annotations": {"readOnlyHint": not tool.writes}}


def _written_usage(one: Trajectory | Message) -> dict[str, Any]:
    spent = one.usage
    if spent is None:
        return {}
    counts = {"input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens}
    tokens = {name: count for name, count in counts.items() if count is not None}
    row: dict[str, Any] = {"usage": tokens} if tokens else {}
    further = {"seconds": spent.seconds, "cost": spent.cost}
    return row | {name: value for name, value in further.items() if value is not None}
