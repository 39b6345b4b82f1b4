"""An assistant's tools as a schema: function definitions as OpenAI, Anthropic and others take them, read and written.

Taken are a list of tools (or one, or an object that has them under "tools" or "functions"), each as
{"type": "function", "function": {…}}, flat as the Responses API has it, or bare; arguments under "parameters",
"input_schema" or "inputSchema". Each function is a service with one intent, since arguments of one name need not mean
the same in two functions. Arguments are slots, those of nested objects (and of the objects in a list) with dots:
`address.city`. Enumerations and booleans are categorical. Tools that are no functions are passed through.

A variant is written into a copy of the definitions, so all that is not a name or a description stays as it was, to
the letter. What could not be kept right under other names is refused with its place: patterns over names, conditions,
definitions used in several places, default objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.records import Intent, Schema, Service, SlotSchema
from troth.perturb.schemas import naming

LISTS = ("tools", "functions")
PARAMETERS = ("parameters", "input_schema", "inputSchema")
DEFINITIONS = ("$defs", "definitions")
COMBINED = ("anyOf", "oneOf", "allOf")
INSTANCES = ("default", "const", "enum", "examples", "example")  # values and not schemas
OF_NAMES = frozenset((
    "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies", "if", "then", "else",
    "not", "$dynamicRef", "$recursiveRef", "discriminator", "propertyOrdering",
))  # fmt: skip
PLAIN_INSIDE = ("additionalProperties", "unevaluatedProperties", "prefixItems", "contains", "additionalItems",
                "unevaluatedItems", "contentSchema")  # fmt: skip


class ToolDefinitions(msgspec.Struct, frozen=True):
    """Definitions as they were given, and what they say as a schema."""

    document: Any
    schema: Schema

    def written(self, variant: Schema) -> Any:
        """The definitions under a variant's names and descriptions; under the schema's own, just as they were given."""
        services = iter(zip(self.schema.values(), variant.values(), strict=True))

        def write(tool: Any) -> Any:
            function = _function(tool)
            if function is None:
                return tool
            written = _written(function, *next(services))
            return {**tool, "function": written} if function is not tool else written

        listed = [write(tool) for tool in _listed(self.document)]
        if isinstance(self.document, list):
            return listed
        key = next((key for key in LISTS if isinstance(self.document.get(key), list)), None)
        return listed[0] if key is None else {**self.document, key: listed}


def detect(document: Any) -> bool:
    """Whether a JSON document is a list of tools, by what is in it."""
    if not isinstance(document, list | dict):
        return False
    functions = [function for tool in _listed(document) if (function := _function(tool)) is not None]
    return any(key in function for function in functions for key in ("description", *PARAMETERS))


def read(document: Any) -> ToolDefinitions:
    """Function definitions with their schema."""
    schema: Schema = {}
    for position, tool in enumerate(_listed(document)):
        function = _function(tool)
        if function is None:
            continue
        service = _Function(function, f"tool {position}").service()
        if service.name in schema:
            raise UserError(f"function '{service.name}' is defined twice", hint="remove one")
        schema[service.name] = service
    if not schema:
        raise UserError("no function is defined in it", hint='{"type": "function", "function": {"name": …}}')
    return ToolDefinitions(document, schema)


def distinct(variant: Schema, *, strict: bool) -> Schema:
    """A variant in which no two functions have one name; the later is numbered, or (`strict`) refused."""
    taken: set[str] = set()
    services: Schema = {}
    for key, service in variant.items():
        intent = service.intents[0]
        if intent.name in taken and strict:
            raise UserError(f"two functions would be called '{intent.name}'", hint="give other paraphrases")
        name = naming.unique(intent.name, taken)
        taken.add(name)
        services[key] = msgspec.structs.replace(service, intents=(msgspec.structs.replace(intent, name=name),))
    return services


def names(old: Schema, new: Schema) -> dict[str, Any]:
    """New names to old ones, by function: what a call made under a variant is brought back with."""
    return {
        theirs.intents[0].name: {
            "name": ours.intents[0].name,
            "arguments": {b.name: a.name for a, b in zip(ours.slots, theirs.slots, strict=True)},
        }
        for ours, theirs in zip(old.values(), new.values(), strict=True)
    }


def _listed(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        return next((document[key] for key in LISTS if isinstance(document.get(key), list)), [document])
    raise UserError("is neither a list nor an object", hint="a list of tools is expected")


def _function(tool: Any) -> dict[str, Any] | None:
    """The part of a tool that defines a function; None if it is a tool of another kind."""
    if not isinstance(tool, dict):
        return None
    inner = tool.get("function")
    if isinstance(inner, dict):
        return inner
    kind = tool.get("type", "function")
    return tool if isinstance(tool.get("name"), str) and kind in ("function", "custom", None) else None


class _Function:
    """One function read: its arguments found, and everything that other names would break refused."""

    def __init__(self, function: dict[str, Any], place: str) -> None:
        name = function.get("name")
        if not isinstance(name, str) or not name:
            raise UserError(f"{place}: a function without a name", hint='"name" must be text')
        self.name, self.function = name, function
        self.key = next((key for key in PARAMETERS if function.get(key) is not None), None)
        self.root: Any = function[self.key] if self.key else {}
        self.places: dict[int, str] = {}  # identity of a schema that may speak of arguments, to its dotted name
        self.entered: set[str] = set()  # references whose definition is used
        self.inside: dict[str, bool] = {}  # reference to whether there are names of arguments behind it
        self.slots: dict[str, SlotSchema] = {}
        self.required: list[str] = []
        self.demanded: list[str] = []  # dotted names that a "required" has, wherever
        self.optional: dict[str, Any] = {}

    def service(self) -> Service:
        if not isinstance(self.root, dict):
            raise self._refused("", "its parameters are not an object")
        self._walk(self.root, "", required=True)
        for path in self.demanded:
            if path not in self.slots:
                raise self._refused(path, "it is required, and nothing else is said of it")
        intent = Intent(self.name, _described(self.function), False, tuple(self.required), self.optional)
        return Service(self.name, "", tuple(self.slots.values()), (intent,))

    def _refused(self, dotted: str, why: str) -> UserError:
        place = f"function '{self.name}'" + (f", argument '{dotted}'" if dotted else "")
        return UserError(f"{place}: {why}", hint="a round trip could not keep it; see docs/schemas.md")

    def _walk(self, node: Any, dotted: str, *, required: bool) -> None:
        if isinstance(node, bool):
            return
        if not isinstance(node, dict):
            raise self._refused(dotted, "its schema is not an object")
        self._mark(node, dotted)
        nested = [part for key in COMBINED for part in _inner(node.get(key))]
        branches = [part for key in COMBINED for part in _parts(node.get(key))]
        for name in (name for part in (node, *branches) for name in _parts(part.get("required"), str)):
            self.demanded.append(_dotted(dotted, name))
        for key in (key for part in (node, *nested) for key in part if key in OF_NAMES):
            raise self._refused(dotted, f"'{key}' may speak of names")
        for key in PLAIN_INSIDE:
            if _properties_inside(node.get(key)) or _references(node.get(key)):
                raise self._refused(dotted, f"arguments inside '{key}' have no names of their own")
        definition = [{"$ref": node["$ref"]}] if "$ref" in node else []
        inner = [part for part in (*_alternatives(node), *definition) if self._names_inside(part)]
        if len(inner) + bool(node.get("properties")) > 1:
            raise self._refused(dotted, "its arguments are spread over several alternatives")
        if (inner or node.get("properties")) and any(_objects(node.get(key)) for key in INSTANCES):
            raise self._refused(dotted, "a default or an example of it has names of arguments in it")
        self._properties(node, dotted, required=required)
        for part in inner:
            self._enter(part, dotted, required=required)

    def _mark(self, node: Any, dotted: str) -> None:
        """All schemas of one place speak of the same arguments."""
        if isinstance(node, dict):
            self.places[id(node)] = dotted
            for part in _alternatives(node):
                self._mark(part, dotted)

    def _names_inside(self, part: Any) -> bool:
        """Whether there are names of arguments in a part, or in a definition that it leads to."""
        if not isinstance(part, dict):
            return False
        return _properties_inside(part) or any(map(self._names_behind, _references(part)))

    def _names_behind(self, reference: str) -> bool:
        if reference not in self.inside:  # each once: definitions may lead to each other in very many ways
            self.inside[reference] = True  # one that leads back to itself has no end of names
            self.inside[reference] = self._names_inside(self._resolved(reference))
        return self.inside[reference]

    def _resolved(self, reference: str) -> Any:
        for key in DEFINITIONS:
            name = reference.removeprefix(f"#/{key}/")
            definitions = self.root.get(key)
            if name != reference and isinstance(definitions, dict) and name in definitions:
                return definitions[name]
        raise self._refused("", f"the reference '{reference}' leads nowhere in its parameters")

    def _enter(self, part: Any, dotted: str, *, required: bool) -> None:
        reference = part.get("$ref")
        if reference is None:
            self._walk(part, dotted, required=required)
            return
        if reference in self.entered:
            raise self._refused(dotted, f"the definition '{reference}' is used in several places: write it out in each")
        self.entered.add(reference)
        self._walk(self._resolved(reference), dotted, required=required)

    def _properties(self, node: dict[str, Any], dotted: str, *, required: bool) -> None:
        properties, needed = node.get("properties", {}), node.get("required", [])
        if not isinstance(properties, dict):
            raise self._refused(dotted, "its properties are not an object")
        if not isinstance(needed, list):
            raise self._refused(dotted, "'required' is not a list")
        for name, child in properties.items():
            if not name or "." in name:
                raise self._refused(dotted, f"an argument called '{name}': dots stand between nested names")
            path = _dotted(dotted, name)
            if path in self.slots:
                raise self._refused(path, "it is there twice")
            values = self._values(child)
            self.slots[path] = SlotSchema(path, _described(child), bool(values), values)
            if required and name in needed:
                self.required.append(path)
            else:
                self.optional[path] = child.get("default") if isinstance(child, dict) else None
            self._walk(child, path, required=required and name in needed)

    def _values(self, node: Any, depth: int = 8) -> tuple[str, ...]:
        """The closed list of values of an argument, as text: an enumeration, true or false; null means none."""
        if not isinstance(node, dict) or not depth:
            return ()
        if isinstance(node.get("enum"), list):
            return tuple(dict.fromkeys(_text(value) for value in node["enum"] if value is not None))
        if "const" in node:
            return (_text(node["const"]),)
        kinds = node.get("type")
        if [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"] == ["boolean"]:
            return ("True", "False")
        if isinstance(node.get("$ref"), str):
            return self._values(self._resolved(node["$ref"]), depth - 1)
        branches: list[Any] = next((node[key] for key in COMBINED if isinstance(node.get(key), list)), [])
        listed = [self._values(branch, depth - 1) for branch in branches if branch != {"type": "null"}]
        return tuple(dict.fromkeys(value for values in listed for value in values)) if all(listed) else ()

    def renamed(self, node: Any, slots: Mapping[str, SlotSchema]) -> Any:
        """A copy of a schema under the names and descriptions of `slots`, by the old dotted names."""
        if isinstance(node, list):
            return [self.renamed(part, slots) for part in node]
        if not isinstance(node, dict):
            return node
        copy = {key: self.renamed(value, slots) for key, value in node.items()}
        if id(node) not in self.places:
            return copy
        here = {path: slot for path, slot in slots.items() if path.rpartition(".")[0] == self.places[id(node)]}
        by_name = {path.rpartition(".")[2]: slot for path, slot in here.items()}
        new = {name: slot.name.rpartition(".")[2] for name, slot in by_name.items()}
        if isinstance(node.get("properties"), dict):
            for name, child in copy["properties"].items():
                if _has_description(child):
                    child["description"] = by_name[name].description
            copy["properties"] = {new.get(name, name): child for name, child in copy["properties"].items()}
        if isinstance(node.get("required"), list):
            copy["required"] = [new.get(name, name) if isinstance(name, str) else name for name in node["required"]]
        return copy


def _written(function: dict[str, Any], old: Service, new: Service) -> dict[str, Any]:
    """A function with the new names put in."""
    alone: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(function))  # nothing in it is shared
    reader = _Function(alone, "")
    reader.service()
    written = {**alone, "name": new.intents[0].name}
    if "description" in function:
        written["description"] = new.intents[0].description
    if reader.key is not None:
        slots = {a.name: b for a, b in zip(old.slots, new.slots, strict=True)}
        written[reader.key] = reader.renamed(reader.root, slots)
    return written


# -- parts of a JSON schema --------------------------------------------------------------------------------------------


def _dotted(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _parts(value: Any, kind: type = dict) -> list[Any]:
    return [part for part in value if isinstance(part, kind)] if isinstance(value, list) else []


def _alternatives(node: dict[str, Any]) -> list[Any]:
    """What a schema says of the same place in parts: alternatives, and items of a list."""
    items = node.get("items")
    parts = [branch for key in COMBINED for branch in _parts(node.get(key))]
    return parts + (items if isinstance(items, list) else [items] if items is not None else [])


def _has_description(node: Any) -> bool:
    return isinstance(node, dict) and isinstance(node.get("description"), str)


def _described(node: Any) -> str:
    return str(node["description"]) if _has_description(node) else ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool) else msgspec.json.encode(value).decode()


def _inner(part: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema, itself first; values are passed over."""
    if isinstance(part, list):
        for value in part:
            yield from _inner(value)
    elif isinstance(part, dict):
        yield part
        for key, value in part.items():
            if key == "properties" and isinstance(value, dict):
                yield from _inner(list(value.values()))
            elif key not in INSTANCES:
                yield from _inner(value)


def _properties_inside(part: Any) -> bool:
    return any(node.get("properties") for node in _inner(part))


def _references(part: Any) -> list[str]:
    return [node["$ref"] for node in _inner(part) if isinstance(node.get("$ref"), str)]


def _objects(value: Any) -> bool:
    """Whether a value is an object with keys, or has one inside."""
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(_objects(item) for item in value)
