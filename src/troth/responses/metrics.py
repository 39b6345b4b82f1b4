"""Sums over judged responses: every metric of a turn or an act as (numerator, denominator), by group, with signatures.

A turn belongs to `seen` iff all its services are in the training schema, else to `unseen`; to `service:` and `domain:`
of each of its services. Groups by act, slot and kind are over single acts (`unit:act`): a turn has acts of many sorts.
There `ser`, which divides by everything, has no place beside `ser_applicable`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from troth.core.score import Score
from troth.core.version import __version__
from troth.responses import bleu as overlap
from troth.responses import references, tamper
from troth.responses.ser import Value
from troth.responses.sgsacc import ActVerdict, Due, Unit
from troth.tracking.metrics import Parts
from troth.tracking.scores import ratios

if TYPE_CHECKING:
    import polars as pl

FAMILIES = {
    "ser": ("ser", "ser_applicable"),
    "bleu": ("bleu",),
    "sgsacc": ("sgsacc", "sgsacc_plain", "sgsacc_validated", "sgsacc_gated"),
}
ABOUT = {  # for `troth ls`
    "ser": "slot error rate: share of turns whose response leaves out a value; the lower the better",
    "ser_applicable": "the same over the turns that have such a value to give",
    "sgsacc": "Schema-Guided Semantic Accuracy: share of responses that entail all their acts",
    "sgsacc_plain": "the same without the retry in context",
    "sgsacc_validated": "the same over the turns whose gold passes validation",
    "sgsacc_gated": "entailed, and every value that is said as it stands is in the response",
    "bleu": "corpus BLEU against gold's utterances, by sacreBLEU",
}
COVERAGE = {"ser": "ser_applicable", "sgsacc": "sgsacc", "validated": "sgsacc_validated"}  # shares that a metric covers

Fraction = tuple[float, float]


class Told(NamedTuple):
    """One act of one turn: what SER looks for, what it misses, and what SGSAcc says."""

    due: Due
    values: tuple[Value, ...]
    missed: tuple[Value, ...]
    verdict: ActVerdict | None  # None: no model was asked


class Turn(NamedTuple):
    unit: Unit
    response: str | None  # None: there is none, which is as wrong as can be
    acts: tuple[Told, ...]

    @property
    def services(self) -> list[str]:
        return list(dict.fromkeys(told.due.service.name for told in self.acts))


@dataclass(frozen=True)
class Recipe:
    """What moves the numbers."""

    missing: str
    nli: str = ""
    select: str = "gold"
    augment: str = "retry"
    negatives: int = 1
    seed: int = 0
    descriptions: str = "schema"  # none, part: where the schema has none, names stand alone
    train: str = ""  # a fingerprint of the training services,
    schema: str = ""  # of the schema's names, descriptions and values,
    slots: str = ""  # of its non-categorical slots,
    turns: str = ""  # and of the turns that count, where those without a response are left out

    def signature(self, metric: str, group: str, unit: str, n: int) -> str:
        parts = [metric.upper()]
        if metric == "bleu":
            parts.append(overlap.signature() if overlap.available() else "")
        else:
            parts.append(f"unit:{unit}")
        if metric.rpartition(":")[2].startswith("ser"):
            parts += ["match:substring", f"schema:{self.slots}"]
        if "sgsacc" in metric or metric.endswith("validated"):
            parts += [
                f"refs:{references.RULES}",
                f"schema:{self.schema}",
                *(["desc:" + self.descriptions] if self.descriptions != "schema" else []),
            ]
            if not metric.endswith("coverage:sgsacc"):
                augment = "never" if metric == "sgsacc_plain" else self.augment
                parts += [f"nli:{self.nli}", f"select:{self.select}", f"augment:{augment}"]
            parts += [f"negatives:{self.negatives}", f"seed:{self.seed}"] if metric.endswith("validated") else []
            parts += ["gate:present"] if metric == "sgsacc_gated" else []
        parts.append(f"missing:{self.missing}")
        parts += [f"set:{self.turns}"] if self.turns else []
        if group != "all":
            parts.append(f"group:{group}")
        if group in ("seen", "unseen"):
            parts.append(f"train:{self.train}")
        return "|".join([*filter(None, parts), f"n:{n}", f"v:{__version__}"])


@dataclass(frozen=True)
class System:
    """One system's responses, judged; nothing summed yet."""

    name: str
    turns: list[Turn]
    counts: dict[str, int]
    recipe: Recipe

    def verdicts(self) -> Iterator[ActVerdict]:
        return (told.verdict for turn in self.turns for told in turn.acts if told.verdict is not None)


# -- one turn, one act -------------------------------------------------------------------------------------------------


