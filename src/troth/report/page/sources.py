"""Runs given names of their own, and their rows summed: by dialogue, by group, in pairs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from troth import stats
from troth.errors import UserError
from troth.report.page import words
from troth.report.page.model import Source

if TYPE_CHECKING:
    import polars as pl

RESAMPLES = 1000
PAIRED = 5000  # resamples of a paired test: with Holm over a table of metrics, the least p must stay well below 0.05
LEVEL = 0.05
Item = tuple[Source, str]  # a run and one of its systems, by its name in the run
COLUMNS = ("system", "metric", "dialogue", "num", "den")


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
        missing = [column for column in COLUMNS if column not in source.rows.columns]
        if missing:
            raise UserError(f"rows.parquet lacks '{missing[0]}'", file=source.path, hint="make the run again")
        names = {
            system: _name(folder, name, alone=shared[source.command, name] == 1, single=per_run[folder] == 1)
            for system, name in called.items()
        }
        made.append(replace(source, name=folder, systems=names, rows=_by_score(source)))
    return made


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
    summed = rows.drop_nulls(by).group_by("dialogue", by).agg(_sum("num"), _sum("den"))
    for dialogue, group, top, bottom in summed.iter_rows():
        num[row[dialogue], column[group]] = top
        den[row[dialogue], column[group]] = bottom
    return Sums(tuple(dialogues), tuple(map(str, groups)), num, den)


def _sum(column: str) -> pl.Expr:
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


@dataclass(frozen=True)
class Difference:
    """A system against the first, on one metric, beyond noise or not."""

    base: str
    system: str
    metric: str
    difference: float
    low: float
    high: float
    p: float  # of the randomisation test, with Holm's correction over everything that is compared

    @property
    def beyond_noise(self) -> bool:
        return self.p < LEVEL


Differences = dict[tuple[str, str], Difference]  # by a system's name on the page and a metric


def differences(
    items: Sequence[Item], metrics: Sequence[str], *, headline: Sequence[str] = (), seed: int = 0
) -> Differences:
    """Each (run, system) against the first, by (name on the page, metric).

    Only like is compared with like: the same dialogues, the same recipe. What cannot be compared is absent. `headline`:
    the figures that the summary speaks of. They are a question of their own, corrected for among themselves; the rest
    of the table is another.
    """
    rest = [metric for metric in metrics if metric not in headline]
    return _family(items, headline, seed) | _family(items, rest, seed)


def every_metric(found: Sequence[Item], *, headline: Sequence[str]) -> Differences:
    """Each system against the first on every metric that the first has."""
    if not found:
        return {}
    source, system = found[0]
    known = [s.metric for s in source.scores if s.system == system and s.group == "all" and s.value is not None]
    return differences(found, known, headline=[metric for metric in headline if metric in known])


def _family(items: Sequence[Item], metrics: Sequence[str], seed: int) -> Differences:
    if len(items) < 2 or not metrics:
        return {}
    (first, base), *others = items
    made: list[tuple[str, str, stats.Comparison]] = []
    dialogues = _dialogues(first, base)
    tables = {metric: _by_dialogue(first, base, metric) for metric in metrics}
    for source, system in others:
        if _dialogues(source, system) != dialogues:
            continue
        shared = [metric for metric in metrics if tables[metric] and _alike(items[0], (source, system), metric)]
        mine = {metric: _by_dialogue(source, system, metric) for metric in shared}
        if not shared:
            continue
        parts = [
            np.array([[table[metric].get(dialogue, (0.0, 0.0))[side] for metric in shared] for dialogue in dialogues])
            for table in (tables, mine)
            for side in (0, 1)
        ]
        results = stats.compare(*parts, resamples=PAIRED, seed=seed)
        made += [(source.called(system), metric, result) for metric, result in zip(shared, results, strict=True)]
    tested = [one for one in made if not np.isnan(one[2].p_randomization)]
    corrected = stats.holm([result.p_randomization for *_, result in tested])
    return {
        (name, metric): Difference(first.called(base), name, metric, one.difference, one.low, one.high, p)
        for (name, metric, one), p in zip(tested, corrected, strict=True)
    }


def _alike(base: Item, other: Item, metric: str) -> bool:
    found = [source.score(metric, system) for source, system in (base, other)]
    return all(found) and len({score.recipe for score in found if score}) == 1


def _dialogues(source: Source, system: str) -> list[str]:
    import polars as pl

    return sorted(source.rows.filter(pl.col("system") == system)["dialogue"].unique().to_list())


def _by_dialogue(source: Source, system: str, metric: str) -> Mapping[str, tuple[float, float]]:
    rows = chosen(source, system, metric).group_by("dialogue").agg(_sum("num"), _sum("den"))
    return {dialogue: (num, den) for dialogue, num, den in rows.select("dialogue", "num", "den").iter_rows()}
