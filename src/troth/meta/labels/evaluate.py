"""Metrics of grounded responses against people's labels (section 5.1 of PMI-Faith's paper; the BEGIN protocol).

Without calibration: AUROC, and Spearman's and Pearson's correlation with the labels. With labelled dev data: bounds and
the threshold with the best F1 from dev (`calibration`), then precision, recall, F1 and accuracy. Each for all
responses, for each source and for slices of the data:

- `long_document`: more than 100 words, else `short_document`;
- `short_response`: at most 8 words, else `long_response`;
- `generic`: at most one word of five letters or more ("that was really good."), else `specific`. In CMU-DoG's dev data
  of BEGIN this finds 94 % of what people called generic; half of what it finds is.

With dev, `ece` is the expected calibration error: how far, on average over ten bins of equal size, the share of
positives is from the share expected from dev. Dev data that is the test data is refused.

Intervals are over documents: AUROC's by the jackknife, those of correlations and of the calibration error by the
expanded percentile of the bootstrap. Metrics are compared with the first one on the responses that both can score:
AUROC by paired bootstrap, F1 by paired bootstrap and approximate randomisation, with Holm's correction over all
comparisons.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from troth.core.errors import UserError
from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.names import Path, name_paths, path_of
from troth.core.options import keywords, option, resamples_option, resolve, seed_option
from troth.core.parts import Mask
from troth.core.records import Grounded
from troth.core.result import Note, Result
from troth.core.score import Score
from troth.core.signature import identity
from troth.grounding import calibration
from troth.grounding.calibration import NO_SCORE, ONE_LABEL, Aim, Calibration, Fitted, unlabelled_notes
from troth.grounding.graded import GradedSystem, MetricValues, grade_systems
from troth.grounding.score import ResponseSet, ScoringSettings, collect_remarks
from troth.meta.labels.labelled import AUROC, RANKING
from troth.meta.labels.measures import NEEDS_DEV, Evaluation, JudgedMetric
from troth.stats.estimates import Resampling, SystemCells, build_result
from troth.storage.files import check_new
from troth.storage.runs import check_out

SLICES = ("long_document", "short_document", "short_response", "long_response", "generic", "specific")
NO_DEV = "needs labelled dev data to take the threshold from"
NO_LABELS = "no response has a label"

_LONG_WORD = re.compile(r"[^\W\d_]{5,}")


@dataclass(frozen=True)
class FittingSettings(ScoringSettings):
    recall: float | None = option(
        None, "Share of the unfaithful responses that a threshold should flag. Default: the best F1 of the faithful.",
        "NUMBER", least=0, above=True, most=1,
    )  # fmt: skip
    precision: float | None = option(
        None, "Share of the flagged responses that should be unfaithful.", "NUMBER", least=0, above=True, most=1
    )


@dataclass(frozen=True)
class EvaluateSettings(FittingSettings):
    dev: Path | Iterable[Path] = option(
        (), "Other labelled data, for the thresholds; may be given several times.", "FILE", repeat=True
    )
    resamples: int = resamples_option(10_000, over="documents")
    seed: int = seed_option()


@keywords(EvaluateSettings)
def evaluate(*data: Path, **options: Any) -> Result:
    """Measures how well metrics of grounded responses agree with people's labels.

    `data`: labelled files, taken together. The options are those of `EvaluateSettings`. The result has the measures of
    each metric (`auroc:u_f1`, `f1:u_f1`), and in its findings the comparison of each metric with the first one.

        >>> from troth.demo import path
        >>> result = evaluate(path("documents/judged.jsonl"), metrics="u_f1,coverage", resamples=200)
        >>> result["auroc:coverage"].value > 0.5
        True
    """
    settings = resolve(EvaluateSettings, options)
    out = None if settings.out is None else check_out(settings.out)
    test = _load_labelled(data, settings, "begin_test_wow.tsv")
    dev = [settings.dev] if isinstance(settings.dev, str | os.PathLike) else list(settings.dev)
    fitted, lost = _fit_dev(dev, test, settings)
    name = "+".join(dict.fromkeys(name for name, _ in name_paths(data, "file")))
    usable = {metric: entry for metric, entry in fitted.items() if isinstance(entry, Fitted)}
    (system,) = grade_systems({name: test.items}, settings.graders, usable)
    judged = [_judge_metric(values, fitted[values.metric.name]) for values in system.metrics]
    evaluation = _evaluation(system, Resampling(settings.resamples, settings.seed, "document"))
    differences = evaluation.differences(judged)
    scores = [*evaluation.scores(judged), *evaluation.difference_scores(judged, differences)]
    texts = [*collect_remarks(settings.graders), *unlabelled_notes(_count_unlabelled(test)), *system.notes(), *lost]
    for reason in dict.fromkeys(metric.fitted for metric in judged if isinstance(metric.fitted, str)):
        names = ", ".join(metric.metric.name for metric in judged if metric.fitted == reason)
        texts.append(f"no {', '.join(measure.name for measure in NEEDS_DEV)} of {names}: {reason}")
    texts += undefined_measures(scores, evaluation.metrics)
    texts += weak_slices([score for score in scores if evaluation.metrics[score.metric].of == AUROC.name])
    counts = system.counts() | {"positive": sum(item.label or 0 for item in test.items)}
    return build_result(
        "meta eval",
        [SystemCells(name, (), (), counts, further=scores, row_cells=system.cells(), unscored=system.unscored())],
        Resampling(settings.resamples, settings.seed, "document"),
        metrics=[*(column.metric for column in system.columns), *evaluation.metrics.values()],
        notes=[Note(text) for text in texts],
        findings=differences,
        arguments={"data": [path_of(path) for path in data], "dev": [path_of(path) for path in dev],
                   **settings.arguments(), "resamples": settings.resamples, "seed": settings.seed},
    ).save_if(out)  # fmt: skip


@keywords(FittingSettings)
def fit(*dev: Path, **options: Any) -> Calibration:
    """Fits bounds, threshold and probability of each metric on labelled files, all of them together.

    The options are those of `FittingSettings`; `out` is the new file to write the calibration to.

        >>> from troth.demo import path
        >>> fit(path("documents/judged.jsonl"), metrics="u_f1").metrics[0].metric
        'u_f1'
    """
    settings = resolve(FittingSettings, options)
    aim = Aim(settings.recall, settings.precision).check()
    if settings.out is not None:
        check_new(path_of(settings.out))
    data = _load_labelled(dev, settings, "begin_dev_wow.tsv")
    (system,) = grade_systems({"": data.items}, settings.graders)
    metrics: list[Fitted] = []
    for values in system.metrics:
        fit_or_reason = _fit(values, data.items, aim)
        if isinstance(fit_or_reason, str):
            what = f"'{values.metric.name}' cannot be fitted: {fit_or_reason}"
            raise UserError(what, file=path_of(dev[0]), hint="give other data")
        metrics.append(fit_or_reason)
    fitted = Calibration(data.files, tuple(metrics), context="+".join(settings.kinds) if data.has_chats else "")
    if settings.out is not None:
        calibration.save(fitted, path_of(settings.out))
    return fitted


def check_labelled(*data: Path, **options: Any) -> None:
    """Reads labelled files, and raises the error that `evaluate` would raise for them, before anything is scored."""
    _load_labelled(data, resolve(FittingSettings, options), "begin_test_wow.tsv")


def _load_labelled(paths: Sequence[Path], settings: ScoringSettings, example: str) -> ResponseSet:
    if not paths:
        raise UserError("no data is named", hint=f"for example {example}")
    data = settings.load(paths)
    items = [item for item in data.items if item.label is not None]
    if not items:
        hint = "a label is 1 where the document supports the response, else 0"
        raise UserError(NO_LABELS, file=path_of(paths[0]), hint=hint)
    return ResponseSet(items, data.files, data.skipped)


def _count_unlabelled(data: ResponseSet) -> int:
    return sum(file.rows for file in data.files) - len(data.items)


class _DevFit(NamedTuple):
    """Each metric's calibration on dev, or the reason why there is none; and notes on unused parts of dev."""

    fitted: dict[str, Fitted | str]
    notes: list[str]


