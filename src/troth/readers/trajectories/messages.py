"""Messages of all common layouts as records: OpenAI, Anthropic, Gemini, Bedrock, AI SDK, LangChain and others.

A layout is a role, content parts (`parts`), calls and results, in some wrapper (`wrappers`). Text, calls and results
are read, reasoning is left out; anything else is counted by its type in `unread`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.trajectories import Call, Message, Role, Usage
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.trajectories.parts import (
    LONGEST,
    PartContent,
    has_error,
    is_result,
    kind_of,
    read_call,
    read_part,
    text_of,
)
from troth.readers.trajectories.wrappers import unwrap

ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "ai": "assistant", "model": "assistant", "tool": "tool", "function": "tool", "context": "tool",
}  # fmt: skip
RARE_ROLES: dict[str, Role] = {"gpt": "assistant", "chatbot": "assistant", "observation": "tool", "ipython": "tool"}
PLAIN = {"role", "content"}
TOKENS, SECONDS = ("usage", "usage_metadata", "usageMetadata"), ("seconds", "duration", "latency", "response_time")
COSTS = ("cost", "agent_cost", "response_cost")
SPENDING = frozenset((*TOKENS, *SECONDS, *COSTS))
MOST = 1e12  # tokens, seconds or cost of one conversation; larger numbers are ignored
PART_LISTS = ("parts", "blocks", "items", "contents")  # in place of `content`
TEXT_KEYS = ("text", "message", "value", "body")
CALL_LISTS = ("tool_calls", "toolCalls", "invalid_tool_calls")
# Keys of messages that are understood, or that repeat content that is read elsewhere.
KNOWN = frozenset((
    "role", "content", "type", *PART_LISTS, *CALL_LISTS, "function_call", "functionCall", "toolInvocations",
    "tool_call_id", "toolCallId", "tool_name", "toolName", "tool_messages", "function", "tool_call_chunks",
    "additional_kwargs", "response_metadata",
))  # fmt: skip
_CALL_LIKE = re.compile("tool|call|function|invocation|action", re.IGNORECASE)
NOT_CONTENT = frozenset(
    ("metadata", "meta", "usage", "usage_metadata", "annotations", "reasoning", "reasoning_content")
)


def messages(values: Iterable[Any], unread: Counter[str] | None = None) -> tuple[Message, ...]:
    """All messages, in order; errors name the message's position. What is not read is counted in `unread`."""
    unread = Counter() if unread is None else unread
    parsed: list[Message] = []
    for number, value in enumerate(values):
        with error_context(turn=number):
            for message in unwrap(plain.mapping(value, f"message {number}")):
                parsed += _message(message, unread)
    return tuple(parsed)


def _message(value: dict[str, Any], unread: Counter[str]) -> Iterator[Message]:
    if not isinstance(value.get("role"), str) and isinstance(value.get("type"), str):
        yield from _compose(list(read_part(value, unread)))
        return
    role = role_of(value, "the message")
    if role != "tool" and value.keys() == PLAIN and isinstance(value["content"], str):  # most messages
        yield Message(role, value["content"])
        return
    content = _content(value)
    parts = content if isinstance(content, list) else []
    if role == "tool" and not any(is_result(kind_of(part)) for part in parts):
        yield from _results(value, unread)
        _count_keys(value, unread)
        return
    pieces = [piece for part in parts for piece in read_part(part, unread)]
    results = [piece.result for piece in pieces if piece.result is not None]
    parsed_messages: list[Message] = []
    if role == "assistant":
        pieces = pieces if parts else [PartContent(text=text_of(content, unread))]
        parsed_messages = list(_compose(_add_calls(value, pieces, unread))) or [Message("assistant")]
        yield from _add_usage(parsed_messages, usage(value))
    else:
        yield from results  # Anthropic: results are in a user message, before its text
        text = (
            "\n".join(piece.text for piece in pieces if piece.text is not None) if parts else text_of(content, unread)
        )
        if role != "tool" and (text or not results):
            parsed_messages = [Message(role, text, usage=usage(value))]
            yield from parsed_messages
        unread.update(f"call in a {role} message" for piece in pieces if piece.call)
    _count_keys(
        value, unread, is_empty=not results and not any(message.text or message.calls for message in parsed_messages)
    )


def _content(value: dict[str, Any]) -> Any:
    """The content of a message, under any of its usual keys."""
    content = value.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        return content["parts"]
    for key in PART_LISTS if content is None or isinstance(content, str) else ():
        parts = value.get(key)
        # Parts beside a text repeat it (AI SDK 4).
        if isinstance(parts, list) and parts and (not content or (key == "parts" and all(map(kind_of, parts)))):
            return [part.get("message_content", part) if isinstance(part, dict) else part for part in parts]
    return (
        next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), None) if content is None else content
    )


