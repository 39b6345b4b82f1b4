"""Compares two or more systems on the same dialogues: is the difference larger than chance explains?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from troth import stats
from troth.core import table as tables
from troth.core.errors import UserError, suggest_name
from troth.core.metric import Better, Scale
from troth.core.names import parse_names, unique_names
from troth.core.progress import note
from troth.report.changes import UnitChange, find_changes
from troth.report.sources import Run, ScoredSystem, open_run

NAMED = 3  # dialogues that an error names
COLUMNS = (
    "system", "against", "metric", "value", "base", "difference", "95% interval", "p (boot)", "p (rand)", "p (Holm)",
)  # fmt: skip
WIDEST = 0.25  # of a margin for a share: who asks for more has given points for fractions


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """`system` against `base` on one metric: the system's value minus the base's, on the scale of `Score.value`."""

    base: str
    system: str
    metric: str
    base_value: float
    value: float
    difference: float
    low: float | None
    high: float | None
    p_bootstrap: float | None
    p_randomization: float
    p_holm: float  # of the randomisation test, corrected for all comparisons made at once
    dialogues: int
    signature: str  # the recipe that both were scored by
    scale: Scale = "share"
    better: Better = "higher"
    note: str | None = None  # what these dialogues cannot show


@dataclass(frozen=True, repr=False)
class Differences(Sequence[Difference]):
    """The differences of one call of `compare`, as a sequence; printed, it is a table."""

    differences: tuple[Difference, ...]
    labels: Mapping[str, str]  # how tables print each metric
    cluster: str = "dialogue"  # unit that the tests resample

    def __getitem__(self, index: Any) -> Any:
        return self.differences[index]

    def __len__(self) -> int:
        return len(self.differences)

    def table(self) -> tables.Table:
        """A row for each difference; shares in percent, their differences in points."""
        return tables.Table(COLUMNS, tuple(map(_difference_row, self.differences)), labels=3)

    def __repr__(self) -> str:
        over = f"{self.differences[0].dialogues} {self.cluster}s" if self.differences else "nothing"
        count = f"{len(self)} difference{'' if len(self) == 1 else 's'}"
        return "\n".join([f"troth compare: {count} over {over}", self.table().plain()])

    def _repr_html_(self) -> str:
        """A table in a notebook."""
        return self.table().html()


def _difference_row(d: Difference) -> tuple[str, ...]:
    return (
        d.system, d.base, d.metric, tables.number(d.value, d.scale), tables.number(d.base_value, d.scale),
        tables.format_difference(d.difference, d.scale), tables.bounds(d.low, d.high, d.scale),
        *(tables.number(p, "p") for p in (d.p_bootstrap, d.p_randomization, d.p_holm)),
    )  # fmt: skip


class GateOutcome(msgspec.Struct, frozen=True):
    """Decision of a gate on a metric, with the difference new minus base on the scale of `Score.value`."""

    metric: str
    base: str
    new: str
    verdict: stats.Verdict
    difference: float
    low: float | None
    high: float | None
    margin: float
    dialogues: int
    needed: int | None  # about how many dialogues would decide, when undecided
    reason: str | None  # why `needed` is not known, when undecided
    base_value: float
    value: float
    signature: str
    scale: Scale
    better: Better
    broken: list[UnitChange] = []  # dialogues, tasks or documents that are worse than before, the largest losses first
    mended: list[UnitChange] = []  # and those that are better


class LevelOutcome(msgspec.Struct, frozen=True):
    """Decision of an absolute gate on a metric, on the scale of `Score.value`."""

    metric: str
    system: str
    verdict: stats.Level
    value: float
    low: float | None  # one-sided bounds
    high: float | None
    at_least: float | None
    at_most: float | None
    dialogues: int
    reason: str | None  # why there are no bounds
    signature: str
    scale: Scale


def compare(
    *runs: Run,
    metrics: str | Iterable[str] | None = None,
    base: str | None = None,
    pairs: bool = False,
    common: bool = False,
    resamples: int = 10_000,
    seed: int = 0,
) -> Differences:
    """Compares systems on each metric by paired tests over dialogues: every system with a base, or all pairs.

    A run is a `Result`, or the folder that one was saved to. The base is the first system, or the one named by `base`;
    with `pairs`, every system is compared with every one before it. All systems must be scored by the same recipe, and
    on the same dialogues; with `common`, only the dialogues that all of them have are compared. Without `metrics`, the
    first metric that all systems have is taken. Each difference comes with a 95% interval, the p-values of the paired
    bootstrap and of approximate randomisation, and the latter with Holm's correction over everything compared in this
    call.

    >>> import troth
    >>> from troth import demo
    >>> result = troth.dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), profile="trade", metrics="jga")
    >>> for one in troth.compare(result, metrics="jga"):
    ...     print(f"{one.system} - {one.base}: {one.difference:+.3f}, p = {one.p_holm:.3f}")
    sturdy - hasty: +0.220, p = 0.004
    """
    systems = _systems(runs)
    if len(systems) < 2:
        raise UserError("at least two systems are needed", hint="name another run or prediction")
    if base is not None:
        systems = _put_first(base, systems)
    if common:
        systems = _restrict_to_common(systems)
    names = parse_names(metrics) or _first_metric(systems)
    compared = list(combinations(systems, 2)) if pairs else [(systems[0], other) for other in systems[1:]]
    for base_system, other in compared:
        for metric in names:
            _check_alike(base_system, other, metric)
        _note_schemas(base_system, other)
    differences = [d for pair in compared for d in compare_pair(*pair, names, resamples=resamples, seed=seed)]
    labels = {name: systems[0].metric(name).label for name in names}
    return Differences(tuple(correct_differences(differences)), labels, systems[0].source.result.cluster)


def _put_first(base: str, systems: Sequence[ScoredSystem]) -> list[ScoredSystem]:
    names = [system.name for system in systems]
    if base not in names:
        hint = suggest_name(base, names) or "systems: " + ", ".join(names)
        raise UserError(f"there is no system '{base}'", hint=hint)
    return sorted(systems, key=lambda system: system.name != base)


def _restrict_to_common(systems: Sequence[ScoredSystem]) -> list[ScoredSystem]:
    if not (shared := frozenset.intersection(*(frozenset(system.dialogues) for system in systems))):
        system = systems[0].source.result.clusters.removesuffix("s")
        raise UserError(f"no {system} is in all of these runs", hint="are they of the same split?")
    every = frozenset[str].union(*(frozenset(system.dialogues) for system in systems))
    lacking = [
        _describe_missing(system, sorted(every.difference(system.dialogues)))
        for system in systems
        if len(system.dialogues) < len(every)
    ]
    if lacking:
        over = systems[0].source.result.clusters
        note(f"{len(every) - len(shared)} of {len(every)} {over} are left out: {', '.join(lacking)}")
    return [replace(system, among=shared) for system in systems]


def _first_metric(systems: Sequence[ScoredSystem]) -> list[str]:
    """The first metric that all systems have, with rows if any has them."""
    shared = [metric for metric in systems[0].overall if all(system.known_score(metric) for system in systems)]
    if not shared:
        raise UserError("these systems have no metric in common", hint="name runs of the same task")
    return [next((metric for metric in shared if all(system.has_rows(metric) for system in systems)), shared[0])]


def gate(base: Run, new: Run, *, metric: str, margin: float, confidence: float = 0.95) -> GateOutcome:
    """Decides whether `new` is worse than `base` by more than `margin`: "worse", "not worse" or "undecided".

    Each run is a `Result` with one system, or the folder that one was saved to. `margin` is in the terms of
    `Score.value`: for a share it is a fraction, and 0.005 is half a point. Where lower is better, a rise is what is
    worse; the difference is new minus base all the same. "undecided" says about how many dialogues would decide.
    `broken` and `mended` list the dialogues, tasks or documents that changed.

    >>> import troth
    >>> from troth import demo
    >>> result = troth.dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), metrics="jga")
    >>> troth.gate(result.only("hasty"), result.only("sturdy"), metric="jga", margin=0.05).verdict
    'not worse'
    """
    return gate_systems(*open_pair(base, new), metric=metric, margin=margin, confidence=confidence)


def open_pair(base: Run, new: Run) -> tuple[ScoredSystem, ScoredSystem]:
    """The systems of two runs with one each."""
    systems = _systems((base, new))
    if len(systems) != 2:
        raise UserError(f"a gate takes two systems, and these runs hold {len(systems)}", hint="one system per run")
    return systems[0], systems[1]


def gate_systems(
    old: ScoredSystem, other: ScoredSystem, *, metric: str, margin: float, confidence: float = 0.95
) -> GateOutcome:
    """As `gate`, for systems of runs that are open."""
    _check_alike(old, other, metric)
    _note_schemas(old, other)
    facts = _describe_metric(old, other, metric)
    if facts["scale"] == "share" and margin >= WIDEST:
        what = f"a margin of {margin:g} is {100 * margin:g} points, which accepts almost any result"
        raise UserError(what, hint="a margin is a fraction: 0.005 is half a point")
    lowest, highest = other.metric(metric).range
    if facts["scale"] == "number" and margin >= WIDEST * (highest - lowest):
        what = f"a margin of {margin:g} accepts almost any result: {metric} is {_describe_range(lowest, highest)}"
        raise UserError(what, hint=f"a margin is in the metric's own unit: for example {0.02 * (highest - lowest):g}")
    lower_is_better = facts["better"] == "lower"
    sides = [(den - num if lower_is_better else num, den) for num, den in (old.sums(metric), other.sums(metric))]
    decision = stats.gate(*sides[0], *sides[1], margin=margin, confidence=confidence)
    if lower_is_better:
        low, high = (None if bound is None else -bound for bound in (decision.high, decision.low))
        decision = replace(decision, difference=-decision.difference, low=low, high=high)
    changes = find_changes(old, other, metric)
    return GateOutcome(base=old.name, new=other.name, **facts, **asdict(decision), **changes._asdict())


def level_gate(
    run: Run, *, metric: str, at_least: float | None = None, at_most: float | None = None, confidence: float = 0.95
) -> LevelOutcome:
    """Decides whether a metric is within a limit, by one-sided bounds.

    With `at_least`: "reached", "missed" or "undecided". With `at_most`, for metrics where lower is better: "kept",
    "exceeded" or "undecided". The run is a `Result` with one system, or the folder that one was saved to. Limits are in
    the terms of `Score.value`: 0.95 of a share is 95%.

    >>> import troth
    >>> from troth import demo
    >>> result = troth.dst(demo.path("gold"), demo.path("hasty"), metrics="jga")
    >>> troth.level_gate(result, metric="jga", at_least=0.95).verdict
    'missed'
    """
    return gate_level(open_single(run), metric=metric, at_least=at_least, at_most=at_most, confidence=confidence)


def open_single(run: Run) -> ScoredSystem:
    """The system of a run with one."""
    systems = _systems((run,))
    if len(systems) != 1:
        raise UserError(f"a gate takes one system, and this run holds {len(systems)}", hint="one system per run")
    return systems[0]


def gate_level(
    system: ScoredSystem,
    *,
    metric: str,
    at_least: float | None = None,
    at_most: float | None = None,
    confidence: float = 0.95,
) -> LevelOutcome:
    """As `level_gate`, for the system of a run that is open."""
    num, den = system.sums(metric)
    score, declared = system.score(metric), system.metric(metric)
    if at_least is not None and declared.better == "lower":
        raise UserError(
            f"lower is better for {metric}", hint="name the most that it may be, or a base run and a margin"
        )
    if at_most is not None and declared.better == "higher":
        raise UserError(f"higher is better for {metric}", hint="name the least that it must be")
    limit = at_least if at_most is None else at_most
    if declared.scale == "share" and limit is not None and not (0 <= limit <= 1 and (at_most is not None or limit)):
        raise UserError(f"{metric} is a share and cannot be {limit:g}", hint="a share is a fraction: 0.95 is 95%")
    lowest, highest = declared.range
    can_fail = lowest < at_least <= highest if at_least is not None else lowest <= (at_most or 0) < highest
    if declared.scale == "number" and not can_fail:
        what = f"a limit of {limit:g} decides nothing: {metric} is {_describe_range(lowest, highest)}"
        raise UserError(what, hint="give a limit within this range, in the metric's own unit")
    top = None if declared.bound is None or math.isinf(declared.bound) else declared.bound
    decision = stats.level_gate(num, den, at_least=at_least, at_most=at_most, top=top, confidence=confidence)
    return LevelOutcome(
        metric=metric, system=system.name, signature=score.identity if score else "",
        scale=score.scale if score else declared.scale, **asdict(decision),
    )  # fmt: skip


def _describe_range(lowest: float, highest: float) -> str:
    return f"{lowest:g} or more" if math.isinf(highest) else f"between {lowest:g} and {highest:g}"


def compare_pair(
    base: ScoredSystem, other: ScoredSystem, metrics: Sequence[str], *, resamples: int, seed: int
) -> list[Difference]:
    """Compares a system with a base on each metric, without correction for multiple tests.

    Both must have the same dialogues: their sums are joined by the dialogues' ids.
    """
    if not metrics:
        return []
    parts = [
        np.stack(sides, axis=1) for system in (base, other) for sides in zip(*map(system.sums, metrics), strict=True)
    ]
    return [
        Difference(
            base=base.name, system=other.name, **_describe_metric(base, other, metric), **asdict(test),
            p_holm=test.p_randomization,
        )
        for metric, test in zip(metrics, stats.compare(*parts, resamples=resamples, seed=seed), strict=True)
    ]  # fmt: skip


def correct_differences(differences: Sequence[Difference]) -> list[Difference]:
    """Applies Holm's correction to the p-values of all differences."""
    adjusted = stats.holm([difference.p_randomization for difference in differences])
    return [msgspec.structs.replace(difference, p_holm=p) for difference, p in zip(differences, adjusted, strict=True)]


