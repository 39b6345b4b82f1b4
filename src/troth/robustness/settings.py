"""Options that CheckDST and SGD-X share, and what both do with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from troth.core.data_options import schema_option
from troth.core.errors import UserError
from troth.core.names import Path, split_name_path
from troth.core.options import option, record_arguments
from troth.core.result import Result
from troth.stats.estimates import SystemCells, build_result
from troth.tracking.profiles import Profile
from troth.tracking.score import StateSettings

ORIGINAL = "orig"  # the name of the original set, or of predictions under the original schema
SYSTEM = "system"  # name of a system without a name
Sets = dict[str, dict[str, Any]]  # by system, then by the name of the set


@dataclass(frozen=True)
class RobustnessSettings(StateSettings):
    name: str = option(SYSTEM, "Name of the system in tables, if there is only one.", "NAME")
    profile: str | Profile | None = option(
        None, "Scoring recipe; `troth ls profiles` lists them.", "NAME", complete=("troth.tracking.profiles:PROFILES",)
    )
    schema: Path | None = schema_option("gold")

    @property
    def rules(self) -> dict[str, str | None]:
        """The changed rules; averages over slots go by the same unit as the joint scores."""
        return {"unit": self.unit, "average": self.unit, "missing": self.missing}

    def build(self, task: str, systems: Iterable[SystemCells], **further: Any) -> Result:
        """The result of a task, saved where `out` says so. `counts` has an entry for each set of each system."""
        counts, arguments = further.pop("counts"), record_arguments(self, **further.pop("arguments"))
        result = build_result(task, systems, self.resampling, arguments=arguments, **further)
        return replace(result, counts=counts).save_if(self.out)

    def parse_sets(self, sets: Mapping[str, Any] | Iterable[str]) -> Sets:
        """Sets of predictions by system and name: from mappings, or from `NAME=PATH` or `SYSTEM:NAME=PATH` each."""
        found: Sets = {}
        for system, name, value in _list_sets(sets):
            mine = found.setdefault(system or self.name, {})
            if name in mine:
                raise UserError(f"'{name}' is named twice", hint="name each set once")
            mine[name] = value
        if self.name != SYSTEM and list(found) not in ([], [self.name]):
            raise UserError(
                "names one system, and the sets have systems of their own", option="name", hint="leave it out"
            )
        return found


def _list_sets(sets: Mapping[str, Any] | Iterable[str]) -> Iterator[tuple[str, str, Any]]:
    """System, name and predictions of each set; the system is empty where none is named."""
    if isinstance(sets, Mapping):
        for key, value in sets.items():
            if isinstance(value, Mapping):
                yield from ((key, name, one) for name, one in value.items())
            else:
                yield "", key, value
        return
    for item in [sets] if isinstance(sets, str) else sets:
        name, path = split_name_path(item)
        system, colon, own = name.rpartition(":")
        if not own or not path or (colon and not system):
            raise UserError(f"'{item}' has no name", hint="write it as NAME=PATH")
        yield system, own, path


def check_same_sets(sets: Mapping[str, Mapping[str, object]]) -> None:
    """Raises an error unless all systems have the same sets: others could not be put side by side."""
    for name in dict.fromkeys(name for mine in sets.values() for name in mine):
        has = [system for system, mine in sets.items() if name in mine]
        for system in sets:
            if system not in has:
                what = f"'{system}' has no set '{name}', which '{has[0]}' has"
                raise UserError(what, hint=f"add {system}:{name}=PATH, or leave out the set")


def set_label(system: str, set: str, systems: Sequence[str]) -> str:
    """What counts and notes call a set of a system: by its name alone where there is one system."""
    return f"{system}:{set}" if len(systems) > 1 else set
