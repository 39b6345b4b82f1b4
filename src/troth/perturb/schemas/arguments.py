"""The arguments of a function as slots: a JSON Schema walked, and written again under other names.

Arguments of nested objects, and of the objects in a list, have dots in their names: `address.city`. Arguments of one
name in several alternatives (`anyOf`) are one slot. A definition (`$ref`) has one set of names: its arguments are
slots at the first place that uses it, and `same` says which other places have the names of which. A definition may use
itself. What other names would break is refused with its place: patterns over names, conditions, dependencies.
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
    """One function read: its arguments found, and everything that other names would break refused."""

    def __init__(self, name: str, description: str, root: Any) -> None:
        """`root`: the JSON Schema of the arguments. No two places in it may be one object in memory."""
        self.name, self.description, self.root = name, description, root
        self.places: dict[int, str] = {}  # identity of a schema that may speak of arguments, to its dotted name
        self.entered: dict[str, str] = {}  # reference to the first place that uses the definition
        self.same: dict[str, str] = {}  # place to the one whose arguments it has
        self.inside: dict[str, bool] = {}  # reference to whether there are names of arguments behind it
        self.slots: dict[str, SlotSchema] = {}
        self.required: list[str] = []
        self.demanded: list[tuple[str, str]] = []  # places and names that a "required" has, wherever
        self.optional: dict[str, Any] = {}

    def service(self) -> Service:
        """The function as a service with one intent; arguments are slots."""
        if not isinstance(self.root, dict):
            raise self._refused("", "its parameters are not an object")
        self._walk(self.root, "", required=True)
        for place in self.same:
            if any(path.rpartition(".")[0] == place for path in self.slots):
                raise self._refused(place, "it has arguments besides those of a definition that is used elsewhere")
        for place, name in self.demanded:
            if (path := dotted(self.canonical(place), name)) not in self.slots:
                raise self._refused(path, "it is required, and nothing else is said of it")
        intent = Intent(self.name, self.description, False, tuple(self.required), self.optional)
        return Service(self.name, "", tuple(self.slots.values()), (intent,))

    def canonical(self, place: str) -> str:
        """The place whose names a place has."""
        return self.same.get(place, place)

    def _refused(self, path: str, why: str) -> UserError:
        place = f"function '{self.name}'" + (f", argument '{path}'" if path else "")
        return UserError(f"{place}: {why}", hint="a round trip could not keep it; see docs/schemas.md")

    def _walk(self, node: Any, place: str, *, required: bool) -> None:
        if isinstance(node, bool):
            return
        if not isinstance(node, dict):
            raise self._refused(place, "its schema is not an object")
        self._mark(node, place)
        nested = [part for key in COMBINED for part in _inner(node.get(key))]
        branches = [part for key in COMBINED for part in _parts(node.get(key))]
        for part in (node, *branches):
            self.demanded += [(place, name) for name in _parts(part.get("required"), str)]
        for key in (key for part in (node, *nested) for key in part if key in OF_NAMES):
            raise self._refused(place, f"'{key}' may speak of names")
        for key in PLAIN_INSIDE:
            if _properties_inside(node.get(key)) or _references(node.get(key)):
                raise self._refused(place, f"arguments inside '{key}' have no names of their own")
        definition = [{"$ref": node["$ref"]}] if "$ref" in node else []
        self._properties(node, place, required=required)
        for part in (*_alternatives(node), *definition):
            if self._names_inside(part):
                self._enter(part, place, required=required)

    def _mark(self, node: Any, place: str) -> None:
        """All schemas of one place speak of the same arguments."""
        if isinstance(node, dict):
            self.places[id(node)] = place
            for part in _alternatives(node):
                self._mark(part, place)

    def _names_inside(self, part: Any) -> bool:
        """Whether there are names of arguments in a part, or in a definition that it leads to."""
        if not isinstance(part, dict):
            return False
        return _properties_inside(part) or any(map(self._names_behind, _references(part)))

    def _names_behind(self, reference: str) -> bool:
        if reference not in self.inside:  # each once: definitions may lead to each other in very many ways
            self.inside[reference] = True  # one that leads back to itself may have some
            self.inside[reference] = self._names_inside(self._resolved(reference))
        return self.inside[reference]

    def _resolved(self, reference: str) -> Any:
        for key in DEFINITIONS:
            name = reference.removeprefix(f"#/{key}/")
            definitions = self.root.get(key)
            if name != reference and isinstance(definitions, dict) and name in definitions:
                return definitions[name]
        raise self._refused("", f"the reference '{reference}' leads nowhere in its parameters")

    def _enter(self, part: Any, place: str, *, required: bool) -> None:
        if set(part) != {"$ref"}:
            self._walk(part, place, required=required)
            return
        reference = part["$ref"]
        if reference not in self.entered:
            self.entered[reference] = place
            self._walk(self._resolved(reference), place, required=required)
        elif (first := self.entered[reference]) != place and self.same.setdefault(place, first) != first:
            raise self._refused(place, "it has arguments of several definitions that are used elsewhere, too")

    def _properties(self, node: dict[str, Any], place: str, *, required: bool) -> None:
        properties, needed = node.get("properties", {}), node.get("required", [])
        if not isinstance(properties, dict):
            raise self._refused(place, "its properties are not an object")
        if not isinstance(needed, list):
            raise self._refused(place, "'required' is not a list")
        for name, child in properties.items():
            if not name or "." in name:
                raise self._refused(place, f"an argument called '{name}': dots stand between nested names")
            path = dotted(place, name)
            slot = SlotSchema(path, described(child), bool(values := self._values(child)), values)
            if path in self.slots:  # in another alternative
                self.slots[path] = _merged(self.slots[path], slot)
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
            return self._values(self._resolved(node["$ref"]), depth - 1)
        branches: list[Any] = next((node[key] for key in COMBINED if isinstance(node.get(key), list)), [])
        listed = [self._values(branch, depth - 1) for branch in branches if branch != {"type": "null"}]
        return tuple(dict.fromkeys(value for values in listed for value in values)) if all(listed) else ()


class ArgumentWriter:
    """Writes the schema of a function's arguments under other names and descriptions."""

    def __init__(self, reader: ArgumentReader, slots: Mapping[str, SlotSchema], names: mentions.Names) -> None:
        """`slots`: new slots by the old dotted names. `names`: what is called otherwise, in texts that mention it."""
        self.reader, self.slots, self.names = reader, slots, names

    def renamed(self, node: Any) -> Any:
        """A copy of a schema, with new names and descriptions put in."""
        if isinstance(node, list):
            return [self.renamed(part) for part in node]
        if not isinstance(node, dict):
            return node
        place = self.reader.places.get(id(node))
        if place is None:  # no schema of an argument, such as the dictionary of properties
            return {key: self.renamed(value) for key, value in node.items()}
        copy = {
            key: self._instance(value, place) if key in INSTANCES else self.renamed(value)
            for key, value in node.items()
        }
        for key in mentions.TEXTS:
            if isinstance(node.get(key), str):
                copy[key] = mentions.replaced(node[key], self.names)
        new = self._new_names(self.reader.canonical(place))
        if isinstance(node.get("properties"), dict):
            copy["properties"] = {
                new.get(name, name): self._property(child, copy["properties"][name], dotted(place, name))
                for name, child in node["properties"].items()
            }
        for key in ("required", "propertyOrdering"):
            if isinstance(node.get(key), list):
                copy[key] = [new.get(name, name) if isinstance(name, str) else name for name in node[key]]
        if isinstance(node.get("discriminator"), dict):
            name = node["discriminator"].get("propertyName")
            copy["discriminator"] = {**node["discriminator"], "propertyName": new.get(name, name)}
        return copy

    def _new_names(self, place: str) -> dict[str, str]:
        """Old names of the arguments of a place, to their new ones."""
        here = {path: slot for path, slot in self.slots.items() if path.rpartition(".")[0] == place}
        return {path.rpartition(".")[2]: slot.name.rpartition(".")[2] for path, slot in here.items()}

    def _property(self, before: Any, copy: Any, path: str) -> Any:
        """An argument's schema with the new description and title."""
        if not isinstance(copy, dict):
            return copy
        old, new = self.reader.slots[path], self.slots[path]
        if has_description(before) and before["description"] == old.description:  # others: of another alternative
            copy["description"] = new.description
        if isinstance(before.get("title"), str):
            copy["title"] = mentions.retitled(before["title"], old.name, new.name)
        return copy

    def _instance(self, value: Any, place: str) -> Any:
        """A value of the arguments (a default, an example) under their new names."""
        if isinstance(value, list):
            return [self._instance(item, place) for item in value]
        if not isinstance(value, dict):
            return value
        place = self.reader.canonical(place)
        new = self._new_names(place)
        return {new.get(name, name): self._instance(item, dotted(place, name)) for name, item in value.items()}


