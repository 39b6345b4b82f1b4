"""Answers that were logged as a stream: chunks of OpenAI, events of Anthropic and Bedrock, parts of Gemini and Ollama.

An answer in pieces is read as the whole answer.
"""

from __future__ import annotations

from typing import Any

import msgspec

from troth.core.decode import DECODING_ERRORS

MARK = "data:"  # of server-sent events


def assemble(value: Any) -> dict[str, Any] | None:
    """The whole answer of a stream, which is a list of events or their text; None for other values."""
    events = _parse_events(value) if isinstance(value, str) else value
    if not isinstance(events, list) or not events or not all(isinstance(event, dict) for event in events):
        return None
    for event in events:
        if event.get("type") == "response.completed" and isinstance(event.get("response"), dict):  # Responses API
            whole: dict[str, Any] = event["response"]
            return whole
    candidates = [entries[0] for event in events if (entries := _objects(event, "candidates"))]
    if candidates:  # Gemini
        contents = [candidate["content"] for candidate in candidates if isinstance(candidate.get("content"), dict)]
        return {"role": "model", "parts": [part for content in contents for part in _objects(content, "parts")]}
    if all("done" in event for event in events) and isinstance(events[0].get("message"), dict):  # Ollama
        pieces = [event["message"] for event in events if isinstance(event.get("message"), dict)]
        calls = [call for piece in pieces for call in _objects(piece, "tool_calls")]
        return {
            "role": "assistant",
            "content": "".join(str(p.get("content") or "") for p in pieces),
            "tool_calls": calls,
        }
    deltas = [
        choices[0]["delta"] for event in events if (choices := _objects(event, "choices")) and "delta" in choices[0]
    ]
    return _join_deltas(deltas) if deltas else _join_blocks(events)


def _parse_events(text: str) -> list[Any] | None:
    if not text.lstrip().startswith((MARK, "event:")):
        return None
    lines = [line.removeprefix(MARK).strip() for line in text.splitlines() if line.startswith(MARK)]
    try:
        return [msgspec.json.decode(line) for line in lines if line != "[DONE]"]
    except DECODING_ERRORS:
        return None


def _objects(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    entries = value.get(key)
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _join_deltas(deltas: list[Any]) -> dict[str, Any]:
    """OpenAI: texts, and calls by their index, whose arguments come in pieces."""
    texts: list[str] = []
    calls: dict[Any, dict[str, Any]] = {}
    for delta in (delta for delta in deltas if isinstance(delta, dict)):
        texts += [text for key in ("content", "refusal") if isinstance(text := delta.get(key), str)]
        for piece in _objects(delta, "tool_calls"):
            function = piece["function"] if isinstance(piece.get("function"), dict) else {}
            call = calls.setdefault(str(piece.get("index")), {"id": None, "name": None, "arguments": ""})
            call["id"], call["name"] = piece.get("id") or call["id"], function.get("name") or call["name"]
            call["arguments"] += str(function.get("arguments") or "")
    return {"role": "assistant", "content": "".join(texts), "tool_calls": list(calls.values())}


def _join_blocks(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Anthropic and Bedrock: blocks by their index, each with a start and pieces of text or of a call's input."""
    blocks: dict[str, dict[str, Any]] = {}
    is_stream = False
    for event in events:
        inner = next((event[key] for key in ("contentBlockStart", "contentBlockDelta") if key in event), event)
        is_stream = is_stream or inner is not event or event.get("type") == "content_block_delta"
        if not isinstance(inner, dict):
            continue
        start = inner.get("content_block") or inner.get("start")
        index, delta = str(inner.get("index", inner.get("contentBlockIndex"))), inner.get("delta")
        if isinstance(start, dict):
            tool_use = start.get("toolUse")
            bedrock = (
                {"type": "tool_use", "id": tool_use.get("toolUseId"), "name": tool_use.get("name")}
                if isinstance(tool_use, dict)
                else {}
            )
            blocks[index] = {**(bedrock or start), "pieces": []}
        if isinstance(delta, dict) and (inner is not event or event.get("type") == "content_block_delta"):
            block = blocks.setdefault(index, {"type": "text", "pieces": []})
            tool_use = delta.get("toolUse")
            piece = (
                tool_use.get("input") if isinstance(tool_use, dict) else delta.get("text", delta.get("partial_json"))
            )
            block["pieces"] += [piece] if isinstance(piece, str) else []
            block["type"] = "reasoning" if "reasoningContent" in delta else block.get("type")
    content = [_finish(block) for _, block in sorted(blocks.items(), key=lambda item: (len(item[0]), item[0]))]
    return {"role": "assistant", "content": content} if is_stream else None


def _finish(block: dict[str, Any]) -> dict[str, Any]:
    text = "".join(block.pop("pieces"))
    if str(block.get("type")).endswith("tool_use"):
        return {**block, "input": text or block.get("input") or {}}
    return {**block, "text": str(block.get("text") or "") + text} if block.get("type") == "text" else block
