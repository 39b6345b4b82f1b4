"""Registries: names to members, loaded on first use, so that listing what exists imports nothing heavy.

One class for metrics, profiles, readers, perturbations, backends and whatever else can be added. Other packages add to
a registry through entry points: each registry names its group. What differs between members (options, formats that can
be written, the profile that suits a format) is declared by the member itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from troth.core.errors import UserError, suggest_name

T = TypeVar("T")


class Registry(Generic[T]):
    """Members by name: our own, given as objects or import paths, and those of other packages' entry points."""

    def __init__(self, kind: str, group: str, own: Mapping[str, T | str]) -> None:
        """`kind`: what a member is called in messages. `own`: name to member, or to "module:attribute"."""
        self.kind, self.group, self.own = kind, group, dict(own)
        self._plugins: dict[str, str] | None = None

    def members(self) -> dict[str, T | str]:
        """Name to member or import path; our own names win."""
        if self._plugins is None:  # reading entry points costs milliseconds: once, and only when asked
            from importlib.metadata import entry_points

            self._plugins = {entry.name: entry.value for entry in entry_points(group=self.group)}
        return {**self._plugins, **self.own}

    def by_name(self) -> Iterator[str]:
        """Our own names first, in order; plug-ins are looked up only when the caller has come to the end of ours."""
        yield from self.own
        yield from (name for name in self.members() if name not in self.own)

    def __iter__(self) -> Iterator[str]:
        return iter(self.members())

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.members()

    def __getitem__(self, name: str) -> T:
        return self.load(name)

    def load(self, name: str) -> T:
        """The member of this name."""
        member = self.own[name] if name in self.own else self.members().get(name)
        if member is None:
            hint = suggest_name(name, self) or "known: " + ", ".join(sorted(self))
            raise UserError(f"no {self.kind} is called '{name}'", hint=hint)
        return cast(T, import_path(member) if isinstance(member, str) else member)


def import_path(path: str) -> Any:
    """The module of an import path, "module", or what it holds, "module:attribute"."""
    module, _, attribute = path.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