def _fit_dev(dev: Sequence[Path], test: ResponseSet, settings: EvaluateSettings) -> _DevFit:
    if not dev:
        return _DevFit({grader.metric.name: NO_DEV for grader in settings.graders}, [])
    data = _load_labelled(dev, settings, "begin_dev_wow.tsv")
    shared = _check_overlap(data, test, path_of(dev[0]))
    (system,) = grade_systems({"": data.items}, settings.graders)
    notes = [*unlabelled_notes(_count_unlabelled(data)), *system.notes(), *shared]
    aim = Aim(settings.recall, settings.precision).check()
    fitted = {values.metric.name: _fit(values, data.items, aim) for values in system.metrics}
    return _DevFit(fitted, [f"dev: {note}" for note in notes])


def _check_overlap(dev: ResponseSet, test: ResponseSet, file: str) -> list[str]:
    """Refuses dev data that is the test data, as a file or response by response; a note where they overlap."""
    hint = "take other labelled responses for the thresholds, or none"
    digests = {data_file.sha256: data_file.file for data_file in test.files}
    for data_file in dev.files:
        if data_file.sha256 in digests:
            raise UserError(
                f"dev has the same content as the test file {digests[data_file.sha256]}", file=data_file.file, hint=hint
            )
    ours, theirs = ({(item.document, item.history, item.response) for item in data.items} for data in (dev, test))
    both = len(ours & theirs)
    if both in (len(ours), len(theirs)):
        which = "every response of dev is in the test data" if both == len(ours) else "dev holds all the test data"
        raise UserError(which, file=file, hint=hint)
    return [f"{both} responses are in the test data, too: the figures with a threshold flatter"] if both else []


