"""OpenTelemetry GenAI spans as JSON (OTLP): each trace, or each conversation id, is a trajectory.

The reader uses `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions`,
`gen_ai.tool.definitions`, the token counts, and spans of executed tools (`gen_ai.tool.call.arguments`, `….result`). The
span of a model call contains all messages before it, so that the last one of a conversation has its whole history; the
others add their usage. Spans without messages are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.core.errors import UserError
from troth.core.trajectories import Message, Tool, Trajectory, Usage
from troth.readers import plain, tools
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.items import items
from troth.readers.trajectories.messages import call, role_of, text_of

FORMAT = Format(name="otel", about="OpenTelemetry GenAI spans, exported as OTLP JSON")


class _Span(NamedTuple):
    trace: str
    start: int
    end: int
    attributes: dict[str, Any]


def detect(document: Document) -> bool:
    return b'"resourceSpans"' in document.data[:10_000] or b'"resource_spans"' in document.data[:10_000]


def read(document: Document) -> Iterator[Trajectory]:
    conversations: dict[str, list[_Span]] = {}
    for value in items(document):
        for span in _spans(plain.mapping(value, "an export")):
            id = span.attributes.get("gen_ai.conversation.id") or span.trace
            conversations.setdefault(str(id), []).append(span)
    has_messages = False
    for id, spans in conversations.items():
        with error_context(dialogue=id):
            trajectory = _trajectory(id, sorted(spans, key=lambda span: (span.start, span.end)))
        if trajectory is not None:
            has_messages = True
            yield trajectory
    if not has_messages:
        hint = "record the content of messages: gen_ai.input.messages and gen_ai.output.messages"
        raise UserError("no span has messages", hint=hint)


def _spans(export: dict[str, Any]) -> Iterator[_Span]:
    for resource in _objects(export, "resourceSpans", "resource_spans"):
        for scope in _objects(resource, "scopeSpans", "scope_spans"):
            for span in _objects(scope, "spans"):
                times = [_time(span, "start"), _time(span, "end")]
                attributes = _attributes(span.get("attributes"))
                for event in _objects(span, "events"):  # some exporters put messages into events
                    attributes = _attributes(event.get("attributes")) | attributes
                yield _Span(str(span.get("traceId") or span.get("trace_id") or ""), times[0], times[1], attributes)


def _objects(value: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    """The objects of the list under the first of these names; an empty list if there is no such key."""
    name = next((name for name in names if value.get(name) is not None), None)
    items = [] if name is None else plain.sequence(value[name], f"'{name}'")
    return [plain.mapping(item, f"an entry of '{name}'") for item in items]


def _time(span: dict[str, Any], side: str) -> int:
    value = span.get(f"{side}TimeUnixNano", span.get(f"{side}_time_unix_nano", 0))
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdigit()) else 0


def _attributes(values: Any) -> dict[str, Any]:
    if isinstance(values, dict):
        return values
    items = plain.sequence(values, "'attributes'") if values is not None else []
    entries = (item for item in items if isinstance(item, dict) and isinstance(item.get("key"), str))
    return {entry["key"]: _value(entry.get("value")) for entry in entries}


def _value(value: Any) -> Any:
    """An attribute's value out of its wrapper: `{"stringValue": "…"}`, also nested."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    values = inner.get("values") if isinstance(inner, dict) else None
    if kind == "arrayValue":
        return [_value(item) for item in values] if isinstance(values, list) else []
    if kind == "kvlistValue":
        return _attributes(values)
    if kind == "intValue":
        return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() else inner
    return inner


def _decode(value: Any) -> Any:
    """The value of a structured attribute, which may be recorded as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except DECODING_ERRORS:
        return value


def _trajectory(id: str, spans: list[_Span]) -> Trajectory | None:
    conversation: list[Message] = []
    defined: list[Tool] = []
    for span in spans:
        history = list(_messages(_decode(span.attributes.get("gen_ai.input.messages"))))
        answer = list(_messages(_decode(span.attributes.get("gen_ai.output.messages"))))
        if history or answer:
            # A model call repeats all messages before it; if it repeats none, its messages are added.
            conversation = [*(history if _repeats(history, conversation) else [*conversation, *history]), *answer]
        definitions = _decode(span.attributes.get("gen_ai.tool.definitions"))
        defined = tools.read(definitions) if definitions and tools.definitions(definitions) else defined
        conversation = _add_result(conversation, span.attributes)
    if not conversation:
        return None
    key = "gen_ai.system_instructions"
    system = _decode(next((span.attributes[key] for span in spans if key in span.attributes), ""))
    text = "\n".join(_text(part) for part in system) if isinstance(system, list) else text_of(system)
    before = [Message("system", text)] if text else []
    return Trajectory(id, (*before, *conversation), tools=tuple(defined), usage=_usage(spans))


def _repeats(history: list[Message], before: list[Message]) -> bool:
    return not before or len(history) >= len(before) or bool(history and before and history[0] == before[0])


def _add_result(messages: list[Message], attributes: dict[str, Any]) -> list[Message]:
    """Adds the result of an executed tool, unless a message has it."""
    result, id = attributes.get("gen_ai.tool.call.result"), str(attributes.get("gen_ai.tool.call.id") or "")
    if result is None or any(message.role == "tool" and id and message.call_id == id for message in messages):
        return messages
    name = str(attributes.get("gen_ai.tool.name") or "")
    if not any(call.id == id for message in messages for call in message.calls):
        arguments = _decode(attributes.get("gen_ai.tool.call.arguments"))
        messages = [*messages, Message("assistant", calls=(call(name, arguments, id),))]
    return [*messages, Message("tool", text_of(result), call_id=id, tool=name)]


def _messages(values: Any) -> Iterator[Message]:
    for number, value in enumerate(values if isinstance(values, list) else ()):
        with error_context(turn=number):
            row = plain.mapping(value, "a message")
            role = role_of(row, "a message")
            parts = row.get("parts", row.get("content"))
            parts = [{"type": "text", "content": parts}] if isinstance(parts, str) else parts or []
        parts = [part for part in parts if isinstance(part, dict)]
        for part in (part for part in parts if part.get("type") == "tool_call_response"):
            answer = part.get("response", part.get("result"))
            yield Message("tool", text_of(answer), call_id=str(part.get("id") or ""))
        called = [part for part in parts if part.get("type") == "tool_call"]
        calls = tuple(call(part.get("name"), part.get("arguments"), part.get("id")) for part in called)
        text = "\n".join(filter(None, map(_text, parts)))
        if role != "tool" and (text or calls):
            yield Message(role, text, calls)


def _text(part: Any) -> str:
    if not isinstance(part, dict) or part.get("type") != "text":
        return ""
    return text_of(part.get("content", part.get("text")))


def _usage(spans: list[_Span]) -> Usage | None:
    def total(name: str) -> int | None:
        counts = [span.attributes[name] for span in spans if isinstance(span.attributes.get(name), int)]
        return sum(counts) if counts else None

    tokens = total("gen_ai.usage.input_tokens"), total("gen_ai.usage.output_tokens")
    times = [time for span in spans for time in (span.start, span.end) if time]
    seconds = (max(times) - min(times)) / 1e9 if times else None
    return None if tokens == (None, None) and seconds is None else Usage(*tokens, seconds)
