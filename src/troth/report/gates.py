"""Several gates at once: limits for metrics, as the command line or a file has them, applied to a run and its base.

    [tool.troth.gate]                       # pyproject.toml; [gate] in troth.toml
    confidence = 0.95
    strict = true
    history = "runs/history.jsonl"

    [tool.troth.gate.metrics]
    "pass^1" = { margin = 2 }               # points that may be lost against the base
    failed_calls = { at_most = 5 }          # percent
    call_f1 = { margin = 1, at_least = 60 }

Limits are in the units that are printed: points and percent of shares, else the metric's own unit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from troth.core import table as tables
from troth.core.decode import reading
from troth.core.errors import UserError, suggest_name
from troth.core.metric import PERCENT
from troth.core.names import path_of
from troth.report.compare import WIDEST, GateOutcome, LevelOutcome, gate_level, gate_systems, open_pair, open_single
from troth.report.sources import Run, ScoredSystem

FILES = ("troth.toml", "pyproject.toml")  # in the current folder, the first that has gates
FAILED = ("worse", "missed", "exceeded")
LIMITS = ("margin", "at_least", "at_most")
EXAMPLE = 'for example "pass^1" = { margin = 2 }'


class GateRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """One or several limits of a metric, in the printed units."""

    metric: str
    margin: float | None = None  # loss against the base that is accepted
    at_least: float | None = None
    at_most: float | None = None


class GateConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Gates as a file has them."""

    rules: tuple[GateRule, ...]
    confidence: float = 0.95
    strict: bool = False  # an undecided gate fails
    history: str | None = None  # file that runs are recorded in


class GatedRun(NamedTuple):
    """The outcomes of all gates of a run."""

    outcomes: list[GateOutcome | LevelOutcome]
    strict: bool
    clusters: str  # dialogues, documents or tasks

    @property
    def failed(self) -> bool:
        return any(is_failed(outcome, strict=self.strict) for outcome in self.outcomes)

    @property
    def verdicts(self) -> dict[str, str]:
        """The worst verdict on each metric."""
        ranked = sorted(self.outcomes, key=lambda one: (one.verdict in FAILED, one.verdict == "undecided"))
        return {outcome.metric: outcome.verdict for outcome in ranked}


def is_failed(outcome: GateOutcome | LevelOutcome, *, strict: bool) -> bool:
    return outcome.verdict in FAILED or (strict and outcome.verdict == "undecided")


def apply_gates(
    base: Run, new: Run | None = None, *, config: GateConfig | str | os.PathLike[str] | None = None
) -> GatedRun:
    """Applies several gates to a run: limits of its own, and margins against a base.

    `config`: a `GateConfig`, or a TOML file with `[tool.troth.gate]` or `[gate]`; by default troth.toml or
    pyproject.toml of the current folder. Without `new`, `base` is the run, and there are no margins.

    >>> import troth
    >>> from troth import demo
    >>> from troth.report.gates import GateConfig, GateRule
    >>> old, new = (troth.agent(demo.path(f"agents/{name}.jsonl")) for name in ("sturdy", "hasty"))
    >>> rules = GateRule("pass^1", margin=2), GateRule("failed_calls", at_most=50)
    >>> gated = troth.apply_gates(old, new, config=GateConfig(rules))
    >>> gated.failed, gated.verdicts
    (True, {'failed_calls': 'kept', 'pass^1': 'worse'})
    """
    settings = config if isinstance(config, GateConfig) else read_config(config)
    if new is None:
        old, other = None, open_single(base)
    else:
        old, other = open_pair(base, new)
    outcomes = [
        outcome for rule in settings.rules for outcome in apply_rule(rule, old, other, confidence=settings.confidence)
    ]
    return GatedRun(outcomes, settings.strict, other.source.result.clusters)


def apply_rule(
    rule: GateRule, base: ScoredSystem | None, new: ScoredSystem, *, confidence: float
) -> list[GateOutcome | LevelOutcome]:
    """The outcome of each limit of a rule."""
    metric = rule.metric
    by = 100 if new.metric(metric).scale in PERCENT else 1  # from a value to the printed unit
    outcomes: list[GateOutcome | LevelOutcome] = []
    if rule.margin is not None:
        if base is None:
            raise UserError(f"the margin of {metric} needs a base run", hint="troth gate OLD NEW")
        if by == 100 and rule.margin / by >= WIDEST:
            what = f"a margin of {rule.margin:g} for {metric} would let almost anything pass"
            raise UserError(what, hint="it is in points: 0.5 is half a point")
        outcomes.append(gate_systems(base, new, metric=metric, margin=rule.margin / by, confidence=confidence))
    if rule.at_least is not None:
        if by == 100 and not 1 < rule.at_least <= 100:
            what = f"at least {rule.at_least:g} would be {rule.at_least:g} percent of {metric}"
            raise UserError(what, hint="it is in percent, above 1 and at most 100: 95, not 0.95")
        outcomes.append(gate_level(new, metric=metric, at_least=rule.at_least / by, confidence=confidence))
    if rule.at_most is not None:
        if by == 100 and not 0 <= rule.at_most <= 100:
            what = f"at most {rule.at_most:g} would be {rule.at_most:g} percent of {metric}"
            raise UserError(what, hint="it is in percent, from 0 to 100")
        outcomes.append(gate_level(new, metric=metric, at_most=rule.at_most / by, confidence=confidence))
    return outcomes


