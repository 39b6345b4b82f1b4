"""Options of `troth perturb`: those that families of perturbations and generators of variants declare."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from troth.cli import options
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.core.registry import Registry
    from troth.perturb.options import Flag

F = TypeVar("F", bound=Callable[..., Any])


def declared(registry: Registry) -> dict[str, dict[str, Flag]]:
    """The command-line options that the members of a registry declare: option to member to flag."""
    from troth.perturb.options import flags

    options: dict[str, dict[str, Flag]] = {}
    for name in registry:
        for flag in flags(registry.load(name)):
            options.setdefault(flag.option, {})[name] = flag
    return options


def with_declared(registry: Registry) -> Callable[[F], F]:
    """Adds the options that members declare to a command, which gets them as one argument `given`: option to value."""
    declarations = declared(registry)

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def called(*args: Any, **kwargs: Any) -> Any:
            values = {option: kwargs.pop(_argument(option)) for option in declarations}
            given = {option: value for option, value in values.items() if value not in (None, ())}
            return command(*args, given=given, **kwargs)

        for option, members in reversed(declarations.items()):
            flag = next(iter(members.values()))
            called = click.option(
                option,
                _argument(option),
                metavar=flag.metavar,
                type={"FILE": options.FILE, "FOLDER": options.FOLDER}.get(flag.metavar),
                multiple=flag.many and flag.metavar not in ("FILE", "NAMES"),
                help=f"{', '.join(members)}: {flag.help}",
            )(called)
        return called  # type: ignore[return-value]

    return decorate


def _argument(option: str) -> str:
    return "given_" + option.lstrip("-").replace("-", "_")


def settings(flags: Mapping[str, Flag], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of one member, by field, from the command-line options that were given."""
    return {
        flag.field: _lines(given[option]) if flag.many and flag.metavar == "FILE" else given[option]
        for option, flag in flags.items()
        if option in given
    }


def _lines(file: str) -> Sequence[str]:
    """The lines of a file, each once, without empty ones."""
    from troth.readers import source

    lines = [line.strip() for line in source.read_text(file).splitlines()]
    names = list(dict.fromkeys(line for line in lines if line))
    if not names:
        raise UserError("no name in it", file=file, hint="write one name per line")
    return names
