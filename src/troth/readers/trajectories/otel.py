"""OpenTelemetry GenAI spans as JSON (OTLP): each trace, or each conversation id, is a trajectory.

Read are `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions`, `gen_ai.tool.definitions`,
the token counts, and spans of executed tools (`gen_ai.tool.call.arguments`, `….result`). A span of a model call holds
everything said before it, so that the last one of a conversation has its whole history; what the others add is their
usage. Spans without messages are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.core.trajectories import Call, Message, Tool, Trajectory, Usage
from troth.readers import plain, tools
from troth.readers.decode import BROKEN, where
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.items import items
from troth.readers.trajectories.messages import ROLES, call, text_of

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
    found = False
    for id, spans in conversations.items():
        with where(dialogue=id):
            one = _trajectory(id, sorted(spans, key=lambda span: (span.start, span.end)))
        if one is not None:
            found = True
            yield one
    if not found:
        hint = "record the content of messages: gen_ai.input.messages and gen_ai.output.messages"
        raise UserError("no span holds messages", hint=hint)


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
    """The objects of a list under any of some names; none where there is no such key."""
    name = next((name for name in names if value.get(name) is not None), None)
    listed = [] if name is None else plain.sequence(value[name], f"'{name}'")
    return [plain.mapping(item, f"an entry of '{name}'") for item in listed]


def _time(span: dict[str, Any], side: str) -> int:
    value = span.get(f"{side}TimeUnixNano", span.get(f"{side}_time_unix_nano", 0))
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdigit()) else 0


def _attributes(values: Any) -> dict[str, Any]:
    if isinstance(values, dict):
        return values
    items = plain.sequence(values, "'attributes'") if values is not None else []
    listed = (item for item in items if isinstance(item, dict) and isinstance(item.get("key"), str))
    return {item["key"]: _value(item.get("value")) for item in listed}


def _value(value: Any) -> Any:
    """An attribute's value out of its wrapper: `{"stringValue": "…"}`, also nested."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    held = inner.get("values") if isinstance(inner, dict) else None
    if kind == "arrayValue":
        return [_value(item) for item in held] if isinstance(held, list) else []
    if kind == "kvlistValue":
        return _attributes(held)
    if kind == "intValue":
        return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() else inner
    return inner


def _decoded(value: Any) -> Any:
    """Structured attributes are recorded as JSON text, or as they are."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except BROKEN:
        return value


def _trajectory(id: str, spans: list[_Span]) -> Trajectory | None:
    said: list[Message] = []
    defined: list[Tool] = []
    for span in spans:
        history = list(_messages(_decoded(span.attributes.get("gen_ai.input.messages"))))
        answer = list(_messages(_decoded(span.attributes.get("gen_ai.output.messages"))))
        if history or answer:
            # A model call repeats what was said before it; one that repeats nothing goes on from there.
            said = [*(history if _repeats(history, said) else [*said, *history]), *answer]
        definitions = _decoded(span.attributes.get("gen_ai.tool.definitions"))
        defined = tools.read(definitions) if definitions and tools.definitions(definitions) else defined
        said = _executed(said, span.attributes)
    if not said:
        return None
    system = _decoded(
        next((s.attributes[k] for s in spans for k in s.attributes if k == "gen_ai.system_instructions"), "")
    )
    text = "\n".join(_text(part) for part in system) if isinstance(system, list) else text_of(system)
    return Trajectory(
        id, (*([Message("system", text)] if text else []), *said), tools=tuple(defined), usage=_usage(spans)
    )


def _repeats(history: list[Message], said: list[Message]) -> bool:
    return not said or len(history) >= len(said) or bool(history and said and history[0] == said[0])


def _executed(said: list[Message], attributes: dict[str, Any]) -> list[Message]:
    """The result of an executed tool, where no message holds it."""
    result, id = attributes.get("gen_ai.tool.call.result"), str(attributes.get("gen_ai.tool.call.id") or "")
    if result is None or any(message.role == "tool" and id and message.call_id == id for message in said):
        return said
    name = str(attributes.get("gen_ai.tool.name") or "")
    if not any(one.id == id for message in said for one in message.calls):
        arguments = _decoded(attributes.get("gen_ai.tool.call.arguments"))
        said = [*said, Message("assistant", calls=(call(name, arguments, id),))]
    return [*said, Message("tool", text_of(result), call_id=id, tool=name)]


def _messages(values: Any) -> Iterator[Message]:
    for number, value in enumerate(values if isinstance(values, list) else ()):
        with where(turn=number):
            row = plain.mapping(value, "a message")
            role = ROLES.get(plain.text_of(row, "role", "a message"))
            if role is None:
                raise UserError(f"role '{str(row['role'])[:40]}' is not known", hint="known: " + ", ".join(ROLES))
            parts = row.get("parts", row.get("content"))
            parts = [{"type": "text", "content": parts}] if isinstance(parts, str) else parts or []
        for part in (part for part in parts if isinstance(part, dict) and part.get("type") == "tool_call_response"):
            answer = part.get("response", part.get("result"))
            yield Message("tool", text_of(answer), call_id=str(part.get("id") or ""))
        calls = tuple(_calls(parts))
        text = "\n".join(filter(None, map(_text, parts)))
        if role != "tool" and (text or calls):
            yield Message(role, text, calls)


def _calls(parts: Iterable[Any]) -> Iterator[Call]:
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "tool_call":
            yield call(part.get("name"), part.get("arguments"), part.get("id"))


def _text(part: Any) -> str:
    if not isinstance(part, dict) or part.get("type") != "text":
        return ""
    return text_of(part.get("content", part.get("text")))


def _usage(spans: list[_Span]) -> Usage | None:
    def summed(name: str) -> int | None:
        counts = [span.attributes[name] for span in spans if isinstance(span.attributes.get(name), int)]
        return sum(counts) if counts else None

    tokens = summed("gen_ai.usage.input_tokens"), summed("gen_ai.usage.output_tokens")
    times = [time for span in spans for time in (span.start, span.end) if time]
    seconds = (max(times) - min(times)) / 1e9 if times else None
    return None if tokens == (None, None) and seconds is None else Usage(*tokens, seconds)
