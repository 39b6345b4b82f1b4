"""Rows of a file as exchanges: the messages before, the answer, and the row's other fields.

A row is a conversation, or one call of a model as a gateway, an SDK or an observability tool logs it. Its messages are
under keys that the tables below name, often some levels down: `request.body.messages`, `inputs.messages`,
`input.inputBodyJson.contents`. A row may also hold a list of such rows (a trace with its observations).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.core.text_cache import text_cache
from troth.core.trajectories import Tool
from troth.readers import tools as tool_readers
from troth.readers.trajectories.nested import parse_json, parse_time
from troth.readers.trajectories.streams import assemble
from troth.readers.trajectories.wrappers import is_message

LISTS = ("messages", "contents", "conversations", "conversation", "all_messages", "input_messages", "chat_history",
         "history", "items", "events", "input", "prompt")  # fmt: skip
PLAIN = ("messages", "contents")  # a list under these keys always is one of messages
REQUESTS = ("request", "request_body", "requestBody", "inputs", "input", "inputBodyJson", "body", "json", "params",
            "kwargs", "values", "channel_values", "state", "payload", "data", "meta")  # fmt: skip
ANSWERS = ("response", "output", "outputs", "response_body", "responseBody", "completion", "choices", "result")
RECORDS = ("outputs", "result", "completion")  # may also be the outputs that gold expects, a verdict, …
INSIDE = ("choices", "candidates", "generations", "output", "outputs", "outputBodyJson", "message", "messages", "body",
          "response", "result", "content", "text", "value", "json", "data")  # fmt: skip
PARTS_OF_TRACES = ("observations", "spans", "runs", "child_runs")  # rows of one trace
ENTRIES = ("samples", "data", "traces", "results", "rows", "records", "logs", "threads", "sessions", "conversations")
SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction", "system_prompt")
TOOLS = ("tools", "functions", "toolConfig", "tool_config", "tool_definitions", "available_tools")
BESIDE_TOOLS = ("model_parameters", "modelParameters", "optional_params", "extra", "invocation_params", "metadata",
                "config", "body", "request", "inputs")  # fmt: skip
SESSIONS = ("conversation_id", "conversationId", "gen_ai.conversation.id", "session_id", "sessionId", "session.id",
            "thread_id", "threadId", "litellm_session_id", "chat_id", "group_id", "Helicone-Session-Id")  # fmt: skip
TRACES = ("trace_id", "traceId", "root_span_id")
BESIDE_SESSIONS = ("metadata", "extra", "configurable", "properties", "request_properties", "trace", "request_metadata")
TIMES = ("end_time", "endTime", "ended_at", "completed_at", "start_time", "startTime", "started_at", "timestamp",
         "created_at", "createdAt", "created", "request_created_at", "time")  # fmt: skip
TOOL_KINDS = ("tool", "function")  # of a logged row: a tool that was executed
MODEL_KINDS = ("generation", "llm", "chat", "response")
DEEPEST = 5  # levels above the messages


class Exchange(NamedTuple):
    """Messages, the answer to them, and the objects that contain them, from the outside to the inside."""

    row: dict[str, Any]
    history: list[Any]
    answer: list[Any]
    holders: tuple[dict[str, Any], ...] = ()
    session: str = ""
    time: float | None = None
    executes: bool = False  # the execution of a tool: a call and its result
    appends: bool = False  # a single message of a conversation
    unread: Mapping[str, int] = MappingProxyType({})

    @property
    def tools(self) -> tuple[Tool, ...]:
        return find_tools((*reversed(self.holders), self.row))

    @property
    def system(self) -> Any:
        """The system's instructions, where they stand beside the messages."""
        holders = [inner for outer in (*reversed(self.holders), self.row) for inner in (outer, outer.get("config"))]
        return next((h[key] for h in holders if isinstance(h, dict) for key in SYSTEM if h.get(key)), None)


class _Location(NamedTuple):
    """Messages, and the objects on the way to them."""

    messages: list[Any]
    holders: tuple[dict[str, Any], ...] = ()


def exchanges(row: dict[str, Any], session: str = "") -> Iterator[Exchange]:
    """The exchanges of a row, which is one, or has a list of rows inside; `session`: that of the trace around it."""
    for key in PARTS_OF_TRACES:
        if rows := _rows(row.get(key)):
            trace = _find_id(row, SESSIONS) or session or str(row.get("id") or row.get("trace_id") or "")
            inside = [exchange for item in rows for exchange in exchanges(item, trace)]
            if any(not exchange.executes for exchange in inside):
                yield from inside
                return
    exchange = _exchange(row, session)
    if exchange is not None:
        yield exchange
        return
    for key in ENTRIES:
        if rows := _rows(row.get(key)):
            for item in rows:
                yield from exchanges(item, session)
            return


