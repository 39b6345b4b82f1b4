"""Calls that the tools' own schemas forbid: unknown tools, broken arguments, and what JSON Schema does not allow.

Types that are not JSON Schema's (BFCL's `dict`, `float`, `tuple` and `any`; Gemini's capitals) are read as its own.

Schemas come with the transcripts and are not trusted: RE2 searches their patterns, in time linear in the text, and a
check ends after `MAX_STEPS` keywords. What cannot be checked this way is reported as not checked.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from troth.agents.tools import Toolbox, normalize_numbers
from troth.core.decode import TOO_DEEP, is_too_deep
from troth.core.text_cache import text_cache
from troth.core.trajectories import Call

TYPES = {"dict": "object", "float": "number", "double": "number", "tuple": "array", "list": "array", "int": "integer",
         "str": "string", "bool": "boolean"}  # fmt: skip
KNOWN = ("object", "array", "string", "number", "integer", "boolean", "null")
# Schemas of these keys and types alone are checked without the library: see `_PlainSchema`.
PLAIN_KEYS = frozenset(("type", "properties", "required", "additionalProperties", "description", "title"))
PLAIN_PROPERTY_KEYS = frozenset(("type", "description", "title", "enum", "default", "examples"))
PLAIN_TYPES: dict[str, type] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict
}  # fmt: skip
LONGEST = 200  # characters of a message that quotes a value
MAX_STEPS = 100_000  # keywords that one check applies; a schema whose references branch would apply billions
MAX_MEMORY = 1 << 22  # bytes of a compiled pattern

NO_SCHEMA = "the definition is not a valid JSON Schema"
NO_TARGET = "a reference in the definition leads nowhere"
PATTERN = "RE2 does not support a pattern in the definition"
TOO_LONG = "the check takes too many steps"


class SchemaVerdict(NamedTuple):
    """Why the tools' definitions forbid a call (None: they do not), and why a part of it could not be checked."""

    violation: str | None = None
    unchecked: str | None = None


class _TooManyStepsError(Exception):
    pass


class _Work(threading.local):
    """The check that this thread is doing."""

    steps = 0
    unchecked: str | None = None


_work = _Work()


def schema_violation(call: Call, toolbox: Toolbox) -> str | None:
    """Why the tools' definitions forbid a call; None if they allow it, or nothing is known of the tools."""
    return check_call(call, toolbox).violation


def check_call(call: Call, toolbox: Toolbox) -> SchemaVerdict:
    """Checks a call against the definition of its tool."""
    if call.broken is not None:
        return SchemaVerdict("the arguments are not a JSON object")
    if not toolbox.tools:
        return SchemaVerdict()
    if call.tool not in toolbox.tools:
        return SchemaVerdict(f"there is no tool '{call.tool}'")
    parameters = toolbox.schemas[call.tool]
    if parameters is None or is_too_deep(call.arguments):
        return SchemaVerdict(unchecked=TOO_DEEP)
    if (plain := _plain_schema(parameters)) is not None and plain.allows(call.arguments):
        return SchemaVerdict()
    validator = _validator(parameters)
    if validator is None or isinstance(validator, str):
        return SchemaVerdict(unchecked=validator)
    from referencing.exceptions import Unresolvable

    _work.steps, _work.unchecked = 0, None
    try:
        errors = list(validator.iter_errors(call.arguments))
    except Unresolvable:
        return SchemaVerdict(unchecked=NO_TARGET)
    except RecursionError:  # a reference that leads to itself
        return SchemaVerdict(unchecked=TOO_DEEP)
    except (_TooManyStepsError, ArithmeticError):  # the second: `multipleOf` and a number beyond all floats
        return SchemaVerdict(unchecked=TOO_LONG)
    if not errors:
        return SchemaVerdict(unchecked=_work.unchecked)
    error = min(errors, key=lambda error: list(map(str, error.path)))
    path = ".".join(map(str, error.path))
    message = error.message if len(error.message) <= LONGEST else error.message[: LONGEST - 1] + "…"
    return SchemaVerdict(f"{path}: {message}" if path else message, _work.unchecked)


class _PlainSchema(NamedTuple):
    """What most tools ask for: types of arguments by name. What it allows, a full check allows, too."""

    properties: dict[str, tuple[type, tuple[str, ...] | None]]
    required: tuple[str, ...]
    open: bool  # further arguments are allowed

    def allows(self, arguments: dict[str, Any]) -> bool:
        for name, value in arguments.items():
            kind, choices = self.properties.get(name, (None, None))
            if kind is None:
                if not self.open:
                    return False
                continue
            is_of_kind = type(value) is kind or (kind is float and type(value) is int)
            if not is_of_kind or (choices is not None and value not in choices):
                return False
        return all(name in arguments for name in self.required)


