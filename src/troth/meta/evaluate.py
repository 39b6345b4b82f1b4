"""A metric of grounded responses against what people said (section 5.1 of PMI-Faith's paper; the BEGIN protocol).

Without any calibration: AUROC and the correlations of Spearman and Pearson with the labels. With labelled dev data: the
bounds and the threshold with the best F1 from dev (`calibration`), then precision, recall, F1 and accuracy. Each for
all responses, for each source and for slices of the data:

- `long_document`: more than 100 words, else `short_document`;
- `short_response`: at most 8 words, else `long_response`;
- `generic`: at most one word of five letters or more ("that was really good."), else `specific`. Of CMU-DoG's dev data
  in BEGIN this finds 94 % of what people called generic; half of what it finds is.

Intervals are over documents. Metrics are compared with the first one on the responses that both can score: AUROC by
paired bootstrap, F1 by paired bootstrap and approximate randomisation, with Holm's correction over all of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.score import Score
from troth.grounding import calibration
from troth.grounding import metrics as scorers
from troth.grounding.calibration import NO_SCORE, ONE_LABEL, Calibration, Data, Fitted, not_scored, without_label
from troth.grounding.metrics import Metric, Models, Unscored, Value
from troth.grounding.score import DEFAULT, Loaded, Steps, System, load, rows, unit, values_of
from troth.meta.labelled import Labelled, Places
from troth.meta.measures import JUDGED, Difference, Judged, as_scores, differences
from troth.meta.measures import scores as measured
from troth.tracking.score import labels
from troth.tracking.scores import Found

if TYPE_CHECKING:
    import polars as pl

SLICES = ("long_document", "short_document", "short_response", "long_response", "generic", "specific")
NO_DEV = "needs labelled data to take the threshold from; give --dev"
NO_LABELS = "no response has a label"

_LONG_WORD = re.compile(r"[^\W\d_]{5,}")


@dataclass(frozen=True)
class Evaluation(Found):
    """Every measure of every metric (`auroc:u_f1`), and how the metrics compare."""

    scores: list[Score]
    differences: list[Difference]
    judged: list[Judged]
    system: System
    notes: list[str] = field(default_factory=list)

    def rows(self) -> pl.DataFrame:
        """One row a response and metric, as of `ground`."""
        return rows([self.system])


def meta_eval(
    *data: str,
    dev: Sequence[str] = (),
    metrics: Sequence[str] = DEFAULT,
    format: str | None = None,
    models: Models | None = None,
    resamples: int = 1000,
    seed: int = 0,
    steps: Steps | None = None,
) -> Evaluation:
    """Hold metrics against the labels of `data`, all files together; thresholds come from `dev`, all files together."""
    if not data:
        raise UserError("no data is named", hint="for example begin_test_wow.tsv")
    chosen = scorers.metrics(metrics, models or Models())
    test, unlabelled = _labelled(load(data, format), data[0])
    fitted, lost = _fitted(chosen, dev, format, steps)
    values = {metric.name: values_of(metric, test.items, steps) for metric in chosen}
    units, documents = _units(test.items)
    judged = [_judged(metric, values[metric.name], test.items, units, fitted[metric.name]) for metric in chosen]
    name = "+".join(dict.fromkeys(name for name, _ in labels(data, "file")))
    groups = _groups(test.items)
    scores = list(measured(name, judged, groups, documents, resamples=resamples, seed=seed))
    compared = differences(judged, documents, resamples=resamples, seed=seed)
    scores += as_scores(name, judged, compared)
    notes = [f"{metric.name}: {remark}" for metric in chosen for remark in metric.remarks]
    notes += _notes(judged, scores, unlabelled, lost)
    usable = {one.name: one.fitted for one in judged if isinstance(one.fitted, Fitted)}
    return Evaluation(scores, compared, judged, System(name, test.items, values, usable), notes)


def fit(
    *dev: str,
    metrics: Sequence[str] = DEFAULT,
    format: str | None = None,
    models: Models | None = None,
    steps: Steps | None = None,
) -> Calibration:
    """Each metric's bounds, threshold and probability from labelled files, all of them together."""
    if not dev:
        raise UserError("no data is named", hint="for example begin_dev_wow.tsv")
    chosen = scorers.metrics(metrics, models or Models())
    data, _ = _labelled(load(dev, format), dev[0])
    found: list[Fitted] = []
    for metric in chosen:
        one = _fit(metric, values_of(metric, data.items, steps), data.items)
        if isinstance(one, str):
            raise UserError(f"'{metric.name}' cannot be fitted: {one}", file=dev[0], hint="give other data")
        found.append(one)
    return Calibration(data.data, tuple(found))


# -- data --------------------------------------------------------------------------------------------------------------


def _labelled(loaded: Loaded, file: str) -> tuple[Loaded, int]:
    """The responses that have a label, and how many have none."""
    items = [item for item in loaded.items if item.label is not None]
    if not items:
        raise UserError(NO_LABELS, file=file, hint="a label is 1 where the document supports the response, else 0")
    data: list[Data] = []
    start = 0
    for one in loaded.data:  # a file's responses stand together, in the order of the files
        mine = loaded.items[start : start + one.rows]
        data.append(msgspec.structs.replace(one, labelled=sum(item.label is not None for item in mine)))
        start += one.rows
    return Loaded(items, tuple(data)), len(loaded.items) - len(items)


