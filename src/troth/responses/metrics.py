"""Metrics of responses: what each is, its part of one judged response, and the recipe that its signature names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from troth.core.metric import Metric
from troth.core.names import parse_names
from troth.core.records import Speaker
from troth.core.registry import Registry
from troth.responses import bleu, references
from troth.responses.sgsacc import PSEUDO, Augment
from troth.storage.explorer import ActView, AnswerView

Fraction = tuple[float, float]
NONE: Fraction = (0.0, 0.0)  # the metric does not apply
ALWAYS = {"always": True}


class JudgedResponse(NamedTuple):
    """One response with its judged acts (`answer`), gold's utterance, and the turn before."""

    dialogue: str
    answer: AnswerView  # no text if there is no response, which is wrong in every metric
    gold: str
    previous: str
    before: Speaker = "USER"  # who said `previous`

    @property
    def services(self) -> list[str]:
        return list(dict.fromkeys(act.service for act in self.answer.acts))

    @property
    def unfaithful(self) -> bool:
        """Whether the response fails one of its acts: by the model, or, where none was asked, by a value left out."""
        if any(act.present is not None for act in self.answer.acts):
            return any(act.entailed is False for act in self.answer.acts)
        return _ser(self)[0] > 0

    def with_act(self, act: ActView) -> JudgedResponse:
        """The same response as if it had this act only."""
        return self._replace(answer=msgspec.structs.replace(self.answer, acts=(act,)))


@dataclass(frozen=True, kw_only=True)
class SerRecipe:
    """Settings that change a slot error rate."""

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
    match: str = ""  # how SER looks for values, for the agreement with it

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
    train: str = ""  # a fingerprint of the training services or domains, for groups of seen and unseen


class Recipes(NamedTuple):
    """The recipes of one run, by kind of metric."""

    ser: SerRecipe
    sgsacc: SgsaccRecipe
    bleu: BleuRecipe | tuple[()]  # empty where BLEU is not scored


class TurnScoring(NamedTuple):
    """`Metric.compute` of a metric that is a ratio of sums over turns."""

    part: Callable[[JudgedResponse], Fraction]
    recipe: Callable[[Recipes], Any]  # a frozen dataclass with the field `unit`
    by_act: bool = True  # whether it can be given for single acts
    reason: str = "no rule fits any act"  # why there is no value where it applies to no turn


class CorpusScoring(NamedTuple):
    """`Metric.compute` of BLEU (`unit="corpus"`): counts of each turn, which are summed before anything is divided."""

    counts: Callable[[Sequence[JudgedResponse]], bleu.Counts]
    recipe: Callable[[Recipes], Any]


def _ser(response: JudgedResponse) -> Fraction:
    return float(response.answer.text is None or any(act.missed for act in response.answer.acts)), 1.0


def _ser_applicable(response: JudgedResponse) -> Fraction:
    return _ser(response) if any(act.sought for act in response.answer.acts) else NONE


def _score_acts(true: Callable[[ActView], Any], *, validated: bool = False) -> Callable[[JudgedResponse], Fraction]:
    """Whether a response is true to all acts that a rule fits; `validated`: if the turn passes validation."""

    def part(response: JudgedResponse) -> Fraction:
        judged = [act for act in response.answer.acts if act.entailed is not None]
        if not judged or (validated and any(act.excluded for act in response.answer.acts)):
            return NONE
        return float(all(map(true, judged))), 1.0

    return part


SER = Metric(
    "ser", "Slot error rate", "share of turns whose response leaves out a value of a non-categorical slot",
    better="lower", unit="turn", needs=("schema",), against="values",
    compute=TurnScoring(_ser, lambda run: run.ser, by_act=False),  # it divides by everything: not beside the next one
)  # fmt: skip
SER_APPLICABLE = SER.derive(
    "ser_applicable", title="Slot error rate, applicable turns",
    about="slot error rate over the turns that have such a value to give",
    compute=TurnScoring(_ser_applicable, lambda run: run.ser, reason="no turn has a value to give"),
)  # fmt: skip
BLEU = Metric(
    "bleu", "BLEU", "corpus BLEU against gold's utterances, by sacreBLEU", unit="corpus", needs=("text", "sacrebleu"),
    against="texts",
    compute=CorpusScoring(
        lambda said: bleu.count_ngrams([one.answer.text or "" for one in said], [one.gold for one in said]),
        lambda run: run.bleu,
    ),
)  # fmt: skip
SGSACC = Metric(
    "sgsacc", "SGSAcc", "Schema-Guided Semantic Accuracy: share of responses that entail all their acts",
    unit="turn", needs=("schema", "nli"),
    compute=TurnScoring(_score_acts(lambda act: act.entailed), lambda run: run.sgsacc.unvalidated()),
)  # fmt: skip
SGSACC_PLAIN = SGSACC.derive(
    "sgsacc_plain", title="SGSAcc without context", about="SGSAcc without the retry in context",
    compute=TurnScoring(
        _score_acts(lambda act: act.entailed_plain), lambda run: run.sgsacc.unvalidated(augment="never")
    ),
)  # fmt: skip
SGSACC_VALIDATED = SGSACC.derive(
    "sgsacc_validated", title="SGSAcc, validated turns", about="SGSAcc over the turns whose gold passes validation",
    needs=("schema", "nli", "text", "negatives"),
    compute=TurnScoring(
        _score_acts(lambda act: act.entailed, validated=True), lambda run: run.sgsacc,
        reason="no turn passes validation",
    ),
)  # fmt: skip
SGSACC_GATED = SGSACC.derive(
    "sgsacc_gated", title="SGSAcc with the gate",
    about="SGSAcc where, in addition, every value that is said as it is must stand in the response",
    compute=TurnScoring(
        _score_acts(lambda act: act.entailed and act.present),
        lambda run: run.sgsacc.unvalidated(gate="present"),
    ),
)  # fmt: skip

