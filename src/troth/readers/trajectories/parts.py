"""Parts of a message's content in the layouts of all common SDKs: text, a call, a result, or a part that is not read.

A part has its type under `type` (also `part_kind`, `block_type`, `content_type`), or as its only key (Gemini, Bedrock,
Haystack). Spellings differ (`tool-call`, `toolUse`, `function_call`); the tables below say what each type means. A part
of a type that no table has is counted in `unread`, under the type as the file spells it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from troth.core.decode import DECODING_ERRORS, TOO_DEEP, is_too_deep
from troth.core.trajectories import Call, Message
from troth.readers import plain
from troth.readers.decode import has_duplicate_key

LONGEST = 60  # characters of a type, which may be any text
TYPE_KEYS = ("type", "part_kind", "block_type", "content_type")
BESIDE = frozenset(("thought", "thoughtSignature", "thought_signature"))  # keys that Gemini adds to a part
TEXTS = frozenset((
    "text", "input_text", "output_text", "refusal", "text_plain", "system_prompt", "user_prompt", "json",
))  # fmt: skip
DOCUMENTS = frozenset(("document", "search_result", "resource"))  # read if they contain their text
# Neither said to the user nor a call: thoughts, marks between steps, citations, requests for approval.
IGNORED = frozenset((
    "thinking", "redacted_thinking", "reasoning", "reasoning_content", "reasoning_text", "thought",
    "step_start", "step_finish", "cache_point", "source", "source_url", "source_document", "mcp_list_tools",
    "mcp_approval_request", "mcp_approval_response", "tool_approval_request", "tool_approval_response",
))  # fmt: skip
STEPS = frozenset(("step_start", "step_finish"))  # the calls of a step are tool_call together
MEDIA = frozenset((
    "image", "image_url", "input_image", "image_file", "video", "audio", "input_audio", "file",
    "input_file", "inline_data", "file_data", "blob", "uri",
))  # fmt: skip
PAYLOADS = frozenset((
    "source", "data", "url", "uri", "bytes", "image_url", "image", "file", "file_id", "input_audio",
    "document", "resource",
))  # fmt: skip
CALLS = frozenset((
    "tool_invocation", "dynamic_tool", "executable_code", "tool_call_request",
))  # fmt: skip
CALL_ENDINGS = ("tool_use", "tool_call", "_call")
RESULTS = frozenset((
    "tool_call_response", "server_tool_call_response", "tool_return", "builtin_tool_return", "retry_prompt",
    "function_response", "tool_call_result", "function_call_result", "function_result",
    "code_execution_result", "tool_error",
))  # fmt: skip
RESULT_ENDINGS = ("tool_result", "_call_output")
HOSTED = frozenset(("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"))
# Calls that have no name besides their type.
NAMELESS = HOSTED | {"computer_call", "local_shell_call", "shell_call", "apply_patch_call", "executable_code"}

NAMES = ("name", "toolName", "tool_name", "function_name")
ARGUMENTS = ("arguments", "args", "input", "kwargs", "tool_kwargs", "parameters")
FURTHER_ARGUMENTS = ("queries", "code", "language", "operation")  # of calls that a server answers itself
CALL_IDS = ("call_id", "toolCallId", "tool_call_id", "toolUseId", "tool_use_id", "id", "callId")
RESULT_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id", "callId", "id")
CONTENTS = ("content", "output", "result", "response", "results", "outputs", "error", "errorText")
OUTCOMES = ("output", "result", "results", "outputs", "errorText", "error")  # beside the call itself
INNER = ("function", "custom", "tool_call", "toolInvocation")


class PartContent(NamedTuple):
    """Contribution of one part to a conversation."""

    text: str | None = None
    call: Call | None = None
    result: Message | None = None
    ends_step: bool = False


def read_part(part: Any, unread: Counter[str]) -> Iterator[PartContent]:
    """The pieces of a part: none or one. A part that is not understood is counted in `unread`."""
    if isinstance(part, str):
        yield PartContent(text=part)
        return
    name, fields = type_of(part) if isinstance(part, dict) else (type(part).__name__, {})
    kind = _snake_case(name)
    if kind in TEXTS:
        yield PartContent(text=_text(fields, unread))
    elif kind in IGNORED:
        yield PartContent(ends_step=kind in STEPS)
    elif kind in DOCUMENTS and (text := _document_text(fields, unread)):
        yield PartContent(text=text)
    elif _is_step_of_tool(name, fields):  # AI SDK 5: the tool's name is in the type
        yield _read_call_part(name.removeprefix("tool-"), fields, unread)
    elif is_result(kind):
        yield PartContent(result=read_result(fields, unread, failed=kind in ("retry_prompt", "tool_error")))
    elif is_call(kind):
        if kind in HOSTED and (kind == "image_generation_call" or not _has_outcome(fields)):
            unread[kind] += 1  # its result is not in the file, or not text
            fields = {key: value for key, value in fields.items() if key not in OUTCOMES}
        yield _read_call_part(kind.removesuffix("_call") if kind in NAMELESS else None, fields, unread)
    else:
        unread[name[:LONGEST] or "no type"] += 1


def type_of(part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The type of a part as the file spells it, and its fields; "" for a part without a type."""
    for key in TYPE_KEYS:
        if isinstance(part.get(key), str):
            return part[key], part
    if part.get("thought") is True:
        return "thought", part
    keys = part.keys() - BESIDE
    if len(keys) == 1:
        (key,) = keys
        return key, part[key] if isinstance(part[key], dict) and key != "json" else part
    return ("text", part) if isinstance(part.get("text"), str) else ("", part)


