"""Which tasks, dialogues or documents became worse or better between two runs, and where they first differ.

A unit broke if its value of a metric is worse than before. Of assistants that call tools, the first differing step is
the first call that differs between a trial that was solved and one that is not; for metrics of the text, it is the
first new finding. For dialogues, it is the first turn with a worse value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from troth.agents.findings import AgentFinding, findings_behind
from troth.agents.score import TASK as AGENTS
from troth.report.sources import ScoredSystem
from troth.stats.resampling import TIE
from troth.storage.trajectory_views import CallView, TrajectoryView

DIGITS = 12  # of a unit's value: the last ones depend on the order in which rows are summed
LONGEST = 60  # characters of an argument's value in a description


class FirstDifference(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first step in which a unit of the new run differs from the base's."""

    text: str
    turn: int | None = None
    trial: int | None = None  # of the new run
    message: int | None = None  # of the new run's trial
    base_trial: int | None = None
    base_message: int | None = None


class UnitChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A task, dialogue or document whose value of a metric changed."""

    unit: str
    before: float
    after: float
    step: FirstDifference | None = None  # None: the runs do not hold it


class Changes(NamedTuple):
    """Units that are worse than before, and units that are better: the largest changes first."""

    broken: list[UnitChange]
    mended: list[UnitChange]


def find_changes(base: ScoredSystem, new: ScoredSystem, metric: str) -> Changes:
    """The units whose value of a metric changed. Both systems must have the same units."""
    sides = zip(base.dialogues, *base.sums(metric), *new.sums(metric), strict=True)
    changes = [
        UnitChange(unit, round(float(n / d), DIGITS), round(float(m / e), DIGITS))
        for unit, n, d, m, e in sides
        if d and e
    ]
    sign = -1 if new.metric(metric).better == "lower" else 1
    gains = {change.unit: sign * (change.after - change.before) for change in changes}
    changes.sort(key=lambda change: (-abs(gains[change.unit]), change.unit))
    broken = [change for change in changes if gains[change.unit] < -TIE]
    mended = [change for change in changes if gains[change.unit] > TIE]
    steps = _agent_steps if new.source.result.task == AGENTS.name else _turn_steps
    found = steps(base, new, metric, [change.unit for change in broken]) if broken else {}
    return Changes([msgspec.structs.replace(change, step=found.get(change.unit)) for change in broken], mended)


def _turn_steps(base: ScoredSystem, new: ScoredSystem, metric: str, units: Sequence[str]) -> dict[str, FirstDifference]:
    """The first turn of each dialogue with a worse value than before."""
    sides = [_turn_values(system, metric, units) for system in (base, new)]
    sign = -1 if new.metric(metric).better == "lower" else 1
    steps: dict[str, FirstDifference] = {}
    for unit, turn in sorted(sides[0].keys() & sides[1].keys()):
        if unit not in steps and sign * (sides[1][unit, turn] - sides[0][unit, turn]) < -TIE:
            steps[unit] = FirstDifference("the first turn that is worse", turn)
    return steps


def _turn_values(system: ScoredSystem, metric: str, units: Sequence[str]) -> dict[tuple[str, int], float]:
    import polars as pl

    rows = system.rows(metric)
    if "turn" not in rows.columns:
        return {}
    chosen = rows.filter(pl.col("turn").is_not_null() & pl.col("dialogue").is_in(list(units)))
    sums = chosen.group_by("dialogue", "turn").agg(pl.col("num").sum(), pl.col("den").sum())
    return {(unit, turn): num / den for unit, turn, num, den in sums.iter_rows() if den}


def _agent_steps(
    base: ScoredSystem, new: ScoredSystem, metric: str, units: Sequence[str]
) -> dict[str, FirstDifference]:
    if not {"gold", "success"} & set(new.metric(metric).needs) and (found := _new_findings(base, new, metric)):
        return {unit: found[unit] for unit in units if unit in found}
    wanted = frozenset(units)
    before, after = (_trials(system, wanted) for system in (base, new))
    return {
        unit: compare_trials(_first(before[unit], solved=True), _first(after[unit], solved=False))
        if unit in after
        else FirstDifference("there is no trial")
        for unit in units
        if unit in before
    }


def _trials(system: ScoredSystem, units: frozenset[str]) -> dict[str, list[TrajectoryView]]:
    trials: dict[str, list[TrajectoryView]] = {}
    for view in system.source.result.explorer().trajectories:
        if view.system == system.system and view.task in units:
            trials.setdefault(view.task, []).append(view)
    return trials


def _first(trials: Sequence[TrajectoryView], *, solved: bool) -> TrajectoryView:
    """The first trial that is solved, or that is not; else the first."""
    return next((one for one in trials if one.solved is not None and (one.solved == 1) == solved), trials[0])


def _new_findings(base: ScoredSystem, new: ScoredSystem, metric: str) -> dict[str, FirstDifference]:
    """By task, the first finding that lowers a metric and that the base does not have."""
    sides = [findings_behind(system.source.findings(AgentFinding), metric, system.system) for system in (base, new)]
    known = {(one.task, one.kind, one.text, one.tool, one.value) for one in sides[0]}
    steps: dict[str, FirstDifference] = {}
    for one in sides[1]:
        if one.task not in steps and (one.task, one.kind, one.text, one.tool, one.value) not in known:
            said = one.text or " ".join(part for part in (one.tool, one.argument, one.value) if part)
            text = ": ".join(part for part in (one.kind, said, one.reason) if part)
            steps[one.task] = FirstDifference(text, one.turn, one.trial, one.message)
    return steps


class _Step(NamedTuple):
    call: CallView
    message: int
    turn: int | None


def compare_trials(base: TrajectoryView, new: TrajectoryView) -> FirstDifference:
    """The first counted call in which two trials of a task differ; else the first answer."""
    before, after = list(_steps(base)), list(_steps(new))

    def difference(text: str, here: Any, there: Any) -> FirstDifference:
        turn = next((one.turn for one in (here, there) if one is not None), None)
        messages = [None if one is None else one.message for one in (here, there)]
        return FirstDifference(text, turn, new.trial, messages[0], base.trial, messages[1])

    for there, here in zip_longest(before, after):
        if there is None:
            return difference(f"{_describe(here.call)} is called in addition", here, there)
        if here is None:
            return difference(f"{_describe(there.call)} is not called", here, there)
        if here.call.tool != there.call.tool:
            return difference(f"{_describe(here.call)} in place of {_describe(there.call)}", here, there)
        if changed := _changed_arguments(here.call, there.call):
            return difference(f"{here.call.tool}: {changed}", here, there)
    for there, here in zip(_answers(base), _answers(new), strict=False):
        if here.text != there.text:
            text = "the same calls, another answer"
            return FirstDifference(text, here.turn, new.trial, here.index, base.trial, there.index)
    return FirstDifference("the same calls and answers", None, new.trial, None, base.trial)


def _steps(view: TrajectoryView) -> Iterator[_Step]:
    for message in view.messages:
        for call in message.calls:
            if call.verdict != "uncounted":
                yield _Step(call, message.index, message.turn)


def _answers(view: TrajectoryView) -> list[Any]:
    return [message for message in view.messages if message.role == "assistant" and message.text]


def _changed_arguments(here: CallView, there: CallView) -> str:
    if here.broken != there.broken:
        return f"the arguments {'were' if here.broken is None else 'are'} not a JSON object"
    names = [name for name in {**there.arguments, **here.arguments} if _value(here, name) != _value(there, name)]
    return ", ".join(f"{name} = {_value(here, name)}, not {_value(there, name)}" for name in names)


def _value(call: CallView, name: str) -> str:
    if name not in call.arguments:
        return "nothing"
    value = call.arguments[name]
    return _shorten(value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode())


def _describe(call: CallView) -> str:
    return f"{call.tool}({_shorten(', '.join(f'{name}={_value(call, name)}' for name in call.arguments))})"


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
