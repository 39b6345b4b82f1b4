"""Options of registry members, declared as fields of a frozen struct and set from Python or the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.names import parse_names
from troth.core.options import Option
from troth.core.registry import Registry

M = TypeVar("M", bound=msgspec.Struct)


def flag(metavar: str, help: str, *, option: str = "") -> Option:
    """Annotation of a field that gets a command-line option of its own; without `option`, named after the field."""
    return Option(help, metavar, option)


def parse_members(registry: Registry[type[M]], kind: type[M], with_: object) -> dict[str, M]:
    """Members by name, in order: from names (comma-separated, or a list), values, or a mapping of names to options."""
    if isinstance(with_, Mapping):
        return {name: configure(registry, name, options) for name, options in with_.items()}
    items: Any = [with_] if isinstance(with_, kind) else with_.split(",") if isinstance(with_, str) else with_
    members: dict[str, M] = {}
    for item in items:
        member = item if isinstance(item, kind) else configure(registry, item.strip(), {})
        name = name_of(registry, member)
        if name in members:
            raise UserError(f"{registry.kind} '{name}' is named twice", hint="name each only once")
        members[name] = member
    return members


def name_of(registry: Registry[type[M]], member: M) -> str:
    """The name that a member's class is registered under."""
    return next((name for name in registry if registry.load(name) is type(member)), type(member).__name__.lower())


def configure(registry: Registry[type[M]], name: str, options: Mapping[str, Any]) -> M:
    """A member of a registry with these options; numbers and lists may be given as text, as on a command line."""
    member = registry.load(name)
    kinds = {field.name: field.type for field in msgspec.structs.fields(member)}
    known = "options: " + ", ".join(kinds)
    for option in options:
        if option not in kinds:
            raise UserError(f"'{name}' has no option '{option}'", hint=suggest_name(option, kinds) or known)
    values = {
        option: parse_names(value) if isinstance(value, str) and "tuple" in str(kinds[option]) else value
        for option, value in options.items()
    }
    try:
        return msgspec.convert(values, member, strict=False)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        option_name = f"{name}.{path.rstrip('`').partition('[')[0]}".rstrip(".")
        raise UserError(f"{option_name}: {what}", hint=known) from error
