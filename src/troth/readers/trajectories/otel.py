"""Spans of OpenTelemetry, as OTLP JSON (spans and log events), or one span per row as Phoenix and consoles write them.

Each conversation id, or each trace, is a trajectory. `attributes` knows the names under which messages are recorded;
`fold` joins the model calls of a conversation: spans that repeat all messages before them, or have only new ones. Spans
of executed tools add results that no message has. Spans without messages are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from troth.core.errors import UserError
from troth.core.trajectories import Message, Trajectory, Usage
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories import attributes as names
from troth.readers.trajectories.fold import Conversation, fold, single_conversation
from troth.readers.trajectories.items import first_item, items, skipping
from troth.readers.trajectories.messages import messages
from troth.readers.trajectories.nested import flatten, parse_time
from troth.readers.trajectories.parts import text_of
from troth.readers.trajectories.rows import find_tools

FORMAT = Format(name="otel", about="spans of OpenTelemetry: GenAI, OpenLLMetry, OpenInference (Phoenix), the AI SDK")
RESOURCES = (("resourceSpans", "resource_spans"), ("resourceLogs", "resource_logs"))
SCOPES = (("scopeSpans", "scope_spans"), ("scopeLogs", "scope_logs"))
RECORDS = (("spans",), ("logRecords", "log_records"))
TRACES = ("traceId", "trace_id", "context.trace_id", "traceID")
SPANS = ("spanId", "span_id", "context.span_id", "spanID")
AGENTS = ("invoke_agent", "create_agent", "agent", "chain", "workflow")  # their usage is that of the spans inside


class _Span(NamedTuple):
    trace: str
    id: str
    start: float
    end: float
    attributes: dict[str, Any]
    events: list[dict[str, Any]]


def detect(document: Document) -> bool:
    head = document.data[:10_000]
    if any(f'"{name}"'.encode() in head for pair in RESOURCES for name in pair):
        return True
    row = first_item(document)
    return isinstance(row, dict) and next(_records(row), None) is not None


def read(document: Document) -> Iterator[Trajectory]:
    spans: dict[tuple[str, str, int], _Span] = {}
    for value in items(document):
        with skipping(document):
            for number, record in enumerate(_records(plain.mapping(value, "an export"))):
                span = _span(record)
                key = (span.trace, span.id, 0 if span.id else len(spans) + number + 1)
                spans[key] = _join_records(spans[key], span) if key in spans else span
    conversations: dict[str, list[_Span]] = {}
    sessions = {span.trace: id for span in spans.values() if (id := names.session(span.attributes))}
    for span in spans.values():
        id = names.session(span.attributes) or sessions.get(span.trace) or span.trace
        conversations.setdefault(id, []).append(span)
    has_messages = False
    for id, members in conversations.items():
        with skipping(document), error_context(dialogue=id):
            for trajectory in _trajectories(id, sorted(members, key=lambda span: (span.end or span.start, span.start))):
                has_messages = True
                yield trajectory
    if not has_messages:
        hint = "record the content of messages: gen_ai.input.messages and gen_ai.output.messages"
        raise UserError("no span has messages", hint=hint)


def _records(export: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The spans and log records of an export, or of a row that is a span."""
    for resources, scopes, records in zip(RESOURCES, SCOPES, RECORDS, strict=True):
        for resource in _objects(export, *resources):
            for scope in _objects(resource, *scopes):
                yield from _objects(scope, *records)
    if isinstance(export.get("data"), list):  # Jaeger
        traces = [trace for trace in export["data"] if isinstance(trace, dict) and isinstance(trace.get("spans"), list)]
        yield from (span for trace in traces for span in trace["spans"] if isinstance(span, dict) and "tags" in span)
    inner = export.get("data") if isinstance(export.get("data"), dict) else export
    if isinstance(inner, dict) and isinstance(inner.get("spans"), list):  # MLflow
        yield from (span for span in inner["spans"] if isinstance(span, dict) and "attributes" in span)
    context = export.get("context")
    has_trace = any(export.get(key) for key in TRACES) or isinstance(context, dict)
    if has_trace and ("attributes" in export or any(key.startswith("attributes.") for key in export)):
        yield export


