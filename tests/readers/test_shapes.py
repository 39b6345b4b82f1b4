"""The same conversation in every shape gives the same trajectory, and what is not understood is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.readers.shapes import ASKED, CALLS, FIRST, LAST, SHAPES, SYSTEM, Shape, text
from troth.core.trajectories import Trajectory
from troth.readers import source, trajectories


def write(folder: Path, shape: Shape) -> str:
    file = folder / "log.jsonl"
    file.write_text(json.dumps(shape.rows[0], indent=1) if shape.whole else "\n".join(map(json.dumps, shape.rows)))
    return str(file)


def outline(one: Trajectory) -> dict[str, Any]:
    """What was said and called, without the borders of messages, which differ between layouts."""
    said = [message.text for message in one.messages if message.role == "assistant" and message.text]
    calls = [(n.call.tool, n.call.arguments, None if n.result is None else one.messages[n.result]) for n in one.calls()]
    return {
        "system": [message.text for message in one.messages if message.role == "system"],
        "user": one.users(),
        "calls": [
            (tool, arguments, result and result.text, result and result.error) for tool, arguments, result in calls
        ],
        "assistant": said,
        "order": [message.role for message in one.messages if message.role in ("user", "tool")],
    }


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_gives_the_same_conversation(tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    path = write(tmp_path, shape)
    (one,) = trajectories.read(path)
    assert outline(one) == {
        "system": [SYSTEM] if shape.system else [],
        "user": [ASKED],
        "calls": [(tool, arguments, text(result), False) for tool, arguments, result in CALLS],
        "assistant": [FIRST, LAST],
        "order": ["user", "tool", "tool"],
    }
    assert [tool.name for tool in one.tools] == (["cancel_order", "refund"] if shape.tools else [])
    assert (one.unread, one.rows) == ({}, shape.joined)
    assert trajectories.detect(source.first(path)) == shape.format


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 48


USER = {"role": "user", "content": ASKED}
IMAGE = {"type": "base64", "media_type": "image/png", "data": "iVBO"}
UNKNOWN: dict[str, tuple[Any, dict[str, int]]] = {
    "openai image": (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
        {"image_url": 1},
    ),
    "openai unknown part": (
        [{"role": "assistant", "content": [{"type": "hologram", "hologram": {}}]}],
        {"hologram": 1},
    ),
    "openai unknown key": (
        [USER, {"role": "assistant", "content": "x", "tool_runs": [{"name": "f"}]}],
        {"key tool_runs": 1},
    ),
    "a message of which nothing is read": ([USER, {"role": "assistant", "speech": {"said": "x"}}], {"key speech": 1}),
    "responses unknown item": ([USER, {"type": "hologram", "id": "h"}], {"hologram": 1}),
    "responses item reference": ([USER, {"type": "item_reference", "id": "rs_1"}], {"item_reference": 1}),
    "responses web search": (
        [USER, {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": "x"}}],
        {"web_search_call": 1},
    ),
    "anthropic unknown block": (
        [{"role": "assistant", "content": [{"type": "container_upload", "file_id": "f"}]}],
        {"container_upload": 1},
    ),
    "anthropic encrypted search result": (
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
                    {
                        "type": "web_search_tool_result",
                        "tool_use_id": "s",
                        "content": [
                            {"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": "EqgfC"}
                        ],
                    },
                ],
            }
        ],
        {"encrypted_content": 1},
    ),
    "anthropic pdf": (
        [{"role": "user", "content": [{"type": "document", "source": {**IMAGE, "type": "base64"}}]}],
        {"document": 1},
    ),
    "an image in a result": (
        [
            USER,
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": IMAGE}]}
                ],
            },
        ],
        {"image": 1},
    ),
    "gemini unknown part": (
        {"contents": [{"role": "user", "parts": [{"text": ASKED}, {"inlineData": {"data": "x"}}]}]},
        {"inlineData": 1},
    ),
    "bedrock video": (
        {"messages": [{"role": "user", "content": [{"text": ASKED}, {"video": {"format": "mp4"}}]}]},
        {"video": 1},
    ),
    "ai sdk data part": (
        [{"role": "assistant", "parts": [{"type": "text", "text": "x"}, {"type": "data-weather", "data": {}}]}],
        {"data-weather": 1},
    ),
    "langchain unknown block": ([{"type": "human", "content": [{"type": "audio", "base64": "x"}]}], {"audio": 1}),
    "pydantic ai unknown part": (
        [{"kind": "request", "parts": [{"part_kind": "hologram", "content": "x"}]}],
        {"hologram": 1},
    ),
    "haystack image": (
        [{"role": "user", "content": [{"text": ASKED}, {"image": {"base64_image": "x"}}]}],
        {"image": 1},
    ),
    "cohere 1 results": (
        [{"role": "USER", "message": ASKED}, {"role": "TOOL", "tool_results": [{"call": {}, "outputs": []}]}],
        {"key tool_results": 1},
    ),
    "langfuse generation": (
        {"id": "o", "traceId": "t", "type": "GENERATION", "input": {"hologram": 1}, "output": "x"},
        {"row generation": 1},
    ),
    "gateway answer": ({"request": {"messages": [USER]}, "output": {"hologram": 1}}, {"key output": 1}),
    "otel unknown part": (
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "t",
                                    "attributes": {
                                        "gen_ai.input.messages": json.dumps(
                                            [
                                                {
                                                    "role": "user",
                                                    "parts": [{"type": "text", "content": ASKED}, {"type": "hologram"}],
                                                }
                                            ]
                                        )
                                    },
                                }
                            ]
                        }
                    ]
                }
            ]
        },
        {"hologram": 1},
    ),
    "otel unknown attribute": (
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {"traceId": "t", "attributes": {"gen_ai.input.messages": json.dumps([USER])}},
                                {"traceId": "t", "attributes": {"gen_ai.holo_messages.0.x": "y"}},
                            ]
                        }
                    ]
                }
            ]
        },
        {"attribute gen_ai.holo_messages": 1},
    ),
    "otel unknown event": (
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": "t",
                                    "attributes": {},
                                    "events": [
                                        {"name": "gen_ai.user.message", "attributes": {"content": ASKED}},
                                        {"name": "gen_ai.holo.message", "attributes": {"content": "x"}},
                                    ],
                                }
                            ]
                        }
                    ]
                }
            ]
        },
        {"gen_ai.holo.message": 1},
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_understood_is_counted(tmp_path: Path, name: str) -> None:
    value, unread = UNKNOWN[name]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(value))
    (one,) = trajectories.read(str(file))
    assert one.unread == unread


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "assistant", "content": None, "refusal": "I cannot."}, "I cannot."),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}, "I cannot."),
        ({"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "Hello."}}, "Hello."),
        ({"role": "assistant", "content": ["One.", {"type": "text", "text": "Two."}]}, "One.\nTwo."),
        (
            {
                "role": "user",
                "content": [
                    {
                        "type": "document",
                        "title": "Rules",
                        "source": {"type": "text", "media_type": "text/plain", "data": "No refunds."},
                    }
                ],
            },
            "Rules\nNo refunds.",
        ),
        (
            {
                "role": "user",
                "content": [
                    {
                        "type": "search_result",
                        "source": "u",
                        "title": "Rules",
                        "content": [{"type": "text", "text": "No refunds."}],
                    }
                ],
            },
            "Rules\nNo refunds.",
        ),
    ],
)
def test_texts_in_unusual_blocks_are_read(tmp_path: Path, message: dict[str, Any], said: str) -> None:
    file = tmp_path / "log.json"
    file.write_text(json.dumps([message]))
    (one,) = trajectories.read(str(file))
    assert ([m.text for m in one.messages], one.unread) == ([said], {})


def test_calls_that_a_server_answers(tmp_path: Path) -> None:
    items = [
        {"type": "file_search_call", "id": "fs", "queries": ["rules"], "results": [{"text": "No refunds."}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": "print(1)"},
        {"type": "mcp_call", "id": "m", "name": "get", "arguments": "{}", "output": None, "error": "not found"},
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps([USER, *items]))
    (one,) = trajectories.read(str(file))
    made = [(n.call.tool, n.call.arguments, n.result and one.messages[n.result]) for n in one.calls()]
    assert [(tool, arguments) for tool, arguments, _ in made] == [
        ("file_search", {"queries": ["rules"]}),
        ("run", {"input": "print(1)"}),
        ("get", {}),
    ]
    assert [(result.text, result.error) if result else None for _, _, result in made] == [
        ("No refunds.", False),
        None,
        ("not found", True),
    ]
    assert one.unread == {}


def test_results_that_are_data_stay_whole(tmp_path: Path) -> None:
    """Entries with a `type` of their own are not parts of a message."""
    data = [{"type": "flight", "price": 120}, {"type": "file", "name": "a.txt"}]
    file = tmp_path / "log.json"
    file.write_text(json.dumps([USER, {"role": "tool", "tool_call_id": "a", "content": data}]))
    (one,) = trajectories.read(str(file))
    assert (json.loads(one.messages[1].text), one.unread) == (data, {})
