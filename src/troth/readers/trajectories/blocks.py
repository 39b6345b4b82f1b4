"""Converts parts of Gemini's and Bedrock's messages to Anthropic's content blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

BESIDE = frozenset(("thought", "thoughtSignature", "thought_signature"))  # keys that Gemini adds to a part
OTHER: dict[str, Any] = {"type": "other"}  # images, documents, reasoning: neither text nor calls


def blocks(content: object) -> object:
    """Blocks with a type, from content whose parts have their type as only key (`text`, `toolUse`, `functionCall`, …).

    Other content is returned unchanged.
    """
    parts = content.get("parts", content) if isinstance(content, dict) else content
    if not isinstance(parts, list) or not parts or not all(map(_is_part, parts)):
        return content
    return [_block(part) for part in parts]


def _is_part(part: object) -> bool:
    return isinstance(part, dict) and len(keys := part.keys() - BESIDE) == 1 and not keys.isdisjoint(_BLOCKS)


def _block(part: dict[str, Any]) -> dict[str, Any]:
    ((kind, value),) = ((key, value) for key, value in part.items() if key not in BESIDE)
    return OTHER if part.get("thought") is True else _BLOCKS[kind](value)


def _text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value}


def _call(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return OTHER
    id, arguments = value.get("toolUseId", value.get("id")), value.get("input", value.get("args"))
    return {"type": "tool_use", "id": id, "name": value.get("name"), "input": arguments}


def _result(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return OTHER
    id, content = value.get("toolUseId", value.get("id")), blocks(value.get("content", value.get("response")))
    failed = value.get("status") == "error"
    return {"type": "tool_result", "tool_use_id": id, "name": value.get("name"), "content": content, "is_error": failed}


_BLOCKS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "text": _text, "json": lambda value: _text(msgspec.json.encode(value).decode()),
    "toolUse": _call, "functionCall": _call, "function_call": _call,
    "toolResult": _result, "functionResponse": _result, "function_response": _result,
    **dict.fromkeys(("image", "document", "video", "reasoningContent", "cachePoint", "inlineData", "inline_data",
                     "fileData", "file_data"), lambda _: OTHER),
}  # fmt: skip
