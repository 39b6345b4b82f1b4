"""Messages in the layouts of OpenAI (chat and Responses items), Anthropic, Gemini, Bedrock, τ-bench and τ²-bench.

Only text, calls and results are read; other content of messages (images, reasoning, annotations) is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from troth.core.decode import DECODING_ERRORS, TOO_DEEP, is_too_deep
from troth.core.errors import UserError
from troth.core.trajectories import Call, Message, Role, Usage
from troth.readers import plain
from troth.readers.decode import error_context, has_duplicate_key
from troth.readers.trajectories.blocks import blocks

ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "ai": "assistant", "model": "assistant", "tool": "tool", "function": "tool", "context": "tool",
}  # fmt: skip
MOST = 1e12  # tokens, seconds or cost of one conversation; larger numbers are ignored
TEXTS = ("text", "input_text", "output_text", "refusal")
# Items of the Responses API that are neither text nor calls of functions.
IGNORED = (
    "reasoning", "item_reference", "web_search_call", "file_search_call", "computer_call", "image_generation_call",
    "code_interpreter_call", "mcp_list_tools",
)  # fmt: skip


def is_message(value: Any) -> bool:
    """Whether a value looks like a message or an item of the Responses API."""
    kinds = ("function_call", "function_call_output", *IGNORED)
    return isinstance(value, dict) and (isinstance(value.get("role"), str) or value.get("type") in kinds)


def messages(values: Iterable[Any]) -> tuple[Message, ...]:
    """All messages, in order; errors name the message's position."""
    parsed: list[Message] = []
    for number, value in enumerate(values):
        with error_context(turn=number):
            parsed += _message(plain.mapping(value, f"message {number}"))
    return tuple(parsed)


def _message(value: dict[str, Any]) -> Iterator[Message]:
    kind = value.get("type")
    if kind in IGNORED:
        return
    if kind in ("function_call", "mcp_call", "custom_tool_call"):
        id = value.get("call_id") or value.get("id") or ""
        yield Message("assistant", calls=(call(value.get("name"), _arguments(value), id),))
        if kind == "mcp_call" and value.get("output") is not None:
            yield Message("tool", text_of(value["output"]), call_id=str(id), error=value.get("error") is not None)
        return
    if kind in ("function_call_output", "custom_tool_call_output"):
        yield Message("tool", text_of(value.get("output")), call_id=str(value.get("call_id") or ""))
        return
    role = role_of(value, "the message")
    content = blocks(value.get("content", value.get("parts")))
    parts = content if isinstance(content, list) else []
    results = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
    if role == "tool" and not results:
        yield from _results(value)
        return
    for part in results:  # Anthropic: results are in a user message, before its text
        id, tool = (str(part.get(key) or "") for key in ("tool_use_id", "name"))
        yield Message("tool", text_of(part.get("content")), (), id, tool, part.get("is_error") is True)
    if role == "tool":
        return
    text, calls = text_of(content), tuple(_calls(value, parts)) if role == "assistant" else ()
    if text or calls or not results:
        yield Message(role, text, calls, usage=usage(value))


def role_of(value: dict[str, Any], what: str) -> Role:
    """The role of a message; `what` names the message in errors."""
    name = plain.text_of(value, "role", what)
    role = ROLES.get(name)
    if role is None:
        raise UserError(f"role '{name[:40]}' is not known", hint="known: " + ", ".join(ROLES))
    return role


def _results(value: dict[str, Any]) -> Iterator[Message]:
    several = value.get("tool_messages")
    if isinstance(several, list):  # τ²-bench: results of parallel calls in one message
        for result in several:
            yield from _results(plain.mapping(result, "a result"))
        return
    if value.get("requestor") == "user":  # τ²-bench: the user's own tools, which the assistant does not see
        return
    id = value.get("tool_call_id") or (value.get("id") if "requestor" in value else None) or ""
    tool = value.get("name") or ""
    yield Message("tool", text_of(value.get("content")), (), str(id), str(tool), value.get("error") is True)


def _calls(value: dict[str, Any], parts: list[Any]) -> Iterator[Call]:
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_use":
            yield call(part.get("name"), part.get("input"), part.get("id"))
    tool_calls = value.get("tool_calls")
    for item in plain.sequence(tool_calls, "'tool_calls'") if tool_calls else ():
        entry = plain.mapping(item, "an entry of 'tool_calls'")
        inner = entry.get("function")
        function = inner if isinstance(inner, dict) else entry
        yield call(function.get("name"), _arguments(function), entry.get("id"))
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        yield call(legacy.get("name"), _arguments(legacy), None)


def _arguments(function: dict[str, Any]) -> Any:
    return next((function[key] for key in ("arguments", "args", "input", "kwargs") if key in function), {})


def call(name: object, arguments: object, id: object = None) -> Call:
    """A call from its name and its arguments, which may be an object or JSON text."""
    tool = plain.text(name, "the name of a called function")
    broken: str | None = None
    if isinstance(arguments, str):
        text = arguments
        try:
            arguments = msgspec.json.decode(text) if text.strip() else {}
            if has_duplicate_key(text.encode(), arguments):  # ambiguous
                arguments, broken = {}, text
        except DECODING_ERRORS:
            arguments, broken = {}, text
    if arguments is None:
        arguments = {}
    if is_too_deep(arguments):
        broken, arguments = TOO_DEEP, {}
    if not isinstance(arguments, dict):
        broken, arguments = msgspec.json.encode(arguments).decode(), {}
    return Call(tool, arguments, "" if id is None else str(id), broken)


def text_of(content: object) -> str:
    """The text of a message's content: a text, the joined text parts, or another value as JSON."""
    content = blocks(content)
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) and "type" in part for part in content):
        texts = [part.get("text") for part in content if part["type"] in TEXTS]
        return "\n".join(text for text in texts if isinstance(text, str))
    return msgspec.json.encode(content).decode()


def usage(value: dict[str, Any]) -> Usage | None:
    """The usage that a message or a conversation reports, under any of the usual names."""
    tokens = value.get("usage")
    reported = tokens if isinstance(tokens, dict) else {}
    numbers = (
        _number(reported, "input_tokens", "prompt_tokens"),
        _number(reported, "output_tokens", "completion_tokens"),
        _number(value, "seconds", "duration", "latency"),
        _number(value, "cost", "agent_cost"),
    )
    if all(number is None for number in numbers):
        return None
    counts = [None if number is None else round(number) for number in numbers[:2]]
    return Usage(counts[0], counts[1], numbers[2], numbers[3])


def _number(value: dict[str, Any], *names: str) -> float | None:
    numbers = (value.get(name) for name in names)
    return next((n for n in numbers if isinstance(n, int | float) and not isinstance(n, bool) and 0 <= n < MOST), None)


def trial_number(value: object, default: int = 0) -> int:
    """The number of a trial; the default if there is none."""
    return default if value is None else plain.whole_number(value, "'trial'")


def name_of(value: object, default: str) -> str:
    """An id as text; files have ids as text or as numbers."""
    if value is None:
        return default
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else plain.text(value, "an id")
