"""A sweep over PMI-Decode's α and p (PMI-Faith, table 5), and the setting that it recommends.

The paper takes the setting with the highest sum of ROUGE-L, against the gold response, and normalised PMI-Faith, on dev
data. It normalises by the lowest and the highest value on BEGIN dev (table 9): `range` takes these two numbers, for the
model that scores. Without them the range is that of plain decoding (α = 0, p = 1) on the same data, which is always
generated; that is ours, and another rule: it weighs faithfulness more, the less plain decoding varies. Either way the
rest of the grid does not change a setting's numbers, and values beyond the range are not clipped. The metric that
decoding optimises should not be the only judge, so others are scored as well.
"""

from __future__ import annotations

import itertools
import math
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.names import Path, parse_names, path_of
from troth.core.options import option
from troth.core.records import Grounded
from troth.core.result import Note, Result
from troth.core.score import Score
from troth.core.signature import signature
from troth.grounding.graded import GradedSystem, MetricValues, grade_systems
from troth.grounding.metrics import Unscored
from troth.grounding.overlap import ROUGE_L, rouge_l
from troth.grounding.pmi import PMI_FAITH
from troth.grounding.score import ScoringSettings, collect_remarks
from troth.stats.estimates import Resampling, build_result
from troth.systems.decoding.generate import GenerateSettings, context_notes, contexts

Grammar = Callable[[Grounded], bool]  # whether a response is free of errors
Numbers = Sequence[float | None]

RELEVANCE = ROUGE_L.derive("relevance", title="ROUGE-L to the data's response", about="ROUGE-L to the data's response")
GRAMMAR = Metric("grammar_errors", "Grammatical errors", "share of wrong responses, by a checker", better="lower",
                 scale="number", unit="response", top=1.0)  # fmt: skip


class Key(NamedTuple):
    alpha: float
    top_p: float

    def __str__(self) -> str:
        return f"α {self.alpha:g}, p {self.top_p:g}"


PLAIN = Key(0.0, 1.0)


class MetricRange(NamedTuple):
    """The values that are 0 and 1 after normalisation."""

    low: float
    high: float


class PickedSetting(msgspec.Struct, frozen=True):
    """The setting with the highest sum of relevance and a normalised metric."""

    alpha: float
    top_p: float
    by: str
    low: float
    high: float


@dataclass(frozen=True)
class SweepSettings(GenerateSettings, ScoringSettings):
    """The settings to try, and the metrics for their responses."""

    metrics: Any = option(
        ("pmi_faith", "nli"),
        "Metrics of faithfulness, comma-separated; none: no metric. One should not be what decoding optimises.",
        "NAMES",
        complete=("troth.grounding.metrics:METRICS",),
    )
    alphas: Sequence[float] = option((0.0, 0.25, 0.5, 1.0), "Values of α, comma-separated.", "NUMBERS")
    ps: Sequence[float] = option((0.6, 0.75, 0.9, 1.0), "Values of p, comma-separated.", "NUMBERS")
    range: Sequence[float] | None = option(
        None,
        "Range to normalise by, as LOW,HIGH: the paper's is that on BEGIN dev. Default: that of plain decoding.",
        "NUMBERS",
    )
    grammar: str | None = option(
        None, "Grammar checker: a function from a text to True if it has no errors.", "MODULE:FUNCTION"
    )


def sweep(data: Path, settings: SweepSettings) -> Result:
    """Generates responses with every α and p, everything else as in `setting`, and scores them.

    Each setting is a system of the result. `relevance` is ROUGE-L to the response that the data has. The picked
    setting is in the details, if there is one.
    """
    wanted = grid(settings.alphas, settings.ps)
    named = None if settings.range is None else _check_range(settings.range)
    graders = settings.graders if parse_names(settings.metrics) else []
    checker = _checker(settings.grammar) if settings.grammar else None
    relevance = ROUGE_L.compute(settings.models)  # an error before anything is generated, where it is not installed
    responder = settings.responder()
    items, without = contexts(data, settings)
    each = {key: replace(settings.setting, alpha=key.alpha, top_p=key.top_p) for key in {PLAIN, *wanted}}
    generated = responder.sweep(items, [each[key] for key in sorted(each)])
    answered = {str(key): _replace_responses(items, generated[one]) for key, one in each.items()}
    by_key = dict(zip(each, grade_systems(answered, graders), strict=True))
    systems = []
    for key in wanted:
        own, recipe = by_key[key], responder.recipe(each[key])
        values = [*own.metrics, MetricValues(RELEVANCE, relevance.recipe, _relevance(items, own.items))]
        if checker is not None:
            values.append(MetricValues(GRAMMAR, {}, [float(not checker(item)) for item in own.items]))
        systems.append(GradedSystem(str(key), own.items, [replace(one, recipe=(recipe, one.recipe)) for one in values]))
    notes = context_notes(without, sum(one.dropped > 0 for one in generated[each[PLAIN]]))
    notes += [*_list_unscored(systems), *collect_remarks(graders)]
    recipe = responder.recipe(settings.setting) | {"alpha": None, "p": None}
    by = judge([grader.metric for grader in graders])
    bounds = None if by is None else named or plain_range(_metric_values(by_key[PLAIN], by).numbers)
    if by is not None and bounds is not None:
        source = "plain" if named is None else "range"
        ends = {"normal": f"{by.name}:{source}", "low": f"{bounds.low:.6g}", "high": f"{bounds.high:.6g}"}
        recipe |= ends
        systems = [
            replace(one, metrics=[*one.metrics, normalise(_metric_values(one, by), bounds, ends)]) for one in systems
        ]
    result = build_result(
        "generate sweep",
        [system.system_cells() for system in systems],
        Resampling(cluster="document"),
        metrics=[column.metric for column in systems[0].columns],
        notes=[Note(text) for text in (*notes, signature("sweep", recipe, n=len(items)))],
        arguments={"data": path_of(data), "metrics": ",".join(grader.metric.name for grader in graders)},
    )
    picked = [] if by is None or bounds is None else _pick(result.scores, wanted, by, bounds)
    return replace(result, findings=picked)


