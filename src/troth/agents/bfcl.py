"""BFCL's checker of calls: whether a call is an accepted one and, if not, the public checker's name for the error.

Written from its definition in docs/metrics.md, and tested against the public checker's verdicts. Types are those of the
tool's schema and are exact: a bool is no int, an int passes for a float. A value whose type equals that of gold's first
accepted value passes as a "variable" and is compared plainly. Texts compare without case, spaces and `,./-_*^`. The
checker looks one level into nested types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from troth.core.trajectories import Call, Expected, Tool

KINDS: dict[str, type] = {
    "string": str, "integer": int, "float": float, "number": float, "boolean": bool, "array": list, "tuple": list,
    "dict": dict, "object": dict, "any": str,
}  # fmt: skip
LISTS = ("array", "tuple")

_LOOSE = re.compile(r"[ ,./\-_*^]")


def error(call: Call, expected: Expected, tool: Tool | None, *, checked: bool = True) -> str | None:
    """The checker's error type for a call that should be the expected one; None if it is right.

    Without the tool's definition, or without `checked`, gold alone tells the parameters.
    """
    if call.tool != expected.tool:
        return "simple_function_checker:wrong_func_name"
    schema = {} if tool is None else tool.parameters
    properties = schema.get("properties")
    details: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
    if checked and any(name not in call.arguments for name in schema.get("required") or ()):
        return "simple_function_checker:missing_required"
    for name, value in call.arguments.items():
        if (checked and details and name not in details) or (name not in expected.arguments and not expected.open):
            return "simple_function_checker:unexpected_param"
        if name not in expected.arguments:
            continue
        if (wrong := value_error(value, accepted_values(expected, name), details.get(name))) is not None:
            return wrong
    if any(name not in call.arguments and name not in expected.optional for name in expected.arguments):
        return "simple_function_checker:missing_optional"
    return None


def accepted_values(expected: Expected, name: str) -> Sequence[Any]:
    """The accepted values of an argument with lists of accepted values inside objects, too, as BFCL writes them."""
    values = expected.arguments[name]
    return values if expected.nested else [_nest_values(value) for value in values]


def _nest_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: [_nest_values(item)] for key, item in value.items()}
    return [_nest_values(item) for item in value] if isinstance(value, list) else value


def value_error(value: Any, accepted: Sequence[Any], detail: Any) -> str | None:
    """The error type of one argument's value; `detail` is its part of the tool's schema."""
    name = detail.get("type") if isinstance(detail, dict) else None
    known = name if isinstance(name, str) and name in KINDS else None
    kind = KINDS[known] if known else _first_type(accepted) or type(value)
    items = detail.get("items") if isinstance(detail, dict) and known in LISTS else None
    inner = KINDS.get(str(items.get("type"))) if isinstance(items, dict) else None
    if kind is float and type(value) is int:
        value = float(value)
    wrong, variable = _check_type(value, accepted, kind, inner)
    if wrong is not None:
        return wrong
    if not variable:
        if kind is dict:
            return _object_error(value, accepted)
        if kind is list and inner is dict:
            return _objects_error(value, accepted)
        if kind is str:
            texts = [normalize_text(option) for option in accepted if isinstance(option, str)]
            return None if normalize_text(value) in texts else "value_error:string"
        if kind is list:
            lists = [[normalize_text(item) for item in option] for option in accepted if isinstance(option, list | str)]
            return None if [normalize_text(item) for item in value] in lists else "value_error:list/tuple"
    return None if value in accepted else "value_error:others"


def normalize_text(value: Any) -> Any:
    """A text without case, spaces and some punctuation; anything else as it is."""
    return _LOOSE.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value


def _first_type(accepted: Sequence[Any]) -> type | None:
    """The type of the first accepted value that is one."""
    return next((type(value) for value in accepted if value != ""), None)


def _check_type(value: Any, accepted: Sequence[Any], kind: type, inner: type | None) -> tuple[str | None, bool]:
    """The error type of a value's type, and whether the value passes as a "variable"."""
    first = _first_type(accepted)
    if type(value) is kind and (inner is None or any(_has_item_types(value, option, inner) for option in accepted)):
        return None, first is not None and first is not kind
    if first is not None and type(value) is first:
        return None, True
    return "type_error:simple", False


def _has_item_types(value: Any, accepted: Any, inner: type) -> bool:
    return not isinstance(accepted, list) or all(_check_type(item, accepted, inner, None)[0] is None for item in value)


def _object_error(value: Any, accepted: Sequence[Any]) -> str | None:
    wrong: str | None = "dict_checker:unclear"
    for option in accepted:
        if not isinstance(option, dict):
            continue
        if (wrong := _entries_error(value, option)) is None:
            return None
    return wrong


def _entries_error(value: Any, accepted: Mapping[str, Any]) -> str | None:
    if not isinstance(value, dict):
        return "value_error:dict_value"
    for key, item in value.items():
        if key not in accepted:
            return "value_error:dict_key"
        if normalize_text(item) not in [normalize_text(option) for option in accepted[key]]:
            return "value_error:dict_value"
    if any(key not in value and "" not in values for key, values in accepted.items()):
        return "value_error:dict_key"
    return None


def _objects_error(value: list[Any], accepted: Sequence[Any]) -> str | None:
    wrong: str | None = "list_dict_checker:unclear"
    for option in accepted:
        if not isinstance(option, list) or len(value) != len(option):
            wrong = "value_error:list_dict_count"
            continue
        wrong = next(filter(None, (_object_error(v, [g]) for v, g in zip(value, option, strict=True))), None)
        if wrong is None:
            return None
    return wrong
