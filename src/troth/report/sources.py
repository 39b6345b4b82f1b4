"""Runs as reports take them: opened, checked, their rows grouped by system and metric."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from troth.core.errors import UserError, suggest_name
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.names import path_of
from troth.core.parts import NONE, Mask, Parts, Units
from troth.core.result import Result
from troth.core.score import Estimate, Score
from troth.core.sums import DialogueSums, Sums
from troth.report import trials
from troth.report.tallies import Tallies, TrackTally
from troth.report.trials import TrialFacts
from troth.robustness.checkdst import Flip
from troth.robustness.sgdx import VaryingUnit
from troth.stats.estimates import Resampling, estimates
from troth.storage import runs as stored
from troth.storage.explorer import DialogueView, Header
from troth.storage.runs import AGAIN, LARGEST, is_run, rows_by_metric
from troth.storage.trajectory_views import TrajectoryView
from troth.tracking.score import TASK as TRACKING

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
Run = Result | str | os.PathLike[str]  # a result, or the folder that one was saved to

COLUMNS = {"system": "text", "metric": "text", "dialogue": "text", "num": "numbers", "den": "numbers"}
OPTIONAL = ("service",)
SHOWN = 60  # single units of a run that a page shows


@dataclass(frozen=True)
class Source:
    """A run in a report: its result, its path, and the names of the run and its systems in this report."""

    result: Result
    path: str
    name: str = ""
    names: Mapping[str, str] = field(default_factory=dict)  # of its systems; a system that is not here keeps its name

    @cached_property
    def systems(self) -> list[ScoredSystem]:
        return [ScoredSystem(self, system, self.names.get(system, system)) for system in self.result.systems]

    @cached_property
    def header(self) -> Header:
        """The header of the run's dialogues."""
        header: Header = self.result.explorer().header
        return header

    @cached_property
    def tallies(self) -> Tallies:
        """Counts of the run's dialogues or responses; empty if it has none."""
        return self.read(lambda _: None)

    def read(self, also: Callable[[DialogueView], None]) -> Tallies:
        """Reads the dialogues one at a time, counts them, and passes each to `also`."""
        shown: list[Flip | VaryingUnit] = []
        for system in self.systems:
            shown += [*system.findings(Flip)[:SHOWN], *system.findings(VaryingUnit)[:SHOWN]]
        tallies = Tallies({(unit.dialogue, unit.turn) for unit in shown})
        archive = self.result.explorer()
        for view in archive.dialogues:
            tallies.add(view)
            also(view)
        tallies.responses.extend(archive.responses)
        self.__dict__["tallies"] = tallies  # as `cached_property` keeps it: nothing is read twice
        return tallies

    @cached_property
    def trials(self) -> list[TrialFacts]:
        """Facts of the run's trajectories; empty if it has none."""
        return self.read_trials(lambda _: None)

    def read_trials(self, also: Callable[[TrajectoryView], None]) -> list[TrialFacts]:
        """Reads the trajectories one at a time, keeps a few facts of each, and passes it to `also`."""
        facts = []
        for view in self.result.explorer().trajectories:
            facts.append(trials.trial_facts(view))
            also(view)
        self.__dict__["trials"] = facts  # as `cached_property` keeps it: nothing is read twice
        return facts

    def findings(self, kind: type[T]) -> list[T]:
        """The findings of one kind that the run keeps."""
        return [finding for finding in self.result.findings if isinstance(finding, kind)]

    @cached_property
    def rows(self) -> pl.DataFrame:
        """One row per unit and metric, checked, under the names that the scores have."""
        rows = self.result.rows()
        self._check_rows(rows)
        return rows

    def _check_rows(self, rows: pl.DataFrame) -> None:
        import polars as pl

        kinds = COLUMNS | {name: "text" for name in OPTIONAL if name in rows.columns}
        for name, kind in (kinds | ({"turn": "whole numbers"} if self.result.task == TRACKING.name else {})).items():
            if name not in rows.columns:
                raise self._damaged(f"rows.parquet has no column '{name}'")
            column, dtype = rows[name], rows[name].dtype
            fits = {"text": dtype == pl.String, "numbers": dtype.is_numeric(), "whole numbers": dtype.is_integer()}
            what = ""
            if rows.height and not fits[kind] and not (name in OPTIONAL and dtype == pl.Null):
                what = f"holds {dtype}, not {kind}"
            elif name in COLUMNS and column.null_count():
                what = "has gaps"
            elif kind == "numbers" and rows.height:
                possible = column.is_between(0 if name == "den" else -LARGEST, LARGEST)  # NaN is not
                what = "" if possible.all() else "holds an impossible number"
            if what:
                raise self._damaged(f"rows.parquet: '{name}' {what}")

    def _damaged(self, what: str) -> UserError:
        return UserError(what, file=self.path, hint=AGAIN)

    @cached_property
    def sums(self) -> DialogueSums:
        """The rows summed per dialogue. Those of a folder are read metric by metric, which takes less memory."""
        if "rows" in self.__dict__ or not is_run(self.path):
            return DialogueSums.from_rows(self.rows)
        return DialogueSums.merged((sums, {}) for sums in self._sums_by_metric())

    def read_metric(self, metric: str) -> pl.DataFrame:
        """The rows of one metric of a run folder, checked."""
        rows = next(rows_by_metric(self.path, metric))
        self._check_rows(rows)
        return rows

    def _sums_by_metric(self) -> Iterator[DialogueSums]:
        for rows in rows_by_metric(self.path):
            self._check_rows(rows)
            yield DialogueSums.from_rows(rows)