def _fit(values: MetricValues, items: Sequence[Grounded], aim: Aim) -> Fitted | str:
    scored = [(number, item.label) for number, item in zip(values.numbers, items, strict=True) if number is not None]
    recipe = identity(values.metric, values.recipe)
    numbers, labels = [number for number, _ in scored], [int(label or 0) for _, label in scored]
    fitted = calibration.fit(values.metric.name, recipe, numbers, labels, aim)
    if isinstance(fitted, Fitted):
        return msgspec.structs.replace(fitted, unscored=values.unscored)
    if fitted == NO_SCORE:
        return f"{fitted}: {next(iter(values.unscored))}"
    if fitted == ONE_LABEL and len({item.label for item in items}) > 1:
        return "the labelled responses that could be scored have only one label"
    return fitted


def _judge_metric(values: MetricValues, fitted: Fitted | str) -> JudgedMetric:
    scores = np.array([np.nan if number is None else number for number in values.numbers], dtype=np.float64)
    return JudgedMetric(values.metric, values.recipe, scores, fitted)


def _evaluation(system: GradedSystem, how: Resampling) -> Evaluation:
    """Documents are numbered in the order of their keys, so that the order of files does not change an interval."""
    documents = sorted(set(system.documents) - {""})
    number = {key: index for index, key in enumerate(documents)}
    units = np.array([number.get(key, -1) for key in system.documents], dtype=np.int64)
    labels = np.array([item.label for item in system.items], dtype=np.float64)
    return Evaluation(system.name, labels, units, documents, _groups(system.items), how)


def _groups(items: Sequence[Grounded]) -> dict[Group, Mask]:
    """Masks of all responses, of those of each source, and of those of each slice."""
    members = [
        {Group("source", item.source), *(Group("slice", name) for name in classify_slices(item))} for item in items
    ]
    sources = sorted({item.source for item in items if item.source})
    known = [*(Group("source", name) for name in sources), *(Group("slice", name) for name in SLICES)]
    masks = {group: np.array([group in groups for groups in members]) for group in known}
    return {ALL: np.ones(len(items), dtype=np.bool_)} | {group: mask for group, mask in masks.items() if mask.any()}


def classify_slices(item: Grounded) -> tuple[str, str, str]:
    """The half of the data that a response belongs to, in each of the three ways to cut it."""
    long = len(item.document.split()) > 100
    short = len(item.response.split()) <= 8
    generic = len(set(_LONG_WORD.findall(item.response.lower()))) <= 1
    return (SLICES[0 if long else 1], SLICES[2 if short else 3], SLICES[4 if generic else 5])


def undefined_measures(scores: Sequence[Score], metrics: Mapping[str, Metric]) -> Iterator[str]:
    """A note for each reason why correlations or AUROC over all responses do not exist."""
    names = {measure.name for measure in RANKING}
    by_reason: dict[str, list[Metric]] = {}
    for score in scores:
        metric = metrics[score.metric]
        if score.group == ALL and score.value is None and score.reason and metric.of in names:
            by_reason.setdefault(score.reason, []).append(metric)
    for reason, undefined in by_reason.items():
        measures, of = (dict.fromkeys(getattr(metric, field) for metric in undefined) for field in ("of", "variant"))
        yield f"no {', '.join(measures)} of {', '.join(of)}: {reason}"


def weak_slices(scores: Sequence[Score]) -> Iterator[str]:
    """A note for each slice on which the whole interval of a measure is below its value for all responses."""
    whole = {score.metric: score.value for score in scores if score.group == ALL}
    for score in scores:
        kind, name = score.group.kind, score.group.name
        every = whole.get(score.metric)
        if kind != "slice" or every is None or score.value is None or score.high is None or score.high >= every:
            continue
        yield f"{score.metric}: weak on {name.replace('_', ' ')}: {score.value:.3f} against {every:.3f}"
