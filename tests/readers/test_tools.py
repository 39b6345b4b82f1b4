"""Tools in every layout: the same functions come out, and each is found where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from troth.core.errors import UserError
from troth.core.trajectories import Call, Message, Tool, Trajectory
from troth.readers import tools

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
BARE: dict[str, Any] = {"name": "weather", "description": "Weather of a city."}
WEATHER = Tool("weather", "Weather of a city.", SCHEMA)
SPEC = {**BARE, "inputSchema": {"json": SCHEMA}}

LAYOUTS: dict[str, Any] = {
    "openai": [{"type": "function", "function": {**BARE, "parameters": SCHEMA}}],
    "responses": [{"type": "function", **BARE, "parameters": SCHEMA}, {"type": "web_search"}],
    "anthropic": {"tools": [{**BARE, "input_schema": SCHEMA}]},
    "mcp": {"tools": [{**BARE, "inputSchema": SCHEMA}]},
    "json-rpc": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**BARE, "inputSchema": SCHEMA}]}},
    "gemini": {"tools": [{"functionDeclarations": [{**BARE, "parameters": SCHEMA}]}]},
    "gemini-schema": [{"function_declarations": [{**BARE, "parametersJsonSchema": SCHEMA}]}],
    "bedrock": {"toolConfig": {"tools": [{"toolSpec": SPEC}]}},
    "bare": {**BARE, "parameters": SCHEMA},
    "functions": {"functions": [{**BARE, "parameters": SCHEMA}]},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_tool(layout: str) -> None:
    document = LAYOUTS[layout]
    assert tools.read(document) == [WEATHER]
    (definition,) = tools.definitions(document)
    renamed = tools.replace_at(document, definition.path, {**definition.function, "name": "climate"})
    assert [tool.name for tool in tools.read(renamed)] == ["climate"]
    assert tools.read(document) == [WEATHER]  # the original is left as it was


def test_openapi_operations_are_tools() -> None:
    pet = {"type": "object", "properties": {"tag": {"type": "string"}}, "required": ["tag"]}
    document = {
        "openapi": "3.1.0",
        "components": {"schemas": {"Pet": pet}, "parameters": {"Id": {"name": "id", "in": "path", "required": True}}},
        "paths": {
            "/pets/{id}": {
                "parameters": [{"$ref": "#/components/parameters/Id"}],
                "get": {"operationId": "show_pet", "summary": "One pet."},
                "put": {
                    "description": "Changes a pet.",
                    "parameters": [{"name": "dry", "in": "query", "schema": {"type": "boolean"}, "description": "Try"}],
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                },
            }
        },
    }
    show, change = tools.read(document)
    assert (show.name, show.description, show.writes) == ("show_pet", "One pet.", False)
    assert (change.name, change.writes) == ("put_pets_{id}", True)
    assert list(change.parameters["properties"]) == ["id", "dry", "tag"]
    assert change.parameters["required"] == ["id", "tag"]
    assert change.parameters["properties"]["dry"] == {"type": "boolean", "description": "Try"}


def test_annotations_say_what_writes() -> None:
    hinted = [{**BARE, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}]
    assert tools.read(hinted)[0].writes is False


def test_one_function_per_line(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    rows = [{**BARE, "parameters": SCHEMA}, {**BARE, "name": "time", "parameters": {}}]
    file.write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    assert [tool.name for tool in tools.load(str(file))] == ["weather", "time"]


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ([], "no function is defined in it"),
        ("text", "no function is defined in it"),
        ([BARE, BARE], "function 'weather' is defined twice"),
        ([{"type": "function", "function": {}}], "tool 0.function: a function without a name"),
        ([{**BARE, "parameters": [1]}], "function 'weather': 'parameters' is a list, not an object"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(document: Any, line: str) -> None:
    with pytest.raises(UserError, match=line):
        tools.read(document)


def test_results_find_their_calls_even_where_ids_repeat() -> None:
    def ask(id: str, tool: str = "weather") -> Message:
        return Message("assistant", calls=(Call(tool, {}, id),))

    messages = (
        Message("user", "hi"), ask("a"), Message("tool", "1", call_id="a"), Message("user", "again"),
        ask("a"), Message("tool", "2", call_id="a"), ask("b"),
        Message("assistant", calls=(Call("x"), Call("y"))), Message("tool", "of y", tool="y"), Message("tool", "of x"),
    )  # fmt: skip
    calls = list(Trajectory("t", messages).calls())
    assert [(one.turn, one.result) for one in calls] == [(0, 2), (1, 5), (1, None), (1, 9), (1, 8)]
