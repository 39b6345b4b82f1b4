"""Calls that the tools' own schemas forbid: unknown tools, broken arguments, and what JSON Schema does not allow.

Types that are not JSON Schema's (BFCL's `dict`, `float`, `tuple` and `any`; Gemini's capitals) are read as its own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from troth.agents.tools import Toolbox
from troth.core.trajectories import Call, Tool

TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array", "int": "integer",
         "str": "string", "bool": "boolean"}  # fmt: skip
KNOWN = ("object", "array", "string", "number", "integer", "boolean", "null")
LONGEST = 200  # characters of a message that quotes a value


def schema_violation(call: Call, toolbox: Toolbox) -> str | None:
    """Returns why a call violates its tool's schema; None if it is valid or the tools are unknown."""
    if call.broken is not None:
        return "the arguments are not a JSON object"
    if not toolbox.tools:
        return None
    tool = toolbox.tools.get(call.tool)
    if tool is None:
        return f"there is no tool '{call.tool}'"
    check = _validator(_key(tool))
    if check is None:
        return None
    from referencing.exceptions import Unresolvable

    try:
        errors = sorted(check.iter_errors(call.arguments), key=lambda error: list(map(str, error.path)))
    except (Unresolvable, RecursionError, re.error):  # the schema's own fault: it says nothing of this call
        return None
    error = next(iter(errors), None)
    if error is None:
        return None
    argument = ".".join(map(str, error.path))
    message = error.message if len(error.message) <= LONGEST else error.message[: LONGEST - 1] + "…"
    return f"{argument}: {message}" if argument else message


def _key(tool: Tool) -> bytes:
    return msgspec.json.encode(tool.parameters)


@lru_cache(maxsize=4096)
def _validator(parameters: bytes) -> Any:
    """A validator of a tool's arguments; None where nothing is said of them, or the schema is none."""
    schema = json_schema(msgspec.json.decode(parameters))
    if not isinstance(schema, dict) or not schema:
        return None
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return None
    registry: Any = Registry()  # an empty one: references to other documents are never fetched
    return Draft202012Validator(schema, registry=registry)


def json_schema(node: Any) -> Any:
    """A schema with JSON Schema's own names of types; `any` and unknown names allow everything."""
    if isinstance(node, list):
        return [json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    copy = {
        key: json_schema(value) if key not in ("enum", "const", "default") else value for key, value in node.items()
    }
    kind = node.get("type")
    if isinstance(kind, str):
        name = TYPES.get(kind.lower(), kind.lower())
        if name in KNOWN:
            copy["type"] = [name, "null"] if node.get("nullable") is True else name
        else:
            del copy["type"]
    if isinstance(node.get("required"), bool):  # OpenAPI's older way, on the property itself
        del copy["required"]
    return copy
