"""The arguments of a function as slots: a JSON Schema walked, and written again under other names.

Arguments of nested objects, and of the objects in a list, have dots in their names: `address.city`. Arguments of one
name in several alternatives (`anyOf`) are one slot. A definition (`$ref`) has one set of names: its arguments are
slots of the first argument that uses it, and `same` maps other arguments to that one. A definition may use itself.
Schemas that other names would break (patterns over names, conditions, dependencies) are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.records import Intent, Service, SlotSchema
from troth.perturb.schemas import mentions

DEFINITIONS = ("$defs", "definitions")
COMBINED = ("anyOf", "oneOf", "allOf")
INSTANCES = ("default", "const", "enum", "examples", "example")  # values and not schemas
OF_NAMES = frozenset((
    "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies", "if", "then", "else",
    "not", "$dynamicRef", "$recursiveRef",
))  # fmt: skip
PLAIN_INSIDE = ("additionalProperties", "unevaluatedProperties", "prefixItems", "contains", "additionalItems",
                "unevaluatedItems", "contentSchema")  # fmt: skip


class ArgumentReader:
    """Reads the arguments of one function, and refuses schemas that other names would break."""

    def __init__(self, name: str, description: str, root: Any) -> None:
        """`root`: the JSON Schema of the arguments. No two parts of it may be the same object in memory."""
        self.name, self.description, self.root = name, description, root
        self.paths: dict[int, str] = {}  # dotted name of the argument by identity of its schema
        self.entered: dict[str, str] = {}  # the first argument that uses a definition, by reference
        self.same: dict[str, str] = {}  # an argument, to the one with the same inner arguments
        self.inside: dict[str, bool] = {}  # whether a definition has names of arguments, by reference
        self.slots: dict[str, SlotSchema] = {}
        self.required: list[str] = []
        self.demanded: list[tuple[str, str]] = []  # all arguments and names in lists of required arguments
        self.optional: dict[str, Any] = {}

    def service(self) -> Service:
        """The function as a service with one intent; arguments are slots."""
        if not isinstance(self.root, dict):
            raise self._error("", "its parameters are not an object")
        self._walk(self.root, "", required=True)
        for parent in self.same:
            if any(path.rpartition(".")[0] == parent for path in self.slots):
                raise self._error(parent, "it has arguments besides those of a definition that is used elsewhere")
        for parent, name in self.demanded:
            if (path := join_path(self.canonical(parent), name)) not in self.slots:
                raise self._error(path, "it is required, but not described")
        intent = Intent(self.name, self.description, False, tuple(self.required), self.optional)
        return Service(self.name, "", tuple(self.slots.values()), (intent,))

    def canonical(self, path: str) -> str:
        """The argument that has the inner names of this one."""
        return self.same.get(path, path)

    def _error(self, path: str, why: str) -> UserError:
        element = f"function '{self.name}'" + (f", argument '{path}'" if path else "")
        return UserError(f"{element}: {why}", hint="a round trip could not keep it; see docs/schemas.md")

    def _walk(self, node: Any, path: str, *, required: bool) -> None:
        if isinstance(node, bool):
            return
        if not isinstance(node, dict):
            raise self._error(path, "its schema is not an object")
        self._mark(node, path)
        nested = [part for key in COMBINED for part in _inner(node.get(key))]
        branches = [part for key in COMBINED for part in _parts(node.get(key))]
        for part in (node, *branches):
            self.demanded += [(path, name) for name in _parts(part.get("required"), str)]
        for key in (key for part in (node, *nested) for key in part if key in OF_NAMES):
            raise self._error(path, f"'{key}' may refer to names")
        for key in PLAIN_INSIDE:
            if _properties_inside(node.get(key)) or _references(node.get(key)):
                raise self._error(path, f"arguments inside '{key}' have no path")
        definition = [{"$ref": node["$ref"]}] if "$ref" in node else []
        self._properties(node, path, required=required)
        for part in (*_alternatives(node), *definition):
            if self._names_inside(part):
                self._enter(part, path, required=required)

    def _mark(self, node: Any, path: str) -> None:
        """Notes the path of a schema and of its alternatives, which describe the same arguments."""
        if isinstance(node, dict):
            self.paths[id(node)] = path
            for part in _alternatives(node):
                self._mark(part, path)

    def _names_inside(self, part: Any) -> bool:
        """Whether a part, or a definition that it refers to, has names of arguments."""
        if not isinstance(part, dict):
            return False
        return _properties_inside(part) or any(map(self._names_behind, _references(part)))

    def _names_behind(self, reference: str) -> bool:
        if reference not in self.inside:  # each only once: definitions may refer to each other in very many ways
            self.inside[reference] = True  # assumed while it is examined: it may refer to itself
            self.inside[reference] = self._names_inside(self._resolve(reference))
        return self.inside[reference]

    def _resolve(self, reference: str) -> Any:
        for key in DEFINITIONS:
            name = reference.removeprefix(f"#/{key}/")
            definitions = self.root.get(key)
            if name != reference and isinstance(definitions, dict) and name in definitions:
                return definitions[name]
        raise self._error("", f"the reference '{reference}' is not in its parameters")

    def _enter(self, part: Any, path: str, *, required: bool) -> None:
        if set(part) != {"$ref"}:
            self._walk(part, path, required=required)
            return
        reference = part["$ref"]
        if reference not in self.entered:
            self.entered[reference] = path
            self._walk(self._resolve(reference), path, required=required)
        elif (first := self.entered[reference]) != path and self.same.setdefault(path, first) != first:
            raise self._error(path, "it has arguments of several definitions that are also used elsewhere")

    def _properties(self, node: dict[str, Any], parent: str, *, required: bool) -> None:
        properties, needed = node.get("properties", {}), node.get("required", [])
        if not isinstance(properties, dict):
            raise self._error(parent, "its properties are not an object")
        if not isinstance(needed, list):
            raise self._error(parent, "'required' is not a list")
        for name, child in properties.items():
            if not name or "." in name:
                raise self._error(parent, f"an argument called '{name}': dots separate nested names")
            path = join_path(parent, name)
            slot = SlotSchema(path, description_of(child), bool(values := self._values(child)), values)
            if path in self.slots:  # in another alternative
                self.slots[path] = _merge(self.slots[path], slot)
            else:
                self.slots[path] = slot
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
            return self._values(self._resolve(node["$ref"]), depth - 1)
        branches: list[Any] = next((node[key] for key in COMBINED if isinstance(node.get(key), list)), [])
        value_lists = [self._values(branch, depth - 1) for branch in branches if branch != {"type": "null"}]
        return tuple(dict.fromkeys(value for values in value_lists for value in values)) if all(value_lists) else ()


class ArgumentWriter:
    """Writes the schema of a function's arguments under other names and descriptions."""

    def __init__(self, reader: ArgumentReader, slots: Mapping[str, SlotSchema], names: mentions.Names) -> None:
        """`slots`: new slots by old dotted names. `names`: new names by old names, for texts that mention them."""
        self.reader, self.slots, self.names = reader, slots, names

    def rename(self, node: Any) -> Any:
        """A copy of a schema with new names and descriptions."""
        if isinstance(node, list):
            return [self.rename(part) for part in node]
        if not isinstance(node, dict):
            return node
        path = self.reader.paths.get(id(node))
        if path is None:  # not the schema of an argument, for example the dictionary of properties
            return {key: self.rename(value) for key, value in node.items()}
        copy = {k: self._instance(value, path) if k in INSTANCES else self.rename(value) for k, value in node.items()}
        for key in mentions.TEXTS:
            if isinstance(node.get(key), str):
                copy[key] = mentions.replace_names(node[key], self.names)
        new = self._new_names(self.reader.canonical(path))
        if isinstance(node.get("properties"), dict):
            copy["properties"] = {
                new.get(name, name): self._property(child, copy["properties"][name], join_path(path, name))
                for name, child in node["properties"].items()
            }
        for key in ("required", "propertyOrdering"):
            if isinstance(node.get(key), list):
                copy[key] = [new.get(name, name) if isinstance(name, str) else name for name in node[key]]
        if isinstance(node.get("discriminator"), dict):
            name = node["discriminator"].get("propertyName")
            copy["discriminator"] = {**node["discriminator"], "propertyName": new.get(name, name)}
        return copy

    def _new_names(self, parent: str) -> dict[str, str]:
        """New names of the arguments inside `parent`, by their old names."""
        inside = {path: slot for path, slot in self.slots.items() if path.rpartition(".")[0] == parent}
        return {path.rpartition(".")[2]: slot.name.rpartition(".")[2] for path, slot in inside.items()}

    def _property(self, before: Any, copy: Any, path: str) -> Any:
        """An argument's schema with the new description and title."""
        if not isinstance(copy, dict):
            return copy
        old, new = self.reader.slots[path], self.slots[path]
        if has_description(before) and before["description"] == old.description:  # else it is of another alternative
            copy["description"] = new.description
        if isinstance(before.get("title"), str):
            copy["title"] = mentions.rename_title(before["title"], old.name, new.name)
        return copy

    def _instance(self, value: Any, path: str) -> Any:
        """A value of the arguments (a default, an example) under their new names."""
        if isinstance(value, list):
            return [self._instance(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        path = self.reader.canonical(path)
        new = self._new_names(path)
        return {new.get(name, name): self._instance(item, join_path(path, name)) for name, item in value.items()}


def _merge(first: SlotSchema, other: SlotSchema) -> SlotSchema:
    """One argument of several alternatives; it has a closed list of values only if all of them have one."""
    closed = first.is_categorical and other.is_categorical
    values = tuple(dict.fromkeys((*first.possible_values, *other.possible_values))) if closed else ()
    return SlotSchema(first.name, first.description, closed, values)


def join_path(parent: str, name: str) -> str:
    """The dotted name of an argument inside another, such as `address.city`."""
    return f"{parent}.{name}" if parent else name


def has_description(node: Any) -> bool:
    return isinstance(node, dict) and isinstance(node.get("description"), str)


def description_of(node: Any) -> str:
    """The description of a schema or function; empty if there is none."""
    return str(node["description"]) if has_description(node) else ""


def _parts(value: Any, kind: type = dict) -> list[Any]:
    return [part for part in value if isinstance(part, kind)] if isinstance(value, list) else []


def _alternatives(node: dict[str, Any]) -> list[Any]:
    """The parts of a schema that describe the same argument: alternatives, and items of a list."""
    items = node.get("items")
    parts = [branch for key in COMBINED for branch in _parts(node.get(key))]
    return parts + (items if isinstance(items, list) else [items] if items is not None else [])


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool) else msgspec.json.encode(value).decode()


def _inner(part: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema, including itself; values are skipped."""
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
