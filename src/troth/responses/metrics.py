"""Metrics of responses: what each is, its part of one judged turn, and the recipe that its signature names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from troth.core.metric import Metric
from troth.core.names import listed
from troth.core.registry import Registry
from troth.responses import bleu, references
from troth.responses.ser import Value
from troth.responses.sgsacc import ActVerdict, Augment, DueAct, SystemTurn

Fraction = tuple[float, float]
NONE: Fraction = (0.0, 0.0)  # the metric does not apply
ALWAYS = {"always": True}


class JudgedAct(NamedTuple):
    """One act of one response: the values that SER looks for, those that it misses, and SGSAcc's verdict."""

    due: DueAct
    values: tuple[Value, ...]
    missed: tuple[Value, ...]
    verdict: ActVerdict | None  # None: no model was asked


class JudgedTurn(NamedTuple):
    """One response with its acts."""

    turn: SystemTurn
    response: str | None  # None: there is none, which is wrong in every metric
    acts: tuple[JudgedAct, ...]

    @property
    def services(self) -> list[str]:
        return list(dict.fromkeys(act.due.service.name for act in self.acts))

    def alone(self, act: JudgedAct) -> JudgedTurn:
        """The same turn as if it had this act only."""
        return self._replace(acts=(act,))


# -- recipes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SerRecipe:
    """What changes a slot error rate."""

    unit: str = field(default="turn", metadata=ALWAYS)
    match: str = field(default="substring", metadata=ALWAYS)
    schema: str = field(metadata=ALWAYS)  # a fingerprint of its non-categorical slots


@dataclass(frozen=True, kw_only=True)
class SgsaccRecipe:
    """What changes a Schema-Guided Semantic Accuracy."""

    unit: str = field(default="turn", metadata=ALWAYS)
    refs: str = field(default=references.RULES, metadata=ALWAYS)
    schema: str = field(metadata=ALWAYS)  # a fingerprint of its names, descriptions and values
    descriptions: str = field(default="schema", metadata={"rule": "desc"})  # `part`, `none`: the schema lacks them
    nli: str = ""
    select: str = ""  # whether gold chooses the reference: gold, any
    augment: Augment | None = None
    negatives: int | None = None  # of validation
    seed: int | None = None  # of the negatives
    gate: str = ""

    def unvalidated(self, **changes: Any) -> SgsaccRecipe:
        return replace(self, negatives=None, seed=None, **changes)


@dataclass(frozen=True)
class BleuRecipe:
    """What changes BLEU: the rules of sacreBLEU's own signature."""

    nrefs: str
    case: str
    eff: str
    tok: str
    smooth: str
    version: str


@dataclass(frozen=True)
class TurnRecipe:
    """Which turns count, for every metric."""

    missing: str = field(metadata=ALWAYS)
    set: str = ""  # a fingerprint of the turns, where a system's own responses decide which count
    train: str = ""  # a fingerprint of the training services, for groups seen and unseen


class Recipes(NamedTuple):
    """The recipes of one run, by kind of metric."""

    ser: SerRecipe
    sgsacc: SgsaccRecipe
    bleu: BleuRecipe | tuple[()]  # empty where sacreBLEU is not installed


class TurnScoring(NamedTuple):
    """`Metric.compute` of a metric that is a ratio of sums over turns."""

    part: Callable[[JudgedTurn], Fraction]
    recipe: Callable[[Recipes], Any]  # a frozen dataclass with the field `unit`
    by_act: bool = True  # whether it can be given for single acts
    reason: str = "no rule fits any act"  # why there is no value where it applies to no turn


class CorpusScoring(NamedTuple):
    """`Metric.compute` of BLEU (`unit="corpus"`): counts of each turn, which are summed before anything is divided."""

    counts: Callable[[Sequence[JudgedTurn]], bleu.Counts]
    recipe: Callable[[Recipes], Any]


# -- metrics -----------------------------------------------------------------------------------------------------------


def _ser(turn: JudgedTurn) -> Fraction:
    return float(turn.response is None or any(act.missed for act in turn.acts)), 1.0


def _ser_applicable(turn: JudgedTurn) -> Fraction:
    return _ser(turn) if any(act.values for act in turn.acts) else NONE


def _faithful(true: Callable[[ActVerdict], bool], *, validated: bool = False) -> Callable[[JudgedTurn], Fraction]:
    """Whether a response is true to all acts that a rule fits; `validated`: if the turn passes validation."""

    def part(turn: JudgedTurn) -> Fraction:
        verdicts = [act.verdict for act in turn.acts if act.verdict is not None]
        judged = [verdict for verdict in verdicts if verdict.reference is not None]
        if not judged or (validated and any(verdict.excluded for verdict in verdicts)):
            return NONE
        return float(all(map(true, judged))), 1.0

    return part