def _add_calls(value: dict[str, Any], pieces: list[PartContent], unread: Counter[str]) -> list[PartContent]:
    """The pieces of an assistant's message, with calls and texts that stand beside its content."""
    further = value.get("additional_kwargs")  # LangChain
    extra = further if isinstance(further, dict) else {}
    if not any(piece.text or piece.call for piece in pieces):
        audio = value.get("audio")
        texts_beside = (
            value.get("refusal"),
            extra.get("refusal"),
            audio.get("transcript") if isinstance(audio, dict) else "",
        )
        text = next((text for text in texts_beside if isinstance(text, str) and text), None)
        pieces = (
            pieces if text is None else [*(piece for piece in pieces if piece.text is None), PartContent(text=text)]
        )
    call_ids = {piece.call.id for piece in pieces if piece.call and piece.call.id}
    calls = list(_calls(value)) or ([] if call_ids else list(_calls(extra)))
    pieces = [*pieces, *(PartContent(call=call) for call in calls if call.id not in call_ids)]
    invocations = value.get("toolInvocations")  # AI SDK 4; its parts, where it has them, repeat these
    if not isinstance(invocations, list) or call_ids:
        return pieces
    steps: list[PartContent] = []
    last: Any = None
    for entry in invocations:
        invocation = plain.mapping(entry, "an entry of 'toolInvocations'")
        if steps and invocation.get("step") != last:
            steps.append(PartContent(ends_step=True))
        last = invocation.get("step")
        steps += read_part({"type": "tool-invocation", "toolInvocation": invocation}, unread)
    return [*steps, *pieces] if all(step.result for step in steps if step.call) else [*pieces, *steps]


def _compose(pieces: list[PartContent]) -> Iterator[Message]:
    """The messages of an assistant's pieces: text and calls, then their results, then the text that follows them."""
    texts: list[str] = []
    calls: list[Call] = []
    results: list[Message] = []
    for piece in (*pieces, PartContent(ends_step=True)):
        is_new_message = piece.ends_step or piece.text is not None or (piece.call is not None and piece.result is None)
        if results and is_new_message:
            yield from [Message("assistant", "\n".join(texts), tuple(calls))] if texts or calls else []
            yield from results
            texts, calls, results = [], [], []
        texts += [] if piece.text is None else [piece.text]
        calls += [] if piece.call is None else [piece.call]
        results += [] if piece.result is None else [piece.result]
    if any(texts) or calls:
        yield Message("assistant", "\n".join(texts), tuple(calls))


def _add_usage(parsed_messages: list[Message], spent: Usage | None) -> Iterator[Message]:
    last = max((index for index, message in enumerate(parsed_messages) if message.role == "assistant"), default=-1)
    for index, message in enumerate(parsed_messages):
        yield Message("assistant", message.text, message.calls, usage=spent) if index == last else message


def role_of(value: dict[str, Any], what: str) -> Role:
    """The role of a message; `what` names the message in errors."""
    name = plain.text_of(value, "role", what)
    role = ROLES.get(name.lower()) or RARE_ROLES.get(name.lower())
    if role is None:
        raise UserError(f"role '{name[:40]}' is not known", hint="known: " + ", ".join(ROLES))
    return role


def _results(value: dict[str, Any], unread: Counter[str]) -> Iterator[Message]:
    parallel_results = value.get("tool_messages")
    if isinstance(parallel_results, list):  # τ²-bench: results of parallel calls in one message
        for result in parallel_results:
            yield from _results(plain.mapping(result, "a result"), unread)
        return
    if value.get("requestor") == "user":  # τ²-bench: the user's own tools, which the assistant does not see
        return
    further = value.get("additional_kwargs")  # LlamaIndex
    holders = (value, further) if isinstance(further, dict) else (value,)
    id = next((holder[key] for holder in holders for key in ("tool_call_id", "toolCallId") if holder.get(key)), None)
    id = id or (value.get("id") if "requestor" in value else None) or ""
    tool = next((value[key] for key in ("name", "tool_name", "function") if isinstance(value.get(key), str)), "")
    yield Message("tool", text_of(_content(value), unread), (), str(id), tool, has_error(value))


def _calls(value: dict[str, Any]) -> Iterator[Call]:
    for key in CALL_LISTS:
        for item in plain.sequence(value[key], f"'{key}'") if value.get(key) else ():
            yield read_call(plain.mapping(item, f"an entry of '{key}'"))
    for key in ("function_call", "functionCall"):
        if isinstance(value.get(key), dict):
            yield read_call(value[key])


def _count_keys(value: dict[str, Any], unread: Counter[str], *, is_empty: bool = False) -> None:
    """Counts keys that may contain calls or, if nothing was read from the message, its content."""
    for key in value.keys() - KNOWN:
        content = value[key]
        if not content or not isinstance(content, list | dict):
            continue
        if _CALL_LIKE.search(key) or (is_empty and key not in NOT_CONTENT):
            unread[f"key {key[:LONGEST]}"] += 1


def usage(value: dict[str, Any]) -> Usage | None:
    """The usage that a message or a conversation reports, under any of the usual names."""
    if SPENDING.isdisjoint(value):
        return None
    tokens = next((value[key] for key in TOKENS if value.get(key)), None)
    reported = tokens if isinstance(tokens, dict) else {}
    numbers = (
        _number(reported, "input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount", "input"),
        _number(reported, "output_tokens", "completion_tokens", "outputTokens", "candidatesTokenCount", "output"),
        _number(value, *SECONDS),
        _number(value, *COSTS),
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
