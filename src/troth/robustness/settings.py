"""Options that CheckDST and SGD-X share, and what both do with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from troth.core.data_options import schema_option
from troth.core.errors import UserError
from troth.core.names import Path, split_name_path
from troth.core.options import option, record_arguments
from troth.core.result import Result
from troth.stats.estimates import Cell, SystemCells, build_result
from troth.tracking.profiles import Profile
from troth.tracking.score import StateSettings

T = TypeVar("T")


@dataclass(frozen=True)
class RobustnessSettings(StateSettings):
    name: str = option("system", "Name of the system in tables.", "NAME")
    profile: str | Profile | None = option(
        None, "Scoring recipe; `troth ls profiles` lists them.", "NAME", complete=("troth.tracking.profiles:PROFILES",)
    )
    schema: Path | None = schema_option("gold")

    @property
    def rules(self) -> dict[str, str | None]:
        """The changed rules; averages over slots go by the same unit as the joint scores."""
        return {"unit": self.unit, "average": self.unit, "missing": self.missing}

    def build(self, task: str, cells: Iterable[Cell], dialogues: Sequence[str], **further: Any) -> Result:
        """The result of a task, saved where `out` says so."""
        counts, arguments = further.pop("counts"), record_arguments(self, **further.pop("arguments"))
        system = SystemCells(self.name, cells, dialogues)
        result = build_result(task, [system], self.resampling, arguments=arguments, **further)
        return replace(result, counts=counts).save_if(self.out)  # one entry per set, which share the system's name


def parse_sets(sets: Mapping[str, T] | Iterable[str]) -> dict[str, T | str]:
    """Sets of predictions by name, from a mapping or from `NAME=PATH` each."""
    if isinstance(sets, Mapping):
        return dict(sets)
    paths: dict[str, T | str] = {}
    for item in [sets] if isinstance(sets, str) else sets:
        name, path = split_name_path(item)
        if not name or not path:
            raise UserError(f"'{item}' has no name", hint="write it as NAME=PATH")
        if name in paths:
            raise UserError(f"'{name}' is named twice", hint="name each set once")
        paths[name] = path
    return paths
