"""Options of `troth perturb`: those that families of perturbations and generators of variants declare."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options
from troth.core.errors import UserError
from troth.core.options import DeclaredOption, declared_options

if TYPE_CHECKING:
    from troth.core.registry import Registry

MemberOptions = Mapping[str, Mapping[str, DeclaredOption]]  # flag to member to option


def member_options(registry: Registry[Any]) -> MemberOptions:
    """The command-line options that the members of a registry declare."""
    found: dict[str, dict[str, DeclaredOption]] = {}
    for name in registry:
        for declared in declared_options(registry.load(name)):
            found.setdefault(declared.flag, {})[name] = declared
    return found


def with_member_options(registry: Registry[Any]) -> Callable[[options.F], options.F]:
    """Adds the options of all members to a command, which gets those that were given as `given`: flag to value."""
    members_by_flag = member_options(registry)

    def decorate(command: options.F) -> options.F:
        @functools.wraps(command)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            values = {flag: kwargs.pop(_argument(flag)) for flag in members_by_flag}
            given = {flag: value for flag, value in values.items() if value not in (None, ())}
            return command(*args, given=given, **kwargs)

        for flag, members in reversed(list(members_by_flag.items())):
            declared = next(iter(members.values()))
            about = declared.option
            default = options.format_default(declared.default).replace(",", " ")
            wrapper = click.option(
                flag,
                _argument(flag),
                metavar="|".join(about.choices) or about.metavar,
                type=options.PATHS.get(about.metavar),
                multiple=declared.kind == "texts" and about.metavar not in ("FILE", "NAMES"),
                help=f"{', '.join(members)}: {about.help}" + (f"  [default: {default}]" if default else ""),
            )(wrapper)
        return wrapper  # type: ignore[return-value]

    return decorate


def _argument(flag: str) -> str:
    return "given_" + flag.lstrip("-").replace("-", "_")


def fields_of(member: str, members_by_flag: MemberOptions, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of one member that were given, by field."""
    own = {flag: members[member] for flag, members in members_by_flag.items() if member in members}
    return {
        declared.name: _read_lines(given[flag])
        if declared.kind == "texts" and declared.option.metavar == "FILE"
        else given[flag]
        for flag, declared in own.items()
        if flag in given
    }


def _read_lines(file: str) -> Sequence[str]:
    from troth.readers import source

    lines = [line.strip() for line in source.read_text(file).splitlines()]
    if not (names := list(dict.fromkeys(line for line in lines if line))):
        raise UserError("contains no name", file=file, hint="write one name per line")
    return names
