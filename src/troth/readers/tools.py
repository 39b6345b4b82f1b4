"""Tools of an assistant: function definitions in all common layouts.

The layouts are OpenAI's (`{"type": "function", "function": {…}}`, and flat as the Responses API has them), Anthropic's
(`input_schema`), MCP's (`inputSchema`, also in its JSON-RPC envelope), Gemini's (`functionDeclarations`), Bedrock's
(`toolSpec`), bare functions (BFCL), one per line or in a list; and the operations of an OpenAPI document. Tools that
are not functions (web search, code execution) are ignored.

`definitions` gives the path of each function in a document, so that a copy can be written back; `read` gives `Tool`
records. Only this module knows these layouts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.core.errors import UserError
from troth.core.trajectories import Tool
from troth.readers import plain, source
from troth.readers.decode import decode_unique, error_context, lines

Path = tuple[str | int, ...]

LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")
WRAPPERS = ("result", "toolConfig", "tool_config", "request", "body")  # JSON-RPC, Bedrock, logged requests
INNER = ("function", "toolSpec", "tool_spec")
PARAMETERS: tuple[tuple[str, ...], ...] = (
    ("parameters",), ("input_schema",), ("inputSchema", "json"), ("inputSchema",),
    ("parametersJsonSchema",), ("parameters_json_schema",),
)  # fmt: skip
METHODS = ("get", "put", "post", "delete", "patch", "options", "head")
READING = ("get", "head", "options")
LAYOUTS = "a list of tools for OpenAI, Anthropic, MCP, Gemini or Bedrock, or an OpenAPI document"


class Definition(NamedTuple):
    """A function in a document: the keys that lead to it, the function, the keys to its parameters."""

    path: Path
    function: dict[str, Any]
    parameters: tuple[str, ...]  # (): the document does not describe its parameters

    @property
    def schema(self) -> Any:
        """The JSON Schema of the arguments; {} if there is none."""
        return _get(self.function, self.parameters) if self.parameters else {}


def load(path: str) -> list[Tool]:
    """The tools of a file."""
    document = source.first(path)
    with error_context(file=document.name):
        return read(_decode(document))


def read(document: Any) -> list[Tool]:
    """The tools of a decoded document."""
    tools = _operations(document) if is_openapi(document) else list(map(_tool, definitions(document)))
    if not tools:
        raise UserError("no function is defined in it", hint=LAYOUTS)
    seen: set[str] = set()
    for tool in tools:
        if tool.name in seen:
            raise UserError(f"function '{tool.name}' is defined twice", hint="remove one")
        seen.add(tool.name)
    return tools


def definitions(document: Any) -> list[Definition]:
    """Every function that a document defines, with its path; without operations of OpenAPI documents."""
    return list(_definitions(document, ()))


def is_openapi(document: Any) -> bool:
    """Whether a document is an OpenAPI (or Swagger) description."""
    return isinstance(document, dict) and isinstance(document.get("paths"), dict)


def replace_at(document: Any, path: Path, value: Any) -> Any:
    """A copy of a document with another value at a path; the rest is shared with the original."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    copy = list(document) if isinstance(document, list) else dict(document)
    copy[step] = replace_at(document[step], rest, value)  # type: ignore[index]
    return copy


def _decode(document: source.Document) -> Any:
    if document.starts(b"{"):
        try:  # several lines, each an object: BFCL's documents of functions
            msgspec.json.decode(document.data, type=msgspec.Raw)
        except DECODING_ERRORS:
            return [row for _, row in lines(document)]
    return decode_unique(document, object)


def _definitions(node: Any, path: Path) -> Iterator[Definition]:
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _definitions(item, (*path, index))
    if not isinstance(node, dict):
        return
    inside = next((key for key in (*LISTS, *WRAPPERS) if isinstance(node.get(key), list | dict)), None)
    if inside in LISTS and isinstance(node[inside], list):
        yield from _definitions(node[inside], (*path, inside))
        return
    inner = next((key for key in INNER if isinstance(node.get(key), dict)), None)
    if inner is not None:
        yield _definition(node[inner], (*path, inner))
    elif isinstance(node.get("name"), str) and node.get("type", "function") in ("function", "custom", None):
        yield _definition(node, path)
    elif inside in WRAPPERS:
        yield from _definitions(node[inside], (*path, inside))


def _definition(function: dict[str, Any], path: Path) -> Definition:
    name = function.get("name")
    if not isinstance(name, str) or not name:
        tool = "tool " + ".".join(map(str, path)) if path else "the tool"
        raise UserError(f"{tool}: a function without a name", hint='"name" must be text')
    return Definition(path, function, next((keys for keys in PARAMETERS if _get(function, keys) is not None), ()))


def _get(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _tool(definition: Definition) -> Tool:
    function = definition.function
    parameters = plain.mapping(definition.schema, f"function '{function['name']}': 'parameters'")
    description = function.get("description") or function.get("title") or ""
    read_only = _get(function, ("annotations", "readOnlyHint"))  # of MCP
    return Tool(function["name"], str(description), parameters, not read_only if isinstance(read_only, bool) else None)


def _operations(document: dict[str, Any]) -> list[Tool]:
    """Each operation as a tool: its parameters and the fields of its body are the arguments.

    Shared definitions are copied under their own keys, so that references such as `#/components/schemas/Pet` stay
    valid.
    """
    shared = {key: document[key] for key in ("components", "definitions") if isinstance(document.get(key), dict)}
    tools: list[Tool] = []
    for path, operations in document["paths"].items():
        common = plain.mapping(operations, f"path '{path}'").get("parameters", [])
        for method in METHODS:
            if not isinstance(operations.get(method), dict):
                continue
            operation = operations[method]
            name = operation.get("operationId") or f"{method}_{path.strip('/')}".replace("/", "_")
            about = operation.get("description") or operation.get("summary") or ""
            schema = _arguments(document, [*common, *operation.get("parameters", [])], operation.get("requestBody"))
            tools.append(Tool(str(name), str(about), {**schema, **shared}, method not in READING))
    return tools


def _arguments(document: Any, parameters: list[Any], body: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for item in (_resolve(document, parameter) for parameter in parameters):
        name = item.get("name")
        if not isinstance(name, str):
            continue
        if item.get("in") == "body":  # Swagger 2
            body = {"content": {"application/json": {"schema": item.get("schema")}}, "required": item.get("required")}
            continue
        schema = item.get("schema") or {key: item[key] for key in ("type", "enum", "items", "format") if key in item}
        properties[name] = {**schema, **({"description": item["description"]} if "description" in item else {})}
        required += [name] if item.get("required") else []
    fields = _resolve(document, _body(_resolve(document, body)))
    properties |= fields.get("properties", {})
    required += fields.get("required", [])
    return {"type": "object", "properties": properties, "required": required}


def _body(body: dict[str, Any]) -> Any:
    content = body.get("content")
    if not isinstance(content, dict) or not content:
        return {}
    kind = content.get("application/json") or next(iter(content.values()))
    return kind.get("schema") if isinstance(kind, dict) else {}


def _resolve(document: Any, node: Any, depth: int = 8) -> dict[str, Any]:
    """An object, or the object that its `$ref` names within the document."""
    reference = node.get("$ref") if isinstance(node, dict) else None
    if isinstance(reference, str) and reference.startswith("#/") and depth:
        target = document
        for key in reference[2:].split("/"):
            target = target.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        return _resolve(document, target, depth - 1)
    return node if isinstance(node, dict) else {}
