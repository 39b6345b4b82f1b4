"""Attributes of spans as exchanges: the names of OpenTelemetry GenAI, OpenLLMetry, OpenInference, AI SDK and others.

Messages are one JSON value (`gen_ai.input.messages`), numbered attributes (`gen_ai.prompt.0.content`,
`llm.input_messages.0.message.role`), or events (`gen_ai.user.message`, `gen_ai.choice`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from troth.readers.trajectories.nested import look_up, nest, parse_json
from troth.readers.trajectories.rows import Exchange, answer_messages
from troth.readers.trajectories.wrappers import EVENTS

HISTORY = ("gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "ai.prompt.messages",
           "mlflow.chat.messages", "pydantic_ai.all_messages", "all_messages_events", "events")  # fmt: skip
ANSWER = ("gen_ai.output.messages", "gen_ai.completion", "llm.output_messages")
WHOLE = ("ai.prompt", "input.value", "traceloop.entity.input", "mlflow.spanInputs")  # a request as JSON
RESULTS = ("output.value", "traceloop.entity.output", "mlflow.spanOutputs")
SYSTEM = ("gen_ai.system_instructions", "ai.prompt.system")
TOOLS = ("gen_ai.tool.definitions", "llm.tools", "llm.request.functions", "ai.prompt.tools", "mlflow.chat.tools")
SESSIONS = ("gen_ai.conversation.id", "session.id", "langfuse.session.id",
            "traceloop.association.properties.session_id",
            "ai.telemetry.metadata.sessionId", "mlflow.trace.session")  # fmt: skip
INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
                "ai.usage.promptTokens", "ai.usage.inputTokens")  # fmt: skip
OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
                 "ai.usage.completionTokens", "ai.usage.outputTokens")  # fmt: skip
OPERATIONS = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "span_kind")
# Attributes of other names that may contain messages: their first two words.
_MESSAGE_LIKE = re.compile(
    r"(?:gen_ai|llm|ai)\.[a-z_]*(?:message|prompt|completion|tool_?call)s?(?![a-z])", re.IGNORECASE
)


class _Execution(NamedTuple):
    """The names of the attributes of an executed tool; `kind`: the span must be of this kind."""

    name: str
    id: str
    arguments: str
    result: str
    kind: str = ""


EXECUTIONS = (
    _Execution("gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
    _Execution("ai.toolCall.name", "ai.toolCall.id", "ai.toolCall.args", "ai.toolCall.result"),
    _Execution("tool.name", "tool_call.id", "input.value", "output.value", "tool"),
    _Execution("traceloop.entity.name", "", "traceloop.entity.input", "traceloop.entity.output", "tool"),
)


def operation(attributes: Mapping[str, Any]) -> str:
    """What a span does: `chat`, `llm`, `tool`, `invoke_agent`, …"""
    return str(next((attributes[key] for key in OPERATIONS if attributes.get(key)), "")).lower()


def execution(attributes: Mapping[str, Any]) -> list[Any] | None:
    """The call and the result of a span in which a tool was executed; None for other spans."""
    for names in EXECUTIONS:
        result = attributes.get(names.result)
        if result is None or not attributes.get(names.name) or (names.kind and operation(attributes) != names.kind):
            continue
        id, name = attributes.get(names.id), attributes[names.name]
        arguments = look_up(attributes, names.arguments)
        called = {
            "id": id,
            "name": name,
            "arguments": {"input": arguments} if names.kind and not isinstance(arguments, dict) else arguments,
        }
        return [{"role": "assistant", "tool_calls": [called]},
                {"role": "tool", "tool_call_id": id, "name": name, "content": result}]  # fmt: skip
    return None


def exchange(attributes: dict[str, Any], events: list[dict[str, Any]]) -> Exchange | None:
    """The messages of a span and its answer; None if it has neither."""
    call_and_result = execution(attributes)
    if call_and_result is not None:
        return Exchange(attributes, call_and_result, [], executes=True)
    unread: Counter[str] = Counter()
    answer = _messages(attributes, ANSWER) or _ai_answer(attributes)
    history = _messages(attributes, HISTORY)
    history += [event for event in events if event["event.name"] != "gen_ai.choice"]
    answer += [event for event in events if event["event.name"] == "gen_ai.choice"]
    if not history and not answer and operation(attributes) != "tool":
        history, answer = _json_messages(attributes)
    if not history and not answer:
        matches = filter(None, map(_MESSAGE_LIKE.match, attributes))
        unread.update({f"attribute {match[0]}": 1 for match in matches})
        return Exchange(attributes, [], [], unread=unread) if unread else None
    holder = {"system": _first(attributes, SYSTEM), "tools": _definitions(attributes)}
    return Exchange(holder, history, answer, unread=unread)


def is_event(name: str) -> bool:
    """Whether an event contains a message."""
    return name in EVENTS or (name.startswith("gen_ai.") and name.endswith((".message", ".choice")))


def session(attributes: Mapping[str, Any]) -> str:
    """The id of the conversation that a span belongs to; "" if it names none."""
    return str(next((attributes[name] for name in SESSIONS if attributes.get(name)), ""))


def tokens(attributes: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((attributes[name] for name in names if isinstance(attributes.get(name), int)), None)


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := look_up(attributes, name))), None)


def _messages(attributes: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    for name in names:
        value = look_up(attributes, name)
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return list(value)
        if isinstance(value, str) and value:  # a plain text
            return [{"role": "assistant" if names is ANSWER else "user", "content": value}]
    return []


def _ai_answer(attributes: Mapping[str, Any]) -> list[Any]:
    """The answer of a span of the AI SDK: its text, and its calls beside it."""
    text, calls = attributes.get("ai.response.text"), look_up(attributes, "ai.response.toolCalls")
    if not text and not calls:
        return []
    return [{"role": "assistant", "content": text, "tool_calls": calls}]


def _json_messages(attributes: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Messages from a request and an answer that a span has as JSON."""
    request, answer = _first(attributes, WHOLE), _first(attributes, RESULTS)
    inside = request.get("messages") if isinstance(request, dict) else request
    if isinstance(inside, list) and len(inside) == 1 and isinstance(inside[0], list):
        inside = inside[0]
    if not isinstance(inside, list) or not all(
        isinstance(item, dict) and ("role" in item or "lc" in item or "type" in item) for item in inside
    ):
        return [], []
    return inside, (answer_messages(answer) or []) if answer is not None else []


def _definitions(attributes: Mapping[str, Any]) -> Any:
    """The definitions of tools, out of the wrappers of OpenInference and with parameters that are JSON in a text."""
    value = _first(attributes, TOOLS)
    if not isinstance(value, list):
        return value
    entries = [nest(entry) if isinstance(entry, dict) and "tool.json_schema" in entry else entry for entry in value]
    tools = [entry.get("tool") if isinstance(entry, dict) else None for entry in entries]
    schemas = [tool["json_schema"] for tool in tools if isinstance(tool, dict) and "json_schema" in tool]
    if schemas:
        return schemas
    return [{key: parse_json(item) for key, item in e.items()} if isinstance(e, dict) else e for e in entries]