def of_turn(metric: str, turn: Turn) -> Fraction:
    """A turn's part of a metric; the denominator is 0 where the metric does not apply."""
    if metric.startswith("act_coverage:"):
        covered = [of_act(COVERAGE[metric.partition(":")[2]], told, turn)[1] for told in turn.acts]
        return sum(covered), float(len(covered))
    if metric.startswith("coverage:"):
        return of_turn(COVERAGE[metric.partition(":")[2]], turn)[1], 1.0
    if metric.startswith("ser"):
        applies = metric == "ser" or any(told.values for told in turn.acts)
        wrong = turn.response is None or any(told.missed for told in turn.acts)
        return float(wrong and applies), float(applies)
    judged = [told.verdict for told in turn.acts if told.verdict is not None]
    scored = [verdict for verdict in judged if verdict.reference is not None]
    valid = metric != "sgsacc_validated" or not any(verdict.excluded for verdict in judged)
    if not scored or not valid:
        return 0.0, 0.0
    return float(all(_true(metric, verdict) for verdict in scored)), 1.0


def of_act(metric: str, told: Told, turn: Turn) -> Fraction:
    """One act's part of a metric, as if it stood alone."""
    if metric.startswith("ser"):
        applies = metric == "ser" or bool(told.values)
        return float((turn.response is None or bool(told.missed)) and applies), float(applies)
    verdict = told.verdict
    if verdict is None or verdict.reference is None or (metric == "sgsacc_validated" and verdict.excluded):
        return 0.0, 0.0
    return float(_true(metric, verdict)), 1.0


def _true(metric: str, verdict: ActVerdict) -> bool:
    if metric == "sgsacc_plain":
        return verdict.entailed_plain
    return verdict.entailed and (verdict.present or metric != "sgsacc_gated")


# -- groups ------------------------------------------------------------------------------------------------------------


def turn_groups(turns: Sequence[Turn], by: Sequence[str], seen: frozenset[str] | None) -> dict[str, list[int]]:
    """Which turns belong to which group, by their places."""
    made: dict[str, list[int]] = {"all": list(range(len(turns)))}
    if seen is not None:
        made |= {"seen": [], "unseen": []}
    further: dict[str, list[int]] = {}
    for place, turn in enumerate(turns):
        services = turn.services
        if seen is not None and services:
            made["seen" if seen.issuperset(services) else "unseen"].append(place)
        names = [f"service:{name}" for name in services] if "service" in by else []
        names += dict.fromkeys(f"domain:{_domain(name)}" for name in services) if "domain" in by else []
        for name in names:
            further.setdefault(name, []).append(place)
    return made | {name: further[name] for name in sorted(further, key=lambda name: (name[0] == "d", name))}


def _domain(service: str) -> str:
    name, _, number = service.rpartition("_")
    return name if number.isdigit() else service