def find_tools(holders: tuple[Any, ...], depth: int = 0) -> tuple[Tool, ...]:
    """The tools that are defined beside the messages, or one or two levels below."""
    for holder in holders:
        if not isinstance(holder, dict):
            continue
        for key in TOOLS:
            if key not in holder:
                continue
            value = parse_json(holder[key])
            value = [parse_json(item) for item in value] if isinstance(value, list) else value
            if value and (tools := _read_tools(msgspec.json.encode(value))):
                return tools
    below = [holder[key] for holder in holders if isinstance(holder, dict) for key in BESIDE_TOOLS if key in holder]
    return find_tools(tuple(below), depth + 1) if below and depth < 2 else ()


@text_cache
def _read_tools(definitions: bytes) -> tuple[Tool, ...]:
    """The tools of a JSON value; the rows of a log repeat them."""
    value = msgspec.json.decode(definitions)
    return tuple(tool_readers.read(value)) if tool_readers.definitions(value) else ()


def is_of_trace(row: dict[str, Any]) -> bool:
    """Whether a row is a step of a trace, which may have no messages: a retrieval, a step of a chain."""
    return bool(_find_id(row, TRACES)) and any(isinstance(row.get(key), str) for key in ("type", "run_type", "object"))


def _rows(value: Any) -> list[dict[str, Any]]:
    rows = value if isinstance(value, list) else []
    return rows if rows and all(isinstance(item, dict) and not is_message(item) for item in rows) else []


def _exchange(row: dict[str, Any], session: str) -> Exchange | None:
    inner = row.get("span_data")  # OpenAI's Agents SDK
    fields = {**row, **inner} if isinstance(inner, dict) else row
    kind = str(fields.get("run_type") or fields.get("type") or "").lower()
    session = _find_id(row, SESSIONS) or session or _find_id(row, TRACES)
    times = (parse_time(row[key]) for key in TIMES if key in row)
    time = next((seconds for seconds in times if seconds is not None), None)
    if kind in TOOL_KINDS and _is_execution(fields):
        return Exchange(row, _execution(fields), [], session=session, time=time, executes=True)
    location = _find(fields, 0)
    if location is None and is_message(row):
        return Exchange(row, [row], [], session=session, time=time, appends=True) if session else None
    unread: Counter[str] = Counter()
    is_text = location is None and kind not in MODEL_KINDS
    if location is None:
        text = next((fields[key] for key in ("input", "prompt") if isinstance(fields.get(key), str)), None)
        if text is None and kind in MODEL_KINDS:
            return Exchange(fields, [], [], session=session, time=time, unread={f"row {kind}": 1})
        is_logged = kind in MODEL_KINDS or (
            not kind and any(isinstance(fields.get(key), dict | list) for key in ANSWERS)
        )
        if text is None or not is_logged:  # two texts may be anything
            return None
        location = _Location([{"role": "user", "content": text}], (fields,))
    history, definitions = _without_definitions(location.messages)
    answer = [] if "epoch" in row else _answer(fields, history, unread)  # Inspect repeats its last answer
    holders = (*location.holders, {"tools": definitions}) if definitions else location.holders
    if not answer and (is_text or not location.messages) and "messages" not in row:
        return None
    return Exchange(fields, history, answer, holders, session, time, unread=unread)


def _find(value: Any, depth: int) -> _Location | None:
    """The first list of messages in an object or below it."""
    value = parse_json(value)
    if not isinstance(value, dict) or depth > DEEPEST:
        return None
    for key in LISTS:
        inside = parse_json(value.get(key))
        if isinstance(inside, list) and len(inside) == 1 and isinstance(inside[0], list):
            inside = inside[0]  # LangSmith: one list for each of several prompts
        if isinstance(inside, list) and ((key in PLAIN and depth == 0) or (inside and is_message(inside[0]))):
            return _Location(inside, (value,))
    for key in REQUESTS:
        location = _find(value.get(key), depth + 1)
        if location is not None:
            return _Location(location.messages, (value, *location.holders))
    return None