def _systems(runs: Sequence[Run]) -> list[ScoredSystem]:
    """The systems of all runs, in the order given, with unique names."""
    sources = [open_run(run, number) for number, run in enumerate(runs, 1)]
    systems = [system for source in sources for system in source.systems]
    names = unique_names([(system.source.path, system.system) for system in systems])
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"'{name}' is named twice", hint="name every run or prediction once")
    return [replace(system, name=name) for system, name in zip(systems, names, strict=True)]


def _check_alike(base: ScoredSystem, other: ScoredSystem, metric: str) -> None:
    """Raises UserError unless both systems have the same dialogues, gold and recipe."""
    recipes = []
    for system in (base, other):
        system.sums(metric)
        score = system.score(metric)
        recipes.append(None if score is None else score.identity)
    if base.dialogues != other.dialogues:
        sides = ((base, other), (other, base))
        differing = [(system, sorted(set(two.dialogues) - set(system.dialogues))) for system, two in sides]
        lacking = [_describe_missing(system, ids) for system, ids in differing if ids]
        over = base.source.result.clusters
        what = f"'{base.name}' and '{other.name}' are scored on different {over}: {', '.join(lacking)}"
        raise UserError(what, hint=f"score both on the same gold, or compare the {over} that they have in common")
    if base.differs(other):
        over = base.source.result.clusters
        what = f"'{base.name}' and '{other.name}' are scored against different gold for the same {over}"
        raise UserError(what, hint="score both against the same gold")
    if recipes[0] != recipes[1]:
        what = f"'{base.name}' and '{other.name}' are scored by different recipes"
        raise UserError(f"{what}: {recipes[0]} and {recipes[1]}", hint="score both alike")


def _note_schemas(base: ScoredSystem, other: ScoredSystem) -> None:
    """Notes different schemas; they may differ only in words that no score depends on."""
    if base.differs(other, "schema"):
        note(f"'{base.name}' and '{other.name}' are scored with different schemas")


def _describe_missing(system: ScoredSystem, ids: Sequence[str]) -> str:
    """`'new' lacks 19 (demo_01, demo_02, demo_03, …)`."""
    return f"'{system.name}' lacks {len(ids)} ({', '.join([*ids[:NAMED], *(['…'] if len(ids) > NAMED else [])])})"


def _describe_metric(base: ScoredSystem, other: ScoredSystem, metric: str) -> dict[str, Any]:
    """Returns a metric's two values, signature, scale and direction."""
    values = [float(num.sum() / den.sum()) for num, den in (base.sums(metric), other.sums(metric))]
    score, declared = base.score(metric), base.metric(metric)
    return {
        "metric": metric, "base_value": values[0], "value": values[1], "signature": score.identity if score else "",
        "scale": score.scale if score else declared.scale, "better": score.better if score else declared.better,
    }  # fmt: skip
