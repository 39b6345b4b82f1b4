"""Runs given names of their own, and their rows summed by dialogue and by group."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from troth import stats
from troth.core.errors import UserError
from troth.report.page import words
from troth.report.page.model import Source

if TYPE_CHECKING:
    import polars as pl

RESAMPLES = 1000
Item = tuple[Source, str]  # a run and one of its systems, by its name in the run
COLUMNS = {"system": "text", "metric": "text", "dialogue": "text", "num": "numbers", "den": "numbers"}
AGAIN = "make the run again"


def named(sources: Sequence[Source]) -> list[Source]:
    """Every system under a name that no other of its kind of run has: its own, or its run's where two have the same.

    Runs of different commands ask different questions, and one name in both is one system.
    """
    folders = _folders([source.path for source in sources])
    own = [_own(source) for source in sources]
    shared = Counter(
        (source.command, name) for source, names in zip(sources, own, strict=True) for name in names.values()
    )
    per_run = {folder: len(systems(source)) for folder, source in zip(folders, sources, strict=True)}
    made = []
    for folder, source, called in zip(folders, sources, own, strict=True):
        _check_rows(source)
        _check_details(source)
        names = {
            system: _name(folder, name, alone=shared[source.command, name] == 1, single=per_run[folder] == 1)
            for system, name in called.items()
        }
        made.append(replace(source, name=folder, systems=names, rows=_by_score(source)))
    return made


def _check_rows(source: Source) -> None:
    """A damaged run is told in one line, before anything is computed from it."""
    import polars as pl

    wanted = COLUMNS | ({"turn": "whole numbers"} if source.command == "dst" else {})
    wanted |= {name: "text" for name in ("service", "set") if name in source.rows.columns}
    for name, kind in wanted.items():
        if name not in source.rows.columns:
            raise UserError(f"rows.parquet lacks '{name}'", file=source.path, hint=AGAIN)
        found = source.rows.schema[name]
        fits = {"text": found == pl.String, "numbers": found.is_numeric(), "whole numbers": found.is_integer()}[kind]
        if not fits and not (source.rows.height == 0 or (name in ("service", "set") and found == pl.Null)):
            raise UserError(f"rows.parquet: '{name}' holds {found}, not {kind}", file=source.path, hint=AGAIN)
        if name in COLUMNS and source.rows[name].null_count():
            raise UserError(f"rows.parquet: '{name}' has gaps", file=source.path, hint=AGAIN)


def _check_details(source: Source) -> None:
    for one in details(source):
        turn, values = one.get("turn"), one.get("values")
        place = str(one.get("dialogue", ""))
        if turn is not None and not isinstance(turn, int):
            raise UserError(f"a detail's turn is no number: {turn!r}", file=source.path, dialogue=place, hint=AGAIN)
        for label, value in values.items() if isinstance(values, Mapping) else ():
            if not isinstance(value, int | float):
                what = f"a detail's value under '{label}' is no number: {value!r}"
                raise UserError(what, file=source.path, dialogue=place, hint=AGAIN)


def _own(source: Source) -> dict[str, str]:
    """Systems by the names that they have in the run; under the first of several profiles, without the profile."""
    names = {system: system for system in systems(source)}
    for group in profiles(source) if source.command == "dst" else ():
        base = group[0].rpartition(":")[0]
        if len(group) > 1 and base not in names:
            names[group[0]] = base
    return names


def profiles(source: Source) -> list[list[str]]:
    """Systems in groups: `dev:sgd` and `dev:trade` are one system under two profiles."""
    groups: dict[str, list[str]] = {}
    for system in systems(source):
        base, _, profile = system.rpartition(":")
        first = next(score for score in source.scores if score.system == system)
        same = base and words.profile(first.signature) == profile
        groups.setdefault(base if same else system, []).append(system)
    return list(groups.values())


def _name(folder: str, system: str, *, alone: bool, single: bool) -> str:
    return system if alone else folder if single else f"{folder}:{system}"


def _by_score(source: Source) -> pl.DataFrame:
    """Rows under the scores' names. Robustness runs once had `jga` for every set, and the set in a column."""
    import polars as pl

    if "set" not in source.rows.columns:
        return source.rows
    original = "jga_orig" if source.command.endswith("sgdx") else "jga"
    metric = pl.when(pl.col("set") == "orig").then(pl.lit(original)).otherwise(pl.lit("jga:") + pl.col("set"))
    return source.rows.with_columns(metric=metric).drop("set")


def systems(source: Source) -> list[str]:
    return list(dict.fromkeys(score.system for score in source.scores))


def details(source: Source) -> list[Mapping[str, Any]]:
    """Single units that the run keeps: flips, wavering ones, acts that are not conveyed."""
    return [one for one in source.details if isinstance(one, Mapping)]


def _folders(paths: Sequence[str]) -> list[str]:
    """As much of each path as tells it from the others."""
    parts = [[part for part in os.path.abspath(path).split(os.sep) if part] or [path] for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise UserError("the same run is named twice", file=paths[0], hint="name every run once")


@dataclass(frozen=True)
class Sums:
    """Numerators and denominators per dialogue, dialogues sorted by id; a column a group."""

    dialogues: tuple[str, ...]
    groups: tuple[str, ...]
    num: NDArray[np.float64]
    den: NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    value: float | None
    low: float | None
    high: float | None
    n: int


def chosen(source: Source, system: str, metric: str) -> pl.DataFrame:
    import polars as pl

    return source.rows.filter(pl.col("system") == system, pl.col("metric") == metric)


def sums(rows: pl.DataFrame, by: str) -> Sums:
    """Rows summed by dialogue and by another column."""
    dialogues = sorted(rows["dialogue"].unique().to_list())
    labels = rows[by].unique().drop_nulls().to_list()
    groups = sorted(labels) if by == "turn" else sorted(labels, key=str)
    row = {name: i for i, name in enumerate(dialogues)}
    column = {name: i for i, name in enumerate(groups)}
    num, den = (np.zeros((len(dialogues), len(groups))) for _ in range(2))
    summed = rows.drop_nulls(by).group_by("dialogue", by).agg(total("num"), total("den"))
    for dialogue, group, top, bottom in summed.iter_rows():
        num[row[dialogue], column[group]] = top
        den[row[dialogue], column[group]] = bottom
    return Sums(tuple(dialogues), tuple(map(str, groups)), num, den)


def total(column: str) -> pl.Expr:
    import polars as pl

    return pl.col(column).sum()


def ratios(found: Sums, *, seed: int = 0) -> dict[str, Ratio]:
    """Each group's ratio of sums with its interval, as `troth dst --by` has it."""
    if not found.groups:
        return {}
    low, high = stats.interval(stats.bootstrap(found.num, found.den, resamples=RESAMPLES, seed=seed))
    made = {}
    for i, group in enumerate(found.groups):
        top, bottom = float(found.num[:, i].sum()), float(found.den[:, i].sum())
        bounds = [None if np.isnan(bound[i]) else float(bound[i]) for bound in (low, high)]
        made[group] = Ratio(top / bottom if bottom else None, bounds[0], bounds[1], round(bottom))
    return made