def _answer(row: dict[str, Any], history: list[Any], unread: Counter[str]) -> list[Any]:
    """The messages of a logged answer: a text, a message, or the whole answer of a server."""
    last = history[-1] if history else None
    is_answered = isinstance(last, dict) and last.get("role") == "assistant"
    for key in ANSWERS:
        if (value := row.get(key)) is None:
            continue
        is_record = isinstance(value, dict) or (isinstance(value, list) and value and is_message(value[0]))
        if (key in RECORDS and not is_record) or (key == "output" and is_answered and not is_record):
            continue
        messages = answer_messages(value)
        if messages is not None:
            return messages
        if key == "response":
            raise UserError("the 'response' is not a message", hint="a text, a message, or a server's whole answer")
        if value and not is_answered:
            unread[f"key {key}"] += 1
    return []


def answer_messages(value: Any, depth: int = 0) -> list[Any] | None:
    """The messages in an answer of a server or a framework; None if there are none."""
    value = parse_json(value)
    if depth > DEEPEST:
        return None
    if (streamed := assemble(value)) is not None:
        return answer_messages(streamed, depth + 1)
    if isinstance(value, str):
        return [{"role": "assistant", "content": value}] if depth < 2 or value else None
    if isinstance(value, list):
        first = value[0] if value else None
        if isinstance(first, list) or (isinstance(first, dict) and ("message" in first or not is_message(first))):
            return answer_messages(first, depth + 1)  # of several alternatives, the first
        return value if value and all(isinstance(item, dict) for item in value) else None
    if not isinstance(value, dict):
        return None
    if is_message(value) and "messages" not in value and "output" not in value:
        return [value]
    if any(isinstance(value.get(key), list) for key in ("tool_calls", "parts")):  # a message without its role
        return [{**value, "role": "assistant"}]
    inside = (answer_messages(value[key], depth + 1) for key in INSIDE if value.get(key) is not None)
    return next((messages for messages in inside if messages), None)


def _find_id(row: dict[str, Any], keys: tuple[str, ...], depth: int = 0) -> str:
    """The id of a conversation, or of a trace, under one of these keys of a row or of what describes it."""
    is_project = "run_type" in row and keys is SESSIONS  # LangSmith's `session_id` is that of a project
    names = [] if is_project else [row[key] for key in keys if key in row]
    name = next((name for name in names if isinstance(name, str | int) and name and name is not True), None)
    if name is not None:
        return str(name)
    below = [inner for key in BESIDE_SESSIONS if key in row and isinstance(inner := parse_json(row[key]), dict)]
    return next(filter(None, (_find_id(inner, keys, depth + 1) for inner in below)), "") if depth < 2 else ""


def _is_execution(fields: dict[str, Any]) -> bool:
    has_outcome = any(fields.get(key) is not None for key in ("input", "inputs", "output", "outputs"))
    return isinstance(fields.get("name"), str) and has_outcome and not is_message(fields)


def _execution(fields: dict[str, Any]) -> list[Any]:
    """A call and its result, from the row of an executed tool."""
    inputs, outputs = (
        next((parse_json(fields[key]) for key in keys if fields.get(key) is not None), None)
        for keys in (("inputs", "input"), ("outputs", "output"))
    )
    arguments = inputs if isinstance(inputs, dict) else {"input": inputs} if inputs is not None else {}
    if arguments.keys() == {"input"} and isinstance(inner := parse_json(arguments["input"]), dict):
        arguments = inner
    if isinstance(outputs, dict) and outputs.keys() == {"output"}:
        outputs = outputs["output"]
    if is_message(outputs) and isinstance(outputs, dict):  # LangChain's ToolMessage
        result = outputs
    else:
        result = {"role": "tool", "name": fields["name"], "content": outputs, "error": fields.get("error")}
    return [{"role": "assistant", "tool_calls": [{"name": fields["name"], "arguments": arguments}]}, result]


def _without_definitions(messages: list[Any]) -> tuple[list[Any], list[Any]]:
    """Messages, and the tools among them: Langfuse logs the tools of LangChain as messages at the end."""
    contents = [message.get("content") if isinstance(message, dict) else None for message in messages]
    defines = [
        isinstance(content, dict) and content.get("type") == "function" and isinstance(content.get("function"), dict)
        for content in contents
    ]
    if not any(defines):
        return messages, []
    pairs = list(zip(messages, contents, defines, strict=True))
    return [message for message, _, is_tool in pairs if not is_tool], [c for _, c, is_tool in pairs if is_tool]