def _pick(scores: Sequence[Score], wanted: Sequence[Key], by: Metric, bounds: MetricRange) -> list[PickedSetting]:
    values = {(score.system, score.metric): score.value for score in scores if score.group == ALL}
    names = (derive_normalised(by).name, RELEVANCE.name)
    key = pick({key: [values[str(key), name] for name in names] for key in wanted})
    return [] if key is None else [PickedSetting(*key, by.name, *bounds)]


def _replace_responses(items: Sequence[Grounded], responses: Sequence[Any]) -> list[Grounded]:
    return [msgspec.structs.replace(item, response=one.text) for item, one in zip(items, responses, strict=True)]


def _relevance(items: Sequence[Grounded], answered: Sequence[Grounded]) -> list[float | Unscored]:
    return [
        rouge_l(item.response, one.response) if item.response.strip() else Unscored("the data has no response")
        for item, one in zip(items, answered, strict=True)
    ]


def _metric_values(system: GradedSystem, metric: Metric) -> MetricValues:
    return next(one for one in system.metrics if one.metric == metric)


def _list_unscored(systems: Sequence[GradedSystem]) -> Iterator[str]:
    """Metrics without a value, by setting; one line if they are the same for all settings."""
    where: dict[str, list[str]] = {}
    for system in systems:
        for note in system.notes():
            where.setdefault(note, []).append(system.name)
    for note, names in where.items():
        yield from (f"{name}: {note}" for name in (names if len(names) < len(systems) else ["all α and p"]))


def grid(alphas: Sequence[float], ps: Sequence[float]) -> list[Key]:
    """All settings, by p and then by α, as in table 5."""
    for alpha in alphas:
        if not 0 <= alpha <= 1:
            raise UserError(f"α is {alpha:g}", hint="it is from 0 to 1")
    for p in ps:
        if not 0 < p <= 1:
            raise UserError(f"p is {p:g}", hint="it is above 0 and at most 1")
    if not alphas or not ps:
        raise UserError("there is no setting to try", hint="name at least one α and one p")
    return [Key(alpha, p) for p, alpha in itertools.product(dict.fromkeys(ps), dict.fromkeys(alphas))]


def judge(metrics: Sequence[Metric]) -> Metric | None:
    """The metric of faithfulness that selects the setting: PMI-Faith, as in the paper, if present; else the first."""
    return PMI_FAITH if PMI_FAITH in metrics else next(iter(metrics), None)


def derive_normalised(metric: Metric) -> Metric:
    """The metric, normalised by a range."""
    return metric.derive(f"{metric.name}, normalised", title=f"{metric.title}, normalised", variant="normalised")


def _check_range(numbers: Sequence[float]) -> MetricRange:
    if len(numbers) != 2 or not -math.inf < numbers[0] < numbers[1] < math.inf:
        shown = ",".join(f"{number:g}" for number in numbers)
        raise UserError(f"cannot be '{shown}'", option="range", hint="two numbers, LOW,HIGH: for example -2.069,4.334")
    return MetricRange(*numbers)


def plain_range(plain: Numbers) -> MetricRange | None:
    """The lowest and the highest value of plain decoding; None if it has fewer than two."""
    known = [value for value in plain if value is not None]
    return MetricRange(min(known), max(known)) if len(set(known)) > 1 else None


def normalise(one: MetricValues, by: MetricRange, rules: Mapping[str, str]) -> MetricValues:
    """Values with 0 at the lower bound and 1 at the upper one."""
    values = [v if isinstance(v, Unscored) else (v - by.low) / (by.high - by.low) for v in one.values]
    return MetricValues(derive_normalised(one.metric), (one.recipe, rules), values)


def pick(means: Mapping[Key, Numbers]) -> Key | None:
    """The setting with the highest sum, the first of equals; None where no setting has all its numbers."""
    known = [key for key, own in means.items() if None not in own]
    return max(known, key=lambda key: math.fsum(value or 0.0 for value in means[key]), default=None)


def _checker(path: str) -> Grammar:
    """The function of this name, also from a module in the current folder, where an installed command does not look."""
    hint = "module:function, from a text to True where it is right"
    here = str(FilePath.cwd())
    sys.path.insert(0, here)
    try:
        check: Any = pkgutil.resolve_name(path)
    except Exception as error:
        raise UserError(f"no checker of grammar is called '{path}': {error}", hint=hint) from error
    finally:
        sys.path.remove(here)
    if not callable(check):
        raise UserError(f"'{path}' is not a function", hint=hint)

    def is_right(item: Grounded) -> bool:
        try:
            return bool(check(item.response))
        except Exception as error:
            said = str(error) or type(error).__name__
            raise UserError(f"the checker '{path}' fails on the response to '{item.id}': {said}") from error

    return is_right