def kind_of(part: Any) -> str:
    """The type of a part in one spelling, `tool_call` for `tool-call` and `toolCall`; "" for other values."""
    return _snake_case(type_of(part)[0]) if isinstance(part, dict) else ""


def is_call(kind: str) -> bool:
    return kind in CALLS or kind.endswith(CALL_ENDINGS)


def is_result(kind: str) -> bool:
    return kind in RESULTS or kind.endswith(RESULT_ENDINGS)


def is_item(value: dict[str, Any]) -> bool:
    """Whether an object without a role is a message by its type: an item of the Responses API, for example."""
    kind = kind_of(value)
    return "type" in value and (kind in IGNORED or is_call(kind) or is_result(kind) or kind == "item_reference")


def read_call(fields: dict[str, Any], default: object = None) -> Call:
    """A call, from an object that has its name, its arguments and its id under any of their usual keys."""
    inner = next((fields[key] for key in INNER if isinstance(fields.get(key), dict)), None)
    if inner is not None and any(isinstance(inner.get(key), dict) for key in INNER):
        return read_call(inner, default)
    function = fields if inner is None else inner
    name = next((function[key] for key in NAMES if function.get(key)), fields.get("function"))
    arguments: Any = next((function[key] for key in ARGUMENTS if key in function), None)
    if arguments is None:
        action = fields.get("action")
        arguments = dict(action) if isinstance(action, dict) else {}
        arguments |= {key: fields[key] for key in FURTHER_ARGUMENTS if key in fields}
    elif "custom" in fields or fields.get("type") == "custom_tool_call":
        arguments = _free_text(arguments)
    id = next((holder[key] for holder in (fields, function) for key in CALL_IDS if holder.get(key)), None)
    return call(name if isinstance(name, str) else default, arguments, id)


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


def read_result(fields: dict[str, Any], unread: Counter[str], *, failed: bool = False) -> Message:
    """A result, from an object that has its content, its id and its tool under any of their usual keys."""
    origin = fields.get("origin")  # Haystack: the call that it answers
    holders = (fields, origin) if isinstance(origin, dict) else (fields,)
    id = next((holder[key] for holder in holders for key in RESULT_IDS if holder.get(key)), "")
    tool = next((holder[key] for holder in holders for key in NAMES if isinstance(holder.get(key), str)), "")
    content = next((fields[key] for key in CONTENTS if fields.get(key) is not None), None)
    if isinstance(content, dict) and content.keys() <= {"type", "value", "providerOptions"} and "value" in content:
        failed = failed or str(content.get("type")).startswith("error")  # AI SDK 5
        content = content["value"]
    if isinstance(content, dict) and str(content.get("type")).endswith("_error"):  # Anthropic's own tools
        failed = True
    return Message("tool", text_of(_readable(content, unread), unread), (), str(id), tool, failed or has_error(fields))


def has_error(fields: dict[str, Any]) -> bool:
    """Whether a result is marked as an error, in any of the usual ways."""
    flags = (fields.get(key) for key in ("is_error", "isError", "error", "errorText"))
    return fields.get("status") == "error" or any(flag not in (None, False, "", {}) for flag in flags)


