"""Messages out of the wrappers of frameworks: LangChain, ShareGPT, Pydantic AI, AutoGen, ADK, OpenTelemetry events.

Each function gives plain messages: objects with a `role`, or items with a `type` (see `parts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from troth.readers.trajectories.nested import nest, parse_json
from troth.readers.trajectories.parts import is_item

Plain = list[dict[str, Any]]

# LangChain's types and classes of messages; a chunk is a message that was streamed.
LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "developer": "system", "tool": "tool",
             "function": "tool"}  # fmt: skip
_CLASS = re.compile(r"(Human|AI|System|Tool|Function|Chat|Remove)Message(Chunk)?")
EVENTS = {"gen_ai.system.message": "system", "gen_ai.user.message": "user", "gen_ai.assistant.message": "assistant",
          "gen_ai.tool.message": "tool", "gen_ai.choice": "assistant"}  # fmt: skip
PROMPTS = {"system-prompt": "system", "user-prompt": "user"}  # Pydantic AI
CALLED = ("function_call", "tool_call")  # ShareGPT: a turn that is a call
_HERMES = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>\s*(.*?)\s*</tool_response>", re.DOTALL)


def unwrap(value: dict[str, Any]) -> Plain:
    """The plain messages of an object: itself if it is one, usually one, none for a mark such as a removed message."""
    if isinstance(value.get("role"), str):
        return [value]
    for is_wrapped, read in _WRAPPERS:
        if is_wrapped(value):
            return read(value)
    return [value]


def is_message(value: Any) -> bool:
    """Whether a value is a message in any layout, by its keys."""
    if not isinstance(value, dict):
        return False
    return isinstance(value.get("role"), str) or is_item(value) or any(test(value) for test, _ in _WRAPPERS)


def _kind(value: dict[str, Any]) -> str:
    """LangChain's type of a message, from its type or its class; "" for other objects."""
    name = value["id"][-1] if isinstance(value.get("id"), list) and value["id"] else value.get("type")
    match = _CLASS.fullmatch(str(name))
    kind = match[1].lower() if match else str(name)
    return kind if kind in LANGCHAIN or kind in ("chat", "remove") else ""


def _is_langchain(value: dict[str, Any]) -> bool:
    has_content = any(isinstance(value.get(key), dict) for key in ("data", "kwargs")) or "content" in value
    return has_content and "source" not in value and bool(_kind(value))


def _langchain(value: dict[str, Any]) -> Plain:
    fields = next((value[key] for key in ("kwargs", "data") if isinstance(value.get(key), dict)), value)
    kind = _kind(value)
    if kind == "remove":
        return []
    return [{**fields, "role": fields.get("role") if kind == "chat" else LANGCHAIN[kind]}]


def _sharegpt(value: dict[str, Any]) -> Plain:
    role, text = str(value["from"]), value["value"]
    if role in CALLED:
        parsed = parse_json(text)
        return [{"role": "assistant", "tool_calls": parsed if isinstance(parsed, list) else [parsed]}]
    if isinstance(text, str) and role in ("gpt", "assistant") and "<tool_call>" in text:
        calls = [parse_json(match) for match in _HERMES.findall(text)]
        return [{"role": role, "content": _HERMES.sub("", text).strip(), "tool_calls": calls}]
    if isinstance(text, str) and (responses := _RESPONSE.findall(text)):
        return [_hermes_result(parse_json(response)) for response in responses]
    return [{"role": role, "content": text}]


def _hermes_result(value: Any) -> dict[str, Any]:
    fields = value if isinstance(value, dict) and "content" in value else {"content": value}
    return {"role": "tool", **{key: fields[key] for key in ("content", "name", "tool_call_id") if key in fields}}


def _pydantic(value: dict[str, Any]) -> Plain:
    parts = [part for part in value["parts"] if isinstance(part, dict)]
    if value["kind"] == "response":
        return [{"role": "assistant", "content": parts, "usage": value.get("usage")}]
    instructions = value.get("instructions")
    before = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
    kinds = [str(part.get("part_kind") or "") for part in parts]
    return before + [
        {"role": PROMPTS[kind], "content": part.get("content")} if kind in PROMPTS else {**part, "type": kind}
        for part, kind in zip(parts, kinds, strict=True)
    ]


def _autogen(value: dict[str, Any]) -> Plain:
    content = value["content"]
    entries = [entry for entry in content if isinstance(entry, dict)] if isinstance(content, list) else []
    if value["type"] == "ThoughtEvent":
        return []
    if value["type"] == "ToolCallRequestEvent":
        return [{"role": "assistant", "tool_calls": entries}]
    if value["type"] == "ToolCallExecutionEvent":
        return [{**entry, "type": "tool_result"} for entry in entries]
    return [{"role": "user" if value["source"] == "user" else "assistant", "content": content}]


def _adk(value: dict[str, Any]) -> Plain:
    content = value["content"]
    return [content if "role" in content else {**content, "role": "user" if value["author"] == "user" else "model"}]


def _event(value: dict[str, Any]) -> Plain:
    role = EVENTS.get(_event_name(value))
    if role is None:
        return [{"type": _event_name(value)}]  # is counted as not read
    message = value.get("message")
    fields = message if isinstance(message, dict) else value
    if isinstance(message, str):  # Logfire's older events
        fields = {"content": message}
    return [{**fields, "role": role} | ({"tool_call_id": value.get("id")} if role == "tool" else {})]


def _event_name(value: dict[str, Any]) -> str:
    return str(value.get("event.name") or value.get("event_name") or "")


def _haystack(value: dict[str, Any]) -> Plain:
    return [{"role": value["_role"], "content": value.get("_content"), "name": value.get("_name")}]


_WRAPPERS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any]], Plain]], ...] = (
    (lambda value: isinstance(value.get("from"), str) and "value" in value, _sharegpt),
    (lambda value: value.get("kind") in ("request", "response") and isinstance(value.get("parts"), list), _pydantic),
    (lambda value: _event_name(value).startswith("gen_ai."), _event),
    (_is_langchain, _langchain),
    (lambda value: isinstance(value.get("source"), str) and isinstance(value.get("type"), str)
     and value["type"].endswith(("Message", "Event")) and "content" in value, _autogen),
    (lambda value: isinstance(value.get("author"), str) and isinstance(value.get("content"), dict), _adk),
    (lambda value: isinstance(value.get("_role"), str), _haystack),
    (lambda value: "message.role" in value, lambda value: unwrap(nest(value))),
    (lambda value: isinstance(value.get("message"), dict), lambda value: unwrap(value["message"])),
)  # fmt: skip