def _span(record: dict[str, Any]) -> _Span:
    context = record.get("context")
    ids = {**(context if isinstance(context, dict) else {}), **record}
    values = _attributes(record.get("attributes", record.get("tags")))
    values |= flatten(
        {key.removeprefix("attributes."): item for key, item in record.items() if key.startswith("attributes.")}
    )
    if "span_kind" in record:
        values.setdefault("span_kind", record["span_kind"])
    events = [_event(event) for event in (*_objects(record, "events", "logs"), *([record] if "body" in record else []))]
    for event in events:  # some exporters put messages into events, all in one
        if not names.is_event(event["event.name"]):
            values = {key: item for key, item in event.items() if key != "event.name"} | values
    message_events = [event for event in events if names.is_event(event["event.name"])]
    trace, id = (str(next((ids[key] for key in keys if ids.get(key)), "")) for keys in (TRACES, SPANS))
    return _Span(trace, id, _time(record, "start"), _time(record, "end"), values, message_events)


def _join_records(first: _Span, second: _Span) -> _Span:
    """Two records of one span: the span and its events, which are logged apart."""
    start, end = (max(getattr(first, side), getattr(second, side)) for side in ("start", "end"))
    return _Span(first.trace, first.id, start, end, first.attributes | second.attributes, first.events + second.events)


def _event(event: dict[str, Any]) -> dict[str, Any]:
    values = _attributes(event.get("attributes", event.get("fields")))
    body = _value(event.get("body"))
    fields = {**values, **(body if isinstance(body, dict) else {})}
    name = event.get("eventName") or event.get("event_name") or values.get("event.name") or event.get("name") or ""
    return {**fields, "event.name": str(name)}


def _objects(value: dict[str, Any], *keys: str) -> list[dict[str, Any]]:
    """The objects of the list under the first of these names; an empty list if there is no such key."""
    name = next((key for key in keys if value.get(key) is not None), None)
    items = [] if name is None else plain.sequence(value[name], f"'{name}'")
    return [plain.mapping(item, f"an entry of '{name}'") for item in items]


def _time(span: dict[str, Any], side: str) -> float:
    """Nanoseconds, or 0."""
    keys = (f"{side}TimeUnixNano", f"{side}_time_unix_nano", f"{side}_time", "timeUnixNano", "startTime")
    value = next((span[key] for key in keys if span.get(key) is not None), 0)
    if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
        return int(value)
    return 1e9 * (parse_time(value) or 0.0)


def _attributes(values: Any) -> dict[str, Any]:
    if isinstance(values, dict):
        return flatten(values)
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
        entries = [item for item in values if isinstance(item, dict)] if isinstance(values, list) else []
        return {str(entry.get("key")): _value(entry.get("value")) for entry in entries}
    if kind == "intValue":
        return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() else inner
    return inner if kind.endswith("Value") else value


def _trajectories(id: str, spans: list[_Span]) -> Iterator[Trajectory]:
    rows: list[Conversation] = []
    unread: Counter[str] = Counter()
    for span in spans:
        exchange = names.exchange(span.attributes, span.events)
        if exchange is not None:
            unread.update(exchange.unread)
            if exchange.history or exchange.answer:
                rows.append(single_conversation(exchange._replace(session=id, unread={})))
    conversations = fold(rows)
    for number, conversation in enumerate(conversations, 1):
        counts = Counter(unread) if number == 1 else Counter[str]()
        conversation_messages = (*_system(conversation, counts), *messages(conversation.raw, counts))
        model_calls = [exchange for exchange in conversation.exchanges if not exchange.executes]
        tools = next(filter(None, (find_tools((exchange.row,)) for exchange in reversed(model_calls))), ())
        name = id if number == 1 else f"{id}#{number}"
        usage = _usage(spans) if len(conversations) == 1 else None
        yield Trajectory(
            name, conversation_messages, tools=tools, usage=usage, unread=dict(counts), rows=conversation.rows
        )


def _system(conversation: Conversation, unread: Counter[str]) -> tuple[Message, ...]:
    systems = (exchange.row.get("system") for exchange in conversation.exchanges if not exchange.executes)
    text = text_of(next((system for system in systems if system), None), unread)
    return (Message("system", text),) if text else ()


def _usage(spans: list[_Span]) -> Usage | None:
    models = [span for span in spans if names.operation(span.attributes) not in AGENTS] or spans
    totals: list[int | None] = []
    for keys in (names.INPUT_TOKENS, names.OUTPUT_TOKENS):
        counts = [count for span in models if (count := names.tokens(span.attributes, keys)) is not None]
        totals.append(sum(counts) if counts else None)
    times = [time for span in spans for time in (span.start, span.end) if time]
    seconds = (max(times) - min(times)) / 1e9 if times else None
    return None if totals == [None, None] and seconds is None else Usage(totals[0], totals[1], seconds)