@dataclass(frozen=True, eq=False)
class ScoredSystem:
    """A system of a run: its scores, and its rows metric by metric."""

    source: Source
    system: str  # name in the run
    name: str  # name in the report
    among: frozenset[str] | None = None  # the dialogues that are looked at; None: all
    found: dict[str, Any] = field(default_factory=dict)  # cached results of computations

    def cached(self, what: str, compute: Callable[[], T]) -> T:
        """Returns the value of `compute`, which is called only once."""
        if what not in self.found:
            self.found[what] = compute()
        return cast(T, self.found[what])

    @cached_property
    def scores(self) -> dict[tuple[str, str], Score]:
        """By metric and group."""
        return {(s.metric, s.group): s for s in self.source.result.scores if s.system == self.system}

    def score(self, metric: str, group: str = ALL) -> Score | None:
        return self.scores.get((metric, group))

    def known_score(self, metric: str, group: str = ALL) -> Score | None:
        """The score if it has a value."""
        score = self.score(metric, group)
        return score if score is not None and score.value is not None else None

    def value(self, metric: str) -> float | None:
        score = self.score(metric)
        return None if score is None else score.value

    def groups(self, metric: str, kind: str) -> dict[str, Estimate]:
        """The values of a metric for a kind of group: of `service`, by the service's name."""
        return {
            score.group.name: Estimate(score.value, score.low, score.high, score.n)
            for (name, _), score in self.scores.items()
            if name == metric and score.group.kind == kind and score.group.name and score.value is not None
        }

    @property
    def overall(self) -> list[str]:
        """The metrics that have a value over everything."""
        return [s.metric for s in self.scores.values() if s.group == ALL and s.value is not None]

    def metric(self, name: str) -> Metric:
        return self.source.result.metric(name)

    def derived_metrics(self, of: str) -> list[Metric]:
        """The run's metrics that are derived from one."""
        return [metric for metric in self.source.result.metrics if metric.of == of]

    @property
    def tally(self) -> TrackTally:
        """Counts of its verdicts, turn by turn."""
        return self.source.tallies.track(self.system)

    @property
    def counts(self) -> Mapping[str, int]:
        """Sizes, and numbers of missing predictions."""
        return self.source.result.counts.get(self.system, {})

    def findings(self, kind: type[T]) -> list[T]:
        """The findings of one kind about this system; those of earlier versions do not name it."""
        return [one for one in self.source.findings(kind) if getattr(one, "system", "") in ("", self.system)]

    def differs(self, other: ScoredSystem, what: str = "gold") -> bool:
        """Whether two systems were scored on the same dialogues against different gold, or with different schemas.

        Runs without digests of their inputs (earlier versions) count as equal.
        """
        ours, theirs = (system.source.result.inputs.get(system.system, {}).get(what) for system in (self, other))
        if ours is None or theirs is None or ours == theirs:
            return False
        sides = (replace(system, among=None).dialogues for system in (self, other))
        return next(sides) == next(sides)

    def rows(self, metric: str) -> pl.DataFrame:
        """The rows of one metric. Those of a folder are read without the others, which takes less memory."""
        import polars as pl

        source = self.source
        if "rows" in source.__dict__ or not is_run(source.path):
            rows = source.rows.filter(pl.col("metric") == metric)
        else:
            rows = source.read_metric(metric)
        return rows.filter(pl.col("system") == self.system)

    def has_rows(self, metric: str) -> bool:
        return (self.system, metric) in self.source.sums.by

    @cached_property
    def _mine(self) -> Mask:
        """Mask of the run's dialogues that this system has and that are compared."""
        sums = self.source.sums
        if self.among is None:
            return sums.has_dialogues(self.system)
        return sums.has_dialogues(self.system) & np.array([id in self.among for id in sums.dialogues], dtype=np.bool_)

    @cached_property
    def dialogues(self) -> tuple[str, ...]:
        """The ids of its dialogues, sorted."""
        return tuple(compress(self.source.sums.dialogues, self._mine))

    def sums(self, metric: str) -> Sums:
        """Numerators and denominators of a metric per dialogue, in the order of `dialogues`."""
        sums = self.source.sums.by.get((self.system, metric))
        if sums is None or not sums.den[self._mine].any():
            known = [name for system, name in self.source.sums.by if system == self.system and name != metric]
            score = self.score(metric)
            hint = suggest_name(metric, known) or "it has: " + (", ".join(known) or "none")
            what = f"'{self.name}' has no metric '{metric}'"
            raise UserError(what, hint=(score.reason if score is not None else None) or hint)
        return Sums(sums.num[self._mine], sums.den[self._mine])


