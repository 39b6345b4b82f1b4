"""Options of registry members, declared as fields of a frozen struct and set from Python or the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from troth.core.errors import UserError, near
from troth.core.names import listed
from troth.core.registry import Registry

M = TypeVar("M", bound=msgspec.Struct)


class Flag(NamedTuple):
    """A field with its own command-line option."""

    field: str
    option: str  # "--stop-words"
    metavar: str
    help: str
    many: bool  # has several values; FILE: one per line, NAMES: comma-separated, else the option is repeated


def flag(metavar: str, help: str, *, option: str | None = None) -> Any:
    """Annotation of a field with its own command-line option, named `option` or after the field."""
    return msgspec.Meta(description=help, extra={"metavar": metavar, "option": option})


def flags(member: type[msgspec.Struct]) -> list[Flag]:
    """The fields of a member with their own command-line option."""
    options = []
    defaults = {field.name: field.default for field in msgspec.structs.fields(member)}
    for field, kind in get_type_hints(member, include_extras=True).items():
        meta = next((part for part in get_args(kind) if isinstance(part, msgspec.Meta) and part.extra), None)
        if meta is not None and meta.extra is not None:
            plain = get_args(kind)[0]
            choices = "|".join(get_args(plain)) if get_origin(plain) is Literal else ""
            default = " ".join(defaults[field]) if isinstance(defaults[field], tuple) else defaults[field]
            shown = f"  [default: {default}]" if default not in (None, "") else ""
            option = meta.extra["option"] or f"--{field}"
            many = get_origin(plain) is tuple
            options.append(Flag(field, option, choices or meta.extra["metavar"], f"{meta.description}{shown}", many))
    return options


def parse_members(registry: Registry, kind: type[M], with_: object) -> dict[str, M]:
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


def name_of(registry: Registry, member: object) -> str:
    """The name under which the class of a member is registered."""
    return next((name for name in registry if registry.load(name) is type(member)), type(member).__name__.lower())


def configure(registry: Registry, name: str, options: Mapping[str, Any]) -> Any:
    """A member of a registry with these options; numbers and lists may be text, as on the command line."""
    member = registry.load(name)
    kinds = {field.name: field.type for field in msgspec.structs.fields(member)}
    known = "options: " + ", ".join(kinds)
    for option in options:
        if option not in kinds:
            raise UserError(f"'{name}' has no option '{option}'", hint=near(option, kinds) or known)
    values = {
        option: listed(value) if isinstance(value, str) and "tuple" in str(kinds[option]) else value
        for option, value in options.items()
    }
    try:
        return msgspec.convert(values, member, strict=False)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        option_name = f"{name}.{path.rstrip('`').partition('[')[0]}".rstrip(".")
        raise UserError(f"{option_name}: {what}", hint=known) from error
