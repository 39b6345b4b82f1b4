"""Converts calls of reworded tools back to the original names, by the `names.json` of a variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from troth.core.decode import reading
from troth.core.names import Path, path_of
from troth.readers import source

NAMES = "names.json"


class FunctionNames(msgspec.Struct, frozen=True, omit_defaults=True):
    """One function of a variant: its original name, and the original names of its arguments."""

    name: str
    arguments: dict[str, str] = {}  # new to old, nested ones with dots
    same: dict[str, str] = {}  # an argument, to the one with the same inner arguments (new names; "": the function)


class NamedCall(NamedTuple):
    """A function's name with the arguments of a call."""

    name: str
    arguments: dict[str, Any]


def load(file: Path) -> dict[str, FunctionNames]:
    """The names of a variant, by new function name, from its names.json."""
    data = source.read_bytes(path_of(file))
    with reading(path_of(file), "not the names of a variant", hint="make the variants again with troth perturb schema"):
        return msgspec.json.decode(data, type=dict[str, FunctionNames])


def original(names: Mapping[str, FunctionNames], name: str, arguments: Mapping[str, Any]) -> NamedCall:
    """A call under the original names. Names that the variant does not have stay unchanged.

    >>> names = {"take_off": FunctionNames("fly", {"place": "to", "place.town": "to.city"})}
    >>> original(names, "take_off", {"place": {"town": "Rome"}, "seat": 3})
    NamedCall(name='fly', arguments={'to': {'city': 'Rome'}, 'seat': 3})
    """
    function = names.get(name)
    if function is None:
        return NamedCall(name, dict(arguments))
    return NamedCall(function.name, _rename(arguments, "", function.arguments, function.same))


def rename_call(names: Mapping[str, FunctionNames], name: str, arguments: Mapping[str, Any]) -> NamedCall:
    """A call of the original under a variant's names: the reverse of `original`."""
    for new, function in names.items():
        if function.name == name:
            old = {before: after for after, before in function.arguments.items()}
            same = {function.arguments[a]: function.arguments.get(b, b) for a, b in function.same.items()}
            return NamedCall(new, _rename(arguments, "", old, same))
    return NamedCall(name, dict(arguments))


def _rename(value: Any, parent: str, names: Mapping[str, str], same: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_rename(item, parent, names, same) for item in value]
    if not isinstance(value, dict):
        return value
    parent = same.get(parent, parent)
    paths = {name: f"{parent}.{name}" if parent else name for name in value}
    return {
        names.get(path, path).rpartition(".")[2] if path in names else name: _rename(value[name], path, names, same)
        for name, path in paths.items()
    }
