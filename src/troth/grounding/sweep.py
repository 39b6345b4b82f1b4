"""A sweep over PMI-Decode's α and p (PMI-Faith, table 5), and the setting that it recommends.

The paper takes the setting with the highest sum of ROUGE-L, against the gold response, and normalised PMI-Faith, on dev
data. Its bounds are those of a dev set (table 9); here they are the lowest and the highest value of plain decoding
(α = 0) on the same data, which is always generated. So the rest of the grid does not change a setting's numbers. Values
beyond the bounds are not clipped: plain decoding is between 0 and 1, a setting more faithful than its best is above.
The metric that decoding optimises should not be the only judge, so others are scored as well.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path as FilePath
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.metric import Metric
from troth.core.names import Path, listed
from troth.core.records import Grounded
from troth.core.signature import identity, signature
from troth.grounding.generate import GenerateSettings, context_notes, contexts
from troth.grounding.graded import MetricValues
from troth.grounding.metrics import Grader, Unscored, Value, grade
from troth.grounding.overlap import ROUGE_L, rouge_l
from troth.grounding.pmi import PMI_FAITH
from troth.grounding.score import ScoringSettings, remarks

Grammar = Callable[[Grounded], bool]  # whether a response is free of errors
Key = tuple[float, float]  # α and p
Numbers = Sequence[float | None]
Values = dict[str, dict[Key, MetricValues]]  # by metric and setting

ALPHAS = (0.0, 0.25, 0.5, 1.0)
PS = (0.6, 0.75, 0.9, 1.0)
RELEVANCE = ROUGE_L.derive("rouge_l to the data's response")
GRAMMAR = Metric("grammatical errors", "Grammatical errors", better="lower", unit="response")
PLAIN: Key = (0.0, 1.0)  # without α, p changes nothing


class SettingMeans(msgspec.Struct, frozen=True):
    """One setting: the mean of each metric over the responses that have a value, and how many those are."""

    alpha: float
    top_p: float
    means: dict[str, float | None]
    counts: dict[str, int]


class PlainBounds(msgspec.Struct, frozen=True):
    """The values that are 0 and 1 after normalisation."""

    low: float
    high: float


@dataclass(frozen=True)
class Sweep:
    """Table 5: the means of each setting, and the setting with the highest sum of faithfulness and relevance."""

    cells: list[SettingMeans]
    metrics: list[str]  # faithfulness, relevance, grammar
    responses: int  # per setting
    by: str | None  # the metric of faithfulness that is normalised, and that the setting is picked by
    bounds: PlainBounds | None  # of plain decoding; None: it has no two values
    picked: SettingMeans | None
    notes: list[str]
    signature: str

    @property
    def normal(self) -> str | None:
        return None if self.by is None else normal(self.by)


@dataclass(frozen=True)
class SweepSettings(GenerateSettings, ScoringSettings):
    """Which settings to try, and what to score their responses by."""

    metrics: Any = ("pmi_faith", "nli")  # of faithfulness; none at all is fine
    alphas: Sequence[float] = ALPHAS
    ps: Sequence[float] = PS
    grammar: str | None = None  # `module:function`, from a text to True where it is free of errors


def sweep(data: Path, settings: SweepSettings) -> Sweep:
    """Generates responses with every α and p, everything else as in `setting`, and scores them.

    Relevance is ROUGE-L to the response that the data has.
    """
    wanted = grid(settings.alphas, settings.ps)
    graders = settings.graders if listed(settings.metrics) else []
    checker = _checker(settings.grammar) if settings.grammar else None
    ROUGE_L.compute(settings.models)  # says what is not installed before anything is generated
    responder = settings.responder()
    items, without = contexts(data, settings)
    keys = dict.fromkeys([PLAIN, *map(_key, wanted)])
    each = {key: replace(settings.setting, alpha=key[0], top_p=key[1]) for key in keys}
    generated = responder.sweep(items, list(each.values()))
    texts = {key: [one.text for one in generated[setting]] for key, setting in each.items()}
    values = _values(items, texts, graders, checker)
    shortened = sum(one.dropped > 0 for one in generated[each[PLAIN]])
    by = judge([grader.metric for grader in graders])
    limits = None if by is None else bounds(values[by][PLAIN].numbers)
    cells = []
    for key in wanted:
        own = {name: some[_key(key)].numbers for name, some in values.items()}
        cells.append(means(key, own if by is None else own | {normal(by): normalised(own[by], limits)}))
    recipe = responder.recipe(settings.setting) | {"alpha": None, "p": None}
    if limits is not None:
        recipe |= {"normal": f"{by}:plain", "low": f"{limits.low:.6g}", "high": f"{limits.high:.6g}"}
    recipes = [identity(grader.metric, grader.recipe) for grader in graders]
    return Sweep(
        cells,
        list(values),
        len(items),
        by,
        limits,
        None if by is None else pick(cells, (normal(by), RELEVANCE.name)),
        [*context_notes(without, shortened), *_unscored(values), *remarks(graders)],
        "; ".join([signature("sweep", recipe, n=len(items)), *recipes]),
    )


# -- the arithmetic ----------------------------------------------------------------------------------------------------


def normal(metric: str) -> str:
    """What the normalised metric is called."""
    return f"{metric}, normalised"


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
    return [(alpha, p) for p, alpha in itertools.product(dict.fromkeys(ps), dict.fromkeys(alphas))]


def means(key: Key, values: Mapping[str, Numbers]) -> SettingMeans:
    """The mean of each metric over the values that exist; None where there are none."""
    known = {name: [value for value in some if value is not None] for name, some in values.items()}
    averages = {name: math.fsum(some) / len(some) if some else None for name, some in known.items()}
    return SettingMeans(*key, averages, {name: len(some) for name, some in known.items()})


def judge(metrics: Sequence[Metric]) -> str | None:
    """The metric of faithfulness to pick by: PMI-Faith, as in the paper, if it is there; otherwise the first."""
    chosen = PMI_FAITH if PMI_FAITH in metrics else next(iter(metrics), None)
    return None if chosen is None else chosen.name


def bounds(plain: Numbers) -> PlainBounds | None:
    """The lowest and the highest value of plain decoding; None where it has no two."""
    known = [value for value in plain if value is not None]
    return PlainBounds(min(known), max(known)) if len(set(known)) > 1 else None


def normalised(values: Numbers, by: PlainBounds | None) -> list[float | None]:
    """Values with 0 at the lower bound and 1 at the upper one; without bounds there are none."""
    return [None if value is None or by is None else (value - by.low) / (by.high - by.low) for value in values]


def pick(cells: Sequence[SettingMeans], by: Sequence[str]) -> SettingMeans | None:
    """The setting with the highest sum of these metrics, the first of equals; None where no setting has them all."""
    known = [one for one in cells if all(one.means.get(name) is not None for name in by)]
    return max(known, key=lambda one: math.fsum(one.means[name] or 0.0 for name in by), default=None)


# -- values ------------------------------------------------------------------------------------------------------------


def _key(wanted: Key) -> Key:
    return wanted if wanted[0] else PLAIN


def _values(
    items: Sequence[Grounded], texts: Mapping[Key, Sequence[str]], graders: Sequence[Grader], checker: Grammar | None
) -> Values:
    gold = list(items) * len(texts)
    said = [text for some in texts.values() for text in some]
    responses = [msgspec.structs.replace(item, response=text) for item, text in zip(gold, said, strict=True)]
    columns: dict[Metric, list[Value]] = {grader.metric: grade(grader, responses) for grader in graders}
    columns[RELEVANCE] = [
        rouge_l(item.response, text) if item.response.strip() else Unscored("the data has no response")
        for item, text in zip(gold, said, strict=True)
    ]
    if checker is not None:
        columns[GRAMMAR] = [float(not checker(item)) for item in responses]
    return {
        metric.name: {
            key: MetricValues(metric, None, some[start : start + len(items)])
            for key, start in zip(texts, range(0, len(some), len(items)), strict=True)
        }
        for metric, some in columns.items()
    }


def _unscored(values: Values) -> Iterator[str]:
    """What has no value, by setting; in one line where it is the same for all of them."""
    for name, some in values.items():
        why: dict[tuple[str, int], list[Key]] = {}
        for key, one in some.items():
            for reason in one.unscored.items():
                why.setdefault(reason, []).append(key)
        each = len(some[PLAIN].values)
        for (said, count), keys in why.items():
            where = [f"α {a:g}, p {p:g}" if a else "α 0" for a, p in keys] if len(keys) < len(some) else ["all α and p"]
            yield from (f"{place}: {name}: {count} of {each} not scored: {said}" for place in where)


def _checker(path: str) -> Grammar:
    """The function of this name, also from a module in the current folder, where an installed command does not look."""
    module, _, name = path.partition(":")
    hint = "module:function, from a text to True where it is right"
    here = str(FilePath.cwd())
    sys.path.insert(0, here)
    try:
        check: Any = getattr(import_module(module), name)
    except Exception as error:
        raise UserError(f"no checker of grammar is called '{path}': {error}", hint=hint) from error
    finally:
        sys.path.remove(here)
    if not callable(check):
        raise UserError(f"'{path}' is no function", hint=hint)

    def right(item: Grounded) -> bool:
        try:
            return bool(check(item.response))
        except Exception as error:
            said = str(error) or type(error).__name__
            raise UserError(f"the checker '{path}' fails on the response to '{item.id}': {said}") from error

    return right