@text_cache
def _plain_schema(parameters: bytes) -> _PlainSchema | None:
    """The schema as a plain one; None if it says anything else, or is not valid."""
    schema = json_schema(msgspec.json.decode(parameters), dialects=False)
    if not isinstance(schema, dict) or schema.get("type") != "object" or schema.keys() - PLAIN_KEYS:
        return None
    further, properties = schema.get("additionalProperties", True), schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(further, bool) or not isinstance(properties, dict) or not _is_list_of_texts(required):
        return None
    if len(set(required)) < len(required) or not _is_described(schema):
        return None
    plain: dict[str, tuple[type, tuple[str, ...] | None]] = {}
    for name, own in properties.items():
        kind = PLAIN_TYPES.get(str(own.get("type"))) if isinstance(own, dict) else None
        if kind is None or own.keys() - PLAIN_PROPERTY_KEYS or not _is_described(own):
            return None
        choices = own.get("enum", ())
        if "enum" in own and (kind is not str or not _is_list_of_texts(choices)):
            return None
        plain[name] = kind, tuple(choices) if "enum" in own else None
    return _PlainSchema(plain, tuple(required), further)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_described(schema: dict[str, Any]) -> bool:
    """Whether the words about a schema have the types that JSON Schema asks for."""
    texts = (schema.get(key, "") for key in ("title", "description"))
    return all(isinstance(text, str) for text in texts) and isinstance(schema.get("examples", []), list)


@text_cache
def _validator(parameters: bytes) -> Any:
    """A validator of a tool's arguments; None if nothing is said of them; the reason if the schema is not valid."""
    schema = json_schema(msgspec.json.decode(parameters), dialects=False)
    if not isinstance(schema, dict) or not schema:
        return None
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError, OverflowError):  # the last two: of `re`, which compiles the patterns here
        return NO_SCHEMA
    registry: Any = Registry()  # an empty one: references to other documents are never fetched
    return _validator_class(b'"patternProperties"' in parameters)(schema, registry=registry)


@cache
def _validator_class(patterns: bool) -> Any:
    """JSON Schema's validator with RE2 as its engine of patterns, and a limit of steps.

    `patterns`: the schema has `patternProperties`. The library searches them with `re` where it computes
    `unevaluatedProperties`, so that this keyword is not checked in such a schema.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    own: dict[str, Any] = {"pattern": _pattern, "patternProperties": _pattern_properties, "uniqueItems": _unique_items}
    own |= {"additionalProperties": _additional_properties} if patterns else {}
    own |= {"unevaluatedProperties": _not_checked} if patterns else {}
    keywords = dict(Draft202012Validator.VALIDATORS) | own
    return extend(Draft202012Validator, {name: _count_steps(keyword) for name, keyword in keywords.items()})


Keyword = Callable[[Any, Any, Any, Any], Any]


def _count_steps(keyword: Keyword) -> Keyword:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _work.steps += 1
        if _work.steps > MAX_STEPS:
            raise _TooManyStepsError
        return keyword(validator, value, instance, schema)

    return counted


def _matches(pattern: str, text: str) -> bool | None:
    """Whether a pattern is found in a text; None, and the check is incomplete, if RE2 cannot search it."""
    import re2

    options = re2.Options()
    options.log_errors, options.max_mem = False, MAX_MEMORY
    try:
        own = re2.compile(re.sub(r"\\u([0-9a-fA-F]{4})", r"\\x{\1}", pattern), options)
        return own.search(text) is not None
    except (re2.error, UnicodeEncodeError):
        _work.unchecked = PATTERN
        return None


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(instance, "string") and _matches(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, _schema: Any) -> Iterator[Any]:
    for pattern, schema in patterns.items() if validator.is_type(instance, "object") else ():
        for name, value in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not validator.is_type(instance, "object"):
        return
    patterns = schema.get("patternProperties", {})
    extra = [
        name
        for name in instance
        if name not in schema.get("properties", {}) and all(_matches(each, name) is False for each in patterns)
    ]
    if isinstance(allowed, dict):
        for name in extra:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extra:
        names, verb = ", ".join(map(repr, sorted(extra))), "does" if len(extra) == 1 else "do"
        if patterns:
            yield ValidationError(
                f"{names} {verb} not match any of the regexes: {', '.join(map(repr, sorted(patterns)))}"
            )
        else:
            verb = "was" if len(extra) == 1 else "were"
            yield ValidationError(f"Additional properties are not allowed ({names} {verb} unexpected)")


def _not_checked(*_: Any) -> tuple[()]:
    _work.unchecked = PATTERN
    return ()


def _unique_items(validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """As the library has it, but in linear time for lists that cannot be sorted."""
    from jsonschema import ValidationError

    if unique and validator.is_type(instance, "array"):
        items = {msgspec.json.encode(normalize_numbers(item), order="sorted") for item in instance}
        if len(items) < len(instance):
            yield ValidationError(f"{instance!r} has non-unique elements")


def json_schema(node: Any, *, dialects: bool = True) -> Any:
    """A schema with JSON Schema's own names of types; `any` and unknown names allow everything.

    `dialects`: whether `$schema` stays; the library would check what is below it by the rules of another version.
    """
    if isinstance(node, list):
        return [json_schema(item, dialects=dialects) for item in node]
    if not isinstance(node, dict):
        return node
    copy = {
        key: json_schema(value, dialects=dialects) if key not in ("enum", "const", "default") else value
        for key, value in node.items()
        if dialects or key != "$schema" or not isinstance(value, str)
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
