"""Names to import paths, loaded on first use, so that listing what exists imports nothing heavy.

Packages of others add to a registry through entry points: group `troth.readers`, `troth.perturbations`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from troth.errors import UserError, near


class Registry:
    """A closed table of our own names, widened by the entry points of installed packages."""

    def __init__(self, kind: str, group: str, own: Mapping[str, str]) -> None:
        self.kind, self.group, self.own = kind, group, dict(own)
        self._plugins: dict[str, str] | None = None

    def paths(self) -> dict[str, str]:
        """Name to "module:attribute" (or "module"); our own names win."""
        if self._plugins is None:  # reading entry points costs milliseconds: once, and only when asked
            from importlib.metadata import entry_points

            self._plugins = {entry.name: entry.value for entry in entry_points(group=self.group)}
        return {**self._plugins, **self.own}

    def by_name(self) -> Iterator[str]:
        """Our own names first, in order; the plug-ins are looked up only by who comes to the end of ours."""
        yield from self.own
        yield from (name for name in self.paths() if name not in self.own)

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths())

    def load(self, name: str) -> Any:
        path = self.own.get(name) or self.paths().get(name)
        if path is None:
            raise UserError(
                f"no {self.kind} is called '{name}'", hint=near(name, self) or "known: " + ", ".join(sorted(self))
            )
        module, _, attribute = path.partition(":")
        loaded = import_module(module)
        return getattr(loaded, attribute) if attribute else loaded