OURS = (SER, SER_APPLICABLE, BLEU, SGSACC, SGSACC_PLAIN, SGSACC_VALIDATED, SGSACC_GATED)
METRICS: Registry[Metric] = Registry(
    "metric of responses", "troth.responses_metrics", {metric.name: metric for metric in OURS}
)


def select_metrics(names: str | Iterable[str] | None) -> list[Metric]:
    """The metrics of these names, each with those that are derived from it. None: all of ours."""
    metrics: dict[str, Metric] = {}
    for name in parse_names(names) or METRICS.own:
        metric = METRICS.load(name)
        metrics |= {m.name: m for m in (metric, *(m for m in OURS if m.of == metric.name))}
    return list(metrics.values())


# Which acts a rule fits does not depend on the model; which turns pass validation does.
COVERED: dict[str, tuple[str, Metric, Callable[[Recipes], Any]]] = {
    "ser": ("SER", SER_APPLICABLE, lambda run: run.ser),
    "sgsacc": ("SGSAcc", SGSACC, lambda run: run.sgsacc.unvalidated(nli="", select="", augment=None)),
    "validated": ("validated SGSAcc", SGSACC_VALIDATED, lambda run: run.sgsacc),
}


def gives_value(act: ActView) -> bool:
    """Whether the act gives a slot of the schema a value; values of a request are choices that the user has."""
    return bool(act.values) and act.act != "REQUEST" and (act.act, act.slot) not in PSEUDO


def _agreement(response: JudgedResponse) -> Fraction:
    """Whether SER and SGSAcc say the same of a response, where SER looks for all values."""
    acts = response.answer.acts
    faithful, judged = SGSACC.compute.part(response)
    spoken = any(act.sought for act in acts) and all(act.sought for act in acts if gives_value(act))
    if response.answer.text is None or not judged or not spoken:
        return NONE
    return float(any(act.missed for act in acts) != bool(faithful)), 1.0


AGREEMENT = Metric(
    "agreement:ser", "Agreement of SGSAcc with SER",
    "share of responses with non-categorical slots alone that SER and SGSAcc both call faithful, or both unfaithful",
    unit="turn", needs=("schema", "nli"), of="sgsacc", variant="agreement",
    compute=TurnScoring(
        _agreement, lambda run: run.sgsacc.unvalidated(match=run.ser.match),
        reason="no response has non-categorical slots alone",
    ),
)  # fmt: skip


def companion_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Metrics added to the selected ones: their coverage, and the agreement of SER and SGSAcc if both are scored."""
    return [*coverage_metrics(metrics), *([AGREEMENT] if SER_APPLICABLE in metrics and SGSACC in metrics else [])]


def coverage_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Shares of turns and of acts that the metrics apply to: `coverage:ser`, `act_coverage:ser`, …"""
    covered = [(key, *scope) for key, scope in COVERED.items() if scope[1] in metrics]
    return [
        metric.derive(
            f"{prefix}:{key}", title=f"{unit.capitalize()} coverage of {named}", better="higher",
            about=f"share of {unit}s that {metric.name} applies to", unit=unit, variant="coverage",
            compute=TurnScoring(part(metric.compute), recipe, reason=metric.compute.reason),
        )
        for prefix, unit, part in (("coverage", "turn", _cover_turns), ("act_coverage", "act", _cover_acts))
        for key, named, metric, recipe in covered
    ]  # fmt: skip


def _cover_turns(scoring: TurnScoring) -> Callable[[JudgedResponse], Fraction]:
    return lambda response: (scoring.part(response)[1], 1.0)


def _cover_acts(scoring: TurnScoring) -> Callable[[JudgedResponse], Fraction]:
    return lambda r: (sum(scoring.part(r.with_act(act))[1] for act in r.answer.acts), float(len(r.answer.acts)))
