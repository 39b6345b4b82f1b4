"""Registries: names to members, loaded on first use, so that listing what exists imports nothing heavy.

One class for metrics, profiles, readers, perturbations, backends and whatever else can be added. Other packages add to
a registry through entry points: each registry names its group. What differs between members (options, formats that can
be written, the profile that suits a format) is declared by the member itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from troth.core.errors import UserError, suggest_name
from troth.core.progress import note

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """Members by name: our own, given as objects or import paths, and those of other packages' entry points."""

    def __init__(self, kind: str, group: str, own: Mapping[str, T | str]) -> None:
        """`kind`: the noun for a member in messages. `own`: name to member, or to "module:attribute"."""
        self.kind, self.group, self.own = kind, group, dict(own)
        self._plugins: dict[str, EntryPoint] | None = None
        self._broken: set[str] = set()

    @property
    def plugins(self) -> dict[str, EntryPoint]:
        """The entry points of other packages, by name; our own names win."""
        if self._plugins is None:  # reading entry points costs milliseconds: once, and only when asked
            from importlib.metadata import entry_points

            self._plugins = {
                entry.name: entry for entry in entry_points(group=self.group) if entry.name not in self.own
            }
        return self._plugins

    def __iter__(self) -> Iterator[str]:
        """Our own names first, in order; plug-ins are looked up only when the caller has come to the end of ours.

        A plug-in that cannot be loaded is reported once, and left out.
        """
        yield from self.own
        yield from (name for name in self.plugins if self._is_sound(name))

    by_name = __iter__

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self.plugins

    def __getitem__(self, name: str) -> T:
        return self.load(name)

    def load(self, name: str) -> T:
        """The member of this name."""
        if name in self.own:
            member = self.own[name]
            return cast(T, import_path(member) if isinstance(member, str) else member)
        if name not in self.plugins:
            hint = suggest_name(name, self) or "known: " + ", ".join(sorted(self))
            raise UserError(f"no {self.kind} is called '{name}'", hint=hint)
        entry = self.plugins[name]
        try:
            return cast(T, import_path(entry.value))
        except UserError:
            raise
        except Exception as error:  # code of somebody else, which may fail in any way
            package = entry.dist.name if entry.dist is not None else "another package"
            what = f"the {self.kind} '{name}' of {package} cannot be loaded: {type(error).__name__}: {error}"
            raise UserError(what, hint=f"update or uninstall {package}") from error

    def _is_sound(self, name: str) -> bool:
        if name not in self._broken:
            try:
                self.load(name)
            except UserError as error:
                self._broken.add(name)
                note(f"{error}; it is left out")
        return name not in self._broken


def import_path(path: str) -> Any:
    """The object of an import path: a "module", or a "module:attribute"."""
    module, _, attribute = path.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