def read_config(path: str | os.PathLike[str] | None = None) -> GateConfig:
    """The gates of a TOML file; without a path, of troth.toml or pyproject.toml in the current folder."""
    if path is not None:
        table = _read_table(path_of(path))
        if table is None:
            raise UserError("has no gates", file=path_of(path), hint=f"write [gate.metrics], {EXAMPLE}")
        return _parse(table, path_of(path))
    for name in FILES:
        if Path(name).is_file() and (table := _read_table(name)) is not None:
            return _parse(table, name)
    raise UserError("no metric is named", hint="name a metric, or write gates to troth.toml or pyproject.toml")


def _read_table(path: str) -> Mapping[str, Any] | None:
    """The table of gates in a file; None if it has none."""
    import tomllib

    with reading(path, "no TOML", also=(tomllib.TOMLDecodeError, UnicodeDecodeError)):
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    own = content.get("tool", {}).get("troth") if isinstance(content.get("tool"), dict) else None
    where = "[tool.troth]"
    if own is None and Path(path).name != "pyproject.toml":
        own, where = content, "the file"
    if own is None:
        return None
    _check_keys(own, ("gate",), path, where)
    gates: Mapping[str, Any] | None = own.get("gate")
    return gates


def _parse(table: Any, path: str) -> GateConfig:
    _check_keys(table, ("metrics", "confidence", "strict", "history"), path, "[gate]")
    metrics = table.get("metrics", {})
    if not isinstance(metrics, dict) or not metrics:
        raise UserError("[gate] names no metrics", file=path, hint=f"write [gate.metrics], {EXAMPLE}")
    return GateConfig(
        tuple(_parse_rule(name, limits, path) for name, limits in metrics.items()),
        _number(table.get("confidence", 0.95), "confidence", path),
        _typed(table.get("strict", False), bool, "strict", "true or false", path),
        _typed(table.get("history"), (str, type(None)), "history", "the name of a file", path),
    )


def _parse_rule(metric: str, limits: Any, path: str) -> GateRule:
    _check_keys(limits, LIMITS, path, f"metric '{metric}'")
    if not limits:
        raise UserError(f"metric '{metric}' has no limit", file=path, hint=EXAMPLE)
    return GateRule(metric, **{name: _number(value, f"{metric}: {name}", path) for name, value in limits.items()})


def _check_keys(table: Any, known: Sequence[str], path: str, where: str) -> None:
    if not isinstance(table, dict):
        raise UserError(f"{where} is not a table", file=path, hint=EXAMPLE)
    for key in table:
        if key not in known:
            hint = suggest_name(key.replace("-", "_"), known) or f"known: {', '.join(known)}"
            raise UserError(f"{where} has the unknown key '{key}'", file=path, hint=hint)


def _number(value: Any, name: str, path: str) -> float:
    number = float(_typed(value, (int, float), name, "a number", path))
    if not math.isfinite(number):
        raise UserError(f"{name} is {number}, not a number", file=path, hint=EXAMPLE)
    return number


def _typed(value: Any, kind: Any, name: str, what: str, path: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{name} is {value!r}, not {what}", file=path, hint=EXAMPLE)
    return value


def describe_outcome(outcome: GateOutcome | LevelOutcome, clusters: str) -> str:
    """One line: the verdict, the numbers, the limit."""
    scale = outcome.scale
    if isinstance(outcome, GateOutcome):
        difference = tables.format_difference(outcome.difference, scale)
        change = f"{outcome.metric} {difference} ({tables.bounds(outcome.low, outcome.high, scale)})"
        return f"{outcome.verdict}: {change} over {outcome.dialogues} {clusters}, {describe_limit(outcome)}"
    value = f"{outcome.metric} {tables.number(outcome.value, scale)}"
    if outcome.low is not None and outcome.high is not None:
        value += f" ({tables.number(outcome.low, scale)} … {tables.number(outcome.high, scale)})"
    return f"{outcome.verdict}: {value} over {outcome.dialogues} {clusters}, {describe_limit(outcome)}"


def describe_limit(outcome: GateOutcome | LevelOutcome) -> str:
    """The limit in the printed unit: "margin 2", "at least 95", "at most 5"."""
    by = 100 if outcome.scale in PERCENT else 1
    if isinstance(outcome, GateOutcome):
        return f"margin {round(outcome.margin * by, 9):g}"
    if outcome.at_least is not None:
        return f"at least {round(outcome.at_least * by, 9):g}"
    return f"at most {round((outcome.at_most or 0.0) * by, 9):g}"


def describe_doubt(outcome: GateOutcome | LevelOutcome, clusters: str) -> str:
    """Why a gate cannot decide, and how many dialogues would."""
    if isinstance(outcome, GateOutcome):
        needed = f"about {outcome.needed} {clusters} would decide" if outcome.needed else outcome.reason
        return f"too few {clusters} to tell: {needed}"
    return f"too few {clusters} to tell" + (f": {outcome.reason}" if outcome.reason else "")


def describe_changes(outcome: GateOutcome, clusters: str, most: int) -> Iterable[str]:
    """One line for each unit that became worse or better, up to a limit for each, and their total numbers."""
    unit = clusters.removesuffix("s")
    for verb, changes in (("broke", outcome.broken), ("mended", outcome.mended)):
        for change in changes[:most]:
            values = " → ".join(tables.number(value, outcome.scale) for value in (change.before, change.after))
            yield f"{verb}: {unit} {change.unit}, {values}" + (
                "" if change.step is None else f": {describe_step(change.step)}"
            )
        if len(changes) > most:
            yield f"… {verb} in all: {len(changes)} {clusters}"


def describe_step(step: Any) -> str:
    """Where two trials or dialogues first differ, in words."""
    places = [("trial", step.trial), ("turn", step.turn)]
    where = ", ".join(f"{name} {number}" for name, number in places if number is not None)
    return ": ".join(part for part in (where, step.text) if part)