def text_of(content: object, unread: Counter[str] | None = None) -> str:
    """The text of a message's content: a text, the joined text parts, or another value as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    unread = Counter() if unread is None else unread
    parts = content.get("parts") if isinstance(content, dict) else content
    if isinstance(parts, list) and (_are_parts(parts) if parts else parts is content):
        pieces = (piece for part in parts for piece in read_part(part, unread))
        return "\n".join(piece.text for piece in pieces if piece.text is not None)
    if isinstance(content, dict) and kind_of(content) in TEXTS and "type" in content:
        return _text(content, unread)
    return msgspec.json.encode(content).decode()


@cache
def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")


def _is_step_of_tool(name: str, fields: dict[str, Any]) -> bool:
    return name.startswith("tool-") and "state" in fields and "toolName" not in fields


def _has_outcome(fields: dict[str, Any]) -> bool:
    return any(fields.get(key) not in (None, False) for key in OUTCOMES)


def _read_call_part(default: str | None, fields: dict[str, Any], unread: Counter[str]) -> PartContent:
    """A call, with its result if the same object has it."""
    inner = fields.get("toolInvocation")
    fields = inner if isinstance(inner, dict) else fields
    tool_call = read_call(fields, default)
    if not _has_outcome(fields):
        return PartContent(call=tool_call)
    outcome = {key: fields[key] for key in (*OUTCOMES, "status", "is_error") if key in fields}
    result = read_result(outcome, unread)
    return PartContent(
        call=tool_call,
        result=msgspec.structs.replace(result, call_id=tool_call.id, tool="" if tool_call.id else tool_call.tool),
    )


def _free_text(value: Any) -> Any:
    """The input of a custom tool, which is any text; where it is a JSON object, its fields."""
    try:
        decoded = msgspec.json.decode(value) if isinstance(value, str) else value
    except DECODING_ERRORS:
        decoded = None
    return value if isinstance(decoded, dict) else {"input": value}


def _text(fields: dict[str, Any], unread: Counter[str]) -> str:
    if "json" in fields and "text" not in fields:  # Bedrock
        return msgspec.json.encode(fields["json"]).decode()
    value = next((fields[key] for key in ("text", "content", "refusal", "value") if fields.get(key) is not None), None)
    if isinstance(value, dict) and isinstance(value.get("value"), str):  # OpenAI's threads
        return str(value["value"])
    if isinstance(value, list):
        pieces = (piece for part in value for piece in read_part(part, unread))
        return "\n".join(piece.text for piece in pieces if piece.text is not None)
    return text_of(value, unread)


def _document_text(fields: dict[str, Any], unread: Counter[str]) -> str:
    """The text of a document that is in the file; "" for one that is encoded (a PDF) or somewhere else."""
    inner = next((fields[key] for key in ("document", "resource") if isinstance(fields.get(key), dict)), fields)
    source = inner.get("source")
    if isinstance(source, dict):
        encoded = source.get("type") in ("base64", "url", "file")
        value = None if encoded else next((source[key] for key in ("data", "text", "content") if key in source), None)
    else:
        value = next((inner[key] for key in ("data", "text", "content") if key in inner), None)
    text = "" if value is None else text_of(value, unread)
    titles = [fields[key] for key in ("title", "context") if isinstance(fields.get(key), str)]
    return "\n".join([*titles, text]) if text else ""


def _readable(content: Any, unread: Counter[str]) -> Any:
    """Content without texts that are encrypted; these are counted."""
    entries = content if isinstance(content, list) else []
    if not any(isinstance(entry, dict) and "encrypted_content" in entry for entry in entries):
        return content
    unread["encrypted_content"] += sum("encrypted_content" in entry for entry in entries if isinstance(entry, dict))
    return [
        {key: value for key, value in entry.items() if key != "encrypted_content"} if isinstance(entry, dict) else entry
        for entry in entries
    ]


def _are_parts(values: list[Any]) -> bool:
    """Whether a list contains parts of a message, rather than data that a tool returned."""
    if not all(isinstance(value, dict) for value in values):
        return False
    known = [_is_known(value) for value in values]
    return any(known) if all("type" in value for value in values) else all(known)


def _is_known(part: dict[str, Any]) -> bool:
    name, fields = type_of(part)
    kind = _snake_case(name)
    if not any(key in part for key in TYPE_KEYS) and len(part.keys() - BESIDE) > 1:
        return False
    if kind in MEDIA or kind in DOCUMENTS:
        return fields is not part or not PAYLOADS.isdisjoint(part) or "type" not in part
    return kind in TEXTS or kind in IGNORED