def _fitted(
    metrics: Sequence[Metric], dev: Sequence[str], format: str | None, steps: Steps | None
) -> tuple[dict[str, Fitted | str], list[str]]:
    """What dev says of each metric, and what of dev had no part in it."""
    if not dev:
        return {metric.name: NO_DEV for metric in metrics}, []
    data, unlabelled = _labelled(load(dev, format), dev[0])
    found: dict[str, Fitted | str] = {}
    lost = without_label(unlabelled)
    for metric in metrics:
        values = values_of(metric, data.items, steps)
        found[metric.name] = _fit(metric, values, data.items)
        why = _unscored(values)
        lost += not_scored(metric.name, why, len(values) - sum(why.values()))
    return found, [f"dev: {note}" for note in lost]


def _fit(metric: Metric, values: Sequence[Value], items: Sequence[Grounded]) -> Fitted | str:
    able = [(value, item.label) for value, item in zip(values, items, strict=True) if not isinstance(value, Unscored)]
    truth = [int(label or 0) for _, label in able]
    found = calibration.fit(metric.name, scorers.signature(metric), [value for value, _ in able], truth)
    why = _unscored(values)
    if isinstance(found, Fitted):
        return msgspec.structs.replace(found, unscored=why)
    if found == NO_SCORE:
        return f"{found}: {max(why, key=lambda reason: why[reason])}"
    if found == ONE_LABEL and len({item.label for item in items}) > 1:
        return "the labelled responses that could be scored have only one label"
    return found


def _unscored(values: Sequence[Value]) -> dict[str, int]:
    return dict(Counter(value.reason for value in values if isinstance(value, Unscored)))


def _units(items: Sequence[Grounded]) -> tuple[Places, int]:
    """Each response's document by number, in the order of their names, so that the files' order moves no interval."""
    names = [unit(item) for item in items]
    index = {name: number for number, name in enumerate(sorted(set(names) - {""}))}
    return np.array([index.get(name, -1) for name in names], dtype=np.int64), len(index)


def _judged(
    metric: Metric, values: Sequence[Value], items: Sequence[Grounded], units: Places, fitted: Fitted | str
) -> Judged:
    able = [place for place, value in enumerate(values) if not isinstance(value, Unscored)]
    places = np.array(able, dtype=np.int64)
    numbers = np.array([values[place] for place in able], dtype=np.float64)
    truth = np.array([items[place].label for place in able], dtype=np.float64)
    data = Labelled(numbers, truth, units[places])
    return Judged(metric.name, scorers.signature(metric), places, data, fitted, _unscored(values))


def _groups(items: Sequence[Grounded]) -> dict[str, Places]:
    """Places of all responses, of each source, and of each slice."""
    found: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        for name in ([f"source:{item.source}"] if item.source else []) + [f"slice:{part}" for part in slices(item)]:
            found.setdefault(name, []).append(place)
    sources = sorted(name for name in found if name.startswith("source:"))
    order = [*sources, *(f"slice:{name}" for name in SLICES if f"slice:{name}" in found)]
    return {"all": np.arange(len(items))} | {name: np.array(found[name], dtype=np.int64) for name in order}


def slices(item: Grounded) -> tuple[str, str, str]:
    """Which half a response belongs to, in each of the three ways to cut the data."""
    long = len(item.document.split()) > 100
    short = len(item.response.split()) <= 8
    generic = len(set(_LONG_WORD.findall(item.response.lower()))) <= 1
    return (SLICES[0 if long else 1], SLICES[2 if short else 3], SLICES[4 if generic else 5])


# -- what the user should know -----------------------------------------------------------------------------------------


def _notes(judged: Sequence[Judged], scores: Sequence[Score], unlabelled: int, lost: Sequence[str]) -> list[str]:
    made = without_label(unlabelled)
    for one in judged:
        made += not_scored(one.name, one.unscored, len(one.data))
    made += lost
    for reason in dict.fromkeys(one.fitted for one in judged if isinstance(one.fitted, str)):
        names = ", ".join(one.name for one in judged if one.fitted == reason)
        made.append(f"no {', '.join(JUDGED)} of {names}: {reason}")
    made += [
        f"{score.metric}: weak on {group}: {value:.3f} against {whole:.3f}"
        for score, group, value, whole in weak(scores)
    ]
    return made


def weak(scores: Sequence[Score]) -> Iterator[tuple[Score, str, float, float]]:
    """Slices on which a metric's AUROC is lower than on all, beyond noise: its whole interval lies below."""
    whole = {score.metric: score.value for score in scores if score.group == "all"}
    for score in scores:
        every = whole.get(score.metric)
        if not (score.metric.startswith("auroc:") and score.group.startswith("slice:")):
            continue
        if every is not None and score.value is not None and score.high is not None and score.high < every:
            yield score, score.group.partition(":")[2].replace("_", " "), score.value, every