SER = Metric(
    "ser", "Slot error rate", "share of turns whose response leaves out a value of a non-categorical slot",
    better="lower", unit="turn", needs=("schema",),
    compute=TurnScoring(_ser, lambda run: run.ser, by_act=False),  # it divides by everything: not beside the next one
)  # fmt: skip
SER_APPLICABLE = SER.derive(
    "ser_applicable", title="Slot error rate, applicable turns",
    about="slot error rate over the turns that have such a value to give",
    compute=TurnScoring(_ser_applicable, lambda run: run.ser, reason="no turn has a value to give"),
)  # fmt: skip
BLEU = Metric(
    "bleu", "BLEU", "corpus BLEU against gold's utterances, by sacreBLEU", unit="corpus", needs=("text", "sacrebleu"),
    compute=CorpusScoring(
        lambda turns: bleu.counts([one.response or "" for one in turns], [one.turn.gold for one in turns]),
        lambda run: run.bleu,
    ),
)  # fmt: skip
SGSACC = Metric(
    "sgsacc", "SGSAcc", "Schema-Guided Semantic Accuracy: share of responses that entail all their acts",
    unit="turn", needs=("schema", "nli"),
    compute=TurnScoring(_faithful(lambda verdict: verdict.entailed), lambda run: run.sgsacc.unvalidated()),
)  # fmt: skip
SGSACC_PLAIN = SGSACC.derive(
    "sgsacc_plain", title="SGSAcc without context", about="SGSAcc without the retry in context",
    compute=TurnScoring(
        _faithful(lambda verdict: verdict.entailed_plain), lambda run: run.sgsacc.unvalidated(augment="never")
    ),
)  # fmt: skip
SGSACC_VALIDATED = SGSACC.derive(
    "sgsacc_validated", title="SGSAcc, validated turns", about="SGSAcc over the turns whose gold passes validation",
    needs=("schema", "nli", "text", "negatives"),
    compute=TurnScoring(
        _faithful(lambda verdict: verdict.entailed, validated=True), lambda run: run.sgsacc,
        reason="no turn passes validation",
    ),
)  # fmt: skip
SGSACC_GATED = SGSACC.derive(
    "sgsacc_gated", title="SGSAcc with the gate",
    about="SGSAcc where, in addition, every value that is said as it is must stand in the response",
    compute=TurnScoring(
        _faithful(lambda verdict: verdict.entailed and verdict.present),
        lambda run: run.sgsacc.unvalidated(gate="present"),
    ),
)  # fmt: skip

OURS = (SER, SER_APPLICABLE, BLEU, SGSACC, SGSACC_PLAIN, SGSACC_VALIDATED, SGSACC_GATED)
METRICS = Registry("metric of responses", "troth.responses_metrics", {metric.name: metric for metric in OURS})


def chosen(names: str | Iterable[str] | None) -> list[Metric]:
    """The metrics of these names, each with those that are derived from it. None: all of ours."""
    metrics: dict[str, Metric] = {}
    for name in listed(names) or METRICS.own:
        metric: Metric = METRICS.load(name)
        metrics |= {one.name: one for one in (metric, *(one for one in OURS if one.of == metric.name))}
    return list(metrics.values())


# Which acts a rule fits does not depend on the model; which turns pass validation does.
COVERED: dict[str, tuple[Metric, Callable[[Recipes], Any]]] = {
    "ser": (SER_APPLICABLE, lambda run: run.ser),
    "sgsacc": (SGSACC, lambda run: run.sgsacc.unvalidated(nli="", select="", augment=None)),
    "validated": (SGSACC_VALIDATED, lambda run: run.sgsacc),
}


def coverage(metrics: Sequence[Metric]) -> list[Metric]:
    """Shares of turns and of acts that the metrics apply to: `coverage:ser`, `act_coverage:ser`, …"""
    covered = [(name, *one) for name, one in COVERED.items() if one[0] in metrics]
    return [
        metric.derive(
            f"{prefix}:{name}", title=f"{unit.capitalize()}s that {metric.title} applies to", better="higher",
            about=f"share of {unit}s that {metric.name} applies to", unit=unit, variant="coverage",
            compute=TurnScoring(part(metric.compute), recipe, reason=metric.compute.reason),
        )
        for prefix, unit, part in (("coverage", "turn", _turns), ("act_coverage", "act", _acts))
        for name, metric, recipe in covered
    ]  # fmt: skip


def _turns(scoring: TurnScoring) -> Callable[[JudgedTurn], Fraction]:
    return lambda turn: (scoring.part(turn)[1], 1.0)


def _acts(scoring: TurnScoring) -> Callable[[JudgedTurn], Fraction]:
    return lambda turn: (sum(scoring.part(turn.alone(act))[1] for act in turn.acts), float(len(turn.acts)))