def _merged(first: SlotSchema, other: SlotSchema) -> SlotSchema:
    """One argument that several alternatives have: a closed list of values only where all of them have one."""
    closed = first.is_categorical and other.is_categorical
    values = tuple(dict.fromkeys((*first.possible_values, *other.possible_values))) if closed else ()
    return SlotSchema(first.name, first.description, closed, values)


# -- parts of a JSON schema --------------------------------------------------------------------------------------------


def dotted(place: str, name: str) -> str:
    """The name of an argument inside another, such as `address.city`."""
    return f"{place}.{name}" if place else name


def has_description(node: Any) -> bool:
    return isinstance(node, dict) and isinstance(node.get("description"), str)


def described(node: Any) -> str:
    """The description of a schema or function; empty where there is none."""
    return str(node["description"]) if has_description(node) else ""


def _parts(value: Any, kind: type = dict) -> list[Any]:
    return [part for part in value if isinstance(part, kind)] if isinstance(value, list) else []


def _alternatives(node: dict[str, Any]) -> list[Any]:
    """What a schema says of the same place in parts: alternatives, and items of a list."""
    items = node.get("items")
    parts = [branch for key in COMBINED for branch in _parts(node.get(key))]
    return parts + (items if isinstance(items, list) else [items] if items is not None else [])


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