def open_run(run: Run, number: int) -> Source:
    """A run of a report at this position, counted from 1: a run that is not in a folder is named by its position."""
    if isinstance(run, Result):
        return Source(run, f"run {number}")
    path = path_of(run)
    if os.path.isfile(path):
        raise UserError("is not a run's folder", file=path, hint="name the folder of a saved run")
    return Source(stored.open(path), path)


def parts_of(rows: pl.DataFrame) -> Parts:
    """Rows as parts of a ratio, by dialogue."""
    dialogues = sorted(rows["dialogue"].unique().to_list())
    codes_by_name = {name: code for code, name in enumerate(dialogues)}
    codes = np.array([codes_by_name[name] for name in rows["dialogue"].to_list()], dtype=np.int64)
    nothing = np.full(rows.height, NONE)
    num, den = (rows[side].to_numpy().astype(np.float64) for side in ("num", "den"))
    return Parts(num, den, Units(dialogues, codes, nothing, (), nothing))


def estimate_groups(rows: pl.DataFrame, column: str) -> dict[str, Estimate]:
    """Each group's ratio of sums with its interval, as the task itself gives it for groups."""
    labels = sorted(rows[column].drop_nulls().unique().to_list())
    parts, group = parts_of(rows), np.array(rows[column].to_list(), dtype=object)
    values = estimates((parts.take(group == label) for label in labels), parts.units.dialogues, Resampling())
    return dict(zip(map(str, labels), values, strict=True))


def estimate_parts(groups: Mapping[str, Parts]) -> dict[str, Estimate]:
    """Each group's ratio of sums with its interval, from parts."""
    dialogues = sorted({id for parts in groups.values() for id in parts.units.dialogues})
    return dict(zip(groups, estimates(groups.values(), dialogues, Resampling()), strict=True))