def act_groups(turns: Sequence[Turn], by: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """Which acts belong to which group, by the places of turn and act."""
    made: dict[str, list[tuple[int, int]]] = {}
    for place, turn in enumerate(turns):
        for number, told in enumerate(turn.acts):
            for name in _names(told.due, by):
                made.setdefault(name, []).append((place, number))
    kinds = [f"kind:{kind}" for kind in get_args(tamper.Kind)]
    order = [
        *sorted(name for name in made if name.startswith("act:")),
        *kinds,
        "slots:categorical",
        "slots:noncategorical",
    ]
    order += sorted(name for name in made if name.startswith("slot:"))
    return {name: made[name] for name in order if name in made}


def _names(due: Due, by: Sequence[str]) -> Iterator[str]:
    act, service = due
    if "act" in by:
        yield f"act:{act.act}"
    if "slot" in by and act.slot:
        yield f"slot:{service.name}.{act.slot}"
    if "kind" in by:
        yield f"kind:{tamper.kind(act, service)}"
        slot = references.slot_of(act, service)
        # A request's values are what the user may choose from: nobody need say them.
        if slot is not None and act.values and act.act != "REQUEST" and slot is not references.COUNT:
            yield "slots:categorical" if slot.is_categorical else "slots:noncategorical"


# -- scores ------------------------------------------------------------------------------------------------------------


def scores(
    system: System,
    metrics: Sequence[str],
    by: Sequence[str],
    seen: frozenset[str] | None,
    reasons: Mapping[str, str],
    *,
    resamples: int,
    seed: int,
) -> Iterator[Score]:
    """Every metric for every group. `reasons`: why a metric cannot be had at all."""
    dialogues = sorted({turn.unit.dialogue for turn in system.turns})
    index = {name: place for place, name in enumerate(dialogues)}
    groups = turn_groups(system.turns, by, seen)
    cells: list[tuple[str, str, str, Parts]] = []
    sums = [name for name in metrics if name != "bleu" and name not in reasons]
    for name in [*sums, *_coverage(sums)]:
        every = [of_turn(name, turn) for turn in system.turns]
        unit = "act" if name.startswith("act_") else "turn"
        for group, places in groups.items():
            if "coverage" in name and ":" in group:
                continue  # what part of a service is covered is nobody's question
            cells.append((name, group, unit, _parts(places, [every[p] for p in places], system.turns, index)))
    for group, acts in act_groups(system.turns, by).items():
        # SER last: a table's count is the first metric's, and SGSAcc has a say on every act.
        for name in sorted((name for name in sums if name != "ser"), key=lambda name: name.startswith("ser")):
            fractions = [of_act(name, system.turns[p].acts[n], system.turns[p]) for p, n in acts]
            cells.append((name, group, "act", _parts([p for p, _ in acts], fractions, system.turns, index)))
    found = ratios([cell[3] for cell in cells], dialogues, resamples=resamples, seed=seed) if cells else []
    for (name, group, unit, _), ratio in zip(cells, found, strict=True):
        if group == "all" or ratio.n:
            signature = system.recipe.signature(name, group, unit, ratio.n)
            reason = None if ratio.value is not None else _reason(name, system)
            yield Score(system.name, name, group, ratio.value, ratio.low, ratio.high, ratio.n, signature, reason)
    if "bleu" in metrics and "bleu" not in reasons:
        yield from _bleu(system, groups, index, resamples=resamples, seed=seed)
    for name in (name for name in metrics if name in reasons):
        signature = system.recipe.signature(name, "all", "turn", 0)
        yield Score(system.name, name, "all", None, None, None, 0, signature, reasons[name])


def _reason(metric: str, system: System) -> str:
    """Why there is nothing to divide by."""
    if not system.turns:
        return "no response to score"
    if not any(turn.acts for turn in system.turns):
        return "no turn has acts"
    if metric == "ser_applicable":
        return "no turn has a value to give"
    return "no turn passes validation" if metric == "sgsacc_validated" else "no rule fits any act"


def _coverage(metrics: Sequence[str]) -> list[str]:
    covered = [name for name, metric in COVERAGE.items() if metric in metrics]
    return [f"{kind}:{name}" for kind in ("coverage", "act_coverage") for name in covered]


def _parts(
    places: Sequence[int], fractions: Sequence[Fraction], turns: Sequence[Turn], index: Mapping[str, int]
) -> Parts:
    num, den = (np.array([fraction[side] for fraction in fractions], dtype=np.float64) for side in (0, 1))
    dialogue = np.array([index[turns[place].unit.dialogue] for place in places], dtype=np.int64)
    turn = np.array([turns[place].unit.turn for place in places], dtype=np.int64)
    return Parts(num, den, dialogue, turn, np.full(len(places), -1, dtype=np.int64))


def _bleu(
    system: System, groups: Mapping[str, Sequence[int]], index: Mapping[str, int], *, resamples: int, seed: int
) -> Iterator[Score]:
    """Over the turns that have a gold utterance; a missing response is an empty one."""
    turns = system.turns
    counts = overlap.counts([turn.response or "" for turn in turns], [turn.unit.gold for turn in turns])
    for group, places in groups.items():
        chosen = [place for place in places if turns[place].unit.gold.strip()]
        if not chosen:
            if group == "all":
                signature = system.recipe.signature("bleu", group, "turn", 0)
                yield Score(system.name, "bleu", group, None, None, None, 0, signature, "no gold utterance")
            continue
        summed = np.zeros((len(index), counts.shape[1]))
        np.add.at(summed, [index[turns[place].unit.dialogue] for place in chosen], counts[chosen])
        value, low, high = overlap.interval(summed, resamples=resamples, seed=seed)
        known = not math.isnan(low)
        signature = system.recipe.signature("bleu", group, "turn", len(chosen))
        yield Score(
            system.name, "bleu", group, value, low if known else None, high if known else None, len(chosen), signature
        )


def rows(system: System, metrics: Sequence[str]) -> Iterator[pl.DataFrame]:
    """One row a turn and metric, for the metrics that are ratios of sums; BLEU is not one."""
    import polars as pl

    for metric in (metric for metric in metrics if metric != "bleu"):
        told = [(turn, *of_turn(metric, turn)) for turn in system.turns]
        applies = [(turn, num, den) for turn, num, den in told if den > 0]
        made = [
            (system.name, metric, turn.unit.dialogue, turn.unit.turn, "+".join(turn.services) or None, num, den)
            for turn, num, den in applies
        ]
        yield pl.DataFrame(made, schema=_columns(), orient="row")


def no_rows() -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(schema=_columns())


def _columns() -> dict[str, type[pl.DataType]]:
    import polars as pl

    texts = dict.fromkeys(("system", "metric", "dialogue"), pl.String)
    return {**texts, "turn": pl.Int64, "service": pl.String, "num": pl.Float64, "den": pl.Float64}
