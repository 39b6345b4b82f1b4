"""Stress test of groundedness metrics: which minimal corruptions of supported answers does a metric notice?

Every supported answer is corrupted in each way that fits it (`troth.perturb.answers`), and answer and corruption are
scored by the same metric, or by the user's own checker. For each kind of corruption:

- `caught:METRIC` is the share of pairs in which the corrupted answer scores lower than the answer. A tie is no catch.
- `auroc:METRIC` tells the corrupted answers from the answers by the score alone: what one threshold could do.

Answers with label 1, or without a label, are taken as supported. Intervals are over documents: Wilson's for shares, the
jackknife for AUROC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from troth import stats
from troth.core.errors import UserError
from troth.core.groups import ALL, Group
from troth.core.metric import Metric
from troth.core.names import Path, name_paths, parse_names, path_of
from troth.core.options import keywords, option, resamples_option, resolve, seed_option
from troth.core.parts import NONE, Parts
from troth.core.records import Grounded
from troth.core.result import Finding, Note, Result
from troth.core.score import Estimate, Score, make_score
from troth.grounding import explorer
from troth.grounding.checker import HttpChecker
from troth.grounding.graded import GradedSystem, MetricValues, document_key, grade_systems
from troth.grounding.metrics import Grader
from troth.grounding.score import ScoringSettings, collect_remarks
from troth.meta.labels.labelled import AUROC
from troth.perturb.answers import KINDS, ChangedWords, corruptions
from troth.stats import estimates, intervals
from troth.stats.estimates import Cell, Resampling, SystemCells, build_result
from troth.storage.files import check_distinct, check_new, new_file
from troth.storage.runs import check_out

DEFAULT = ("faith", "coverage", "nli")
SUPPORTED = "supported"  # the source of the answers themselves, beside the kinds
SHOWN = 200  # missed pairs that a result keeps

CAUGHT = Metric(
    "caught", "Caught", "share of pairs in which the corrupted answer scores lower than the answer", unit="pair",
    against="documents",
)  # fmt: skip


@dataclass(frozen=True)
class StressSettings(ScoringSettings):
    metrics: str | Iterable[str] = option(
        DEFAULT, "Metrics, comma-separated; empty with a checker for the checker alone.", "NAMES",
        complete=("troth.grounding.metrics:METRICS",),
    )  # fmt: skip
    checker: str | None = option(
        None, "Address of your own checker, which gets document, response and history as JSON.", "URL"
    )
    corruptions: str | Iterable[str] = option(
        (), "Kinds of corruptions, comma-separated. Default: all.", "NAMES", complete=("troth.perturb.answers:KINDS",)
    )
    each: int = option(1, "Most corruptions of each kind for each answer.", least=1)
    corrupted: Path | None = option(None, "Write answers and corruptions to this new JSONL file.", "FILE")
    resamples: int = resamples_option(over="documents")
    seed: int = seed_option("Random seed of the corruptions and of the bootstrap.")


class CorruptedPair(NamedTuple):
    """An answer, its corruption, and the words that were changed; both by their place in the list of responses."""

    kind: str
    answer: int
    corrupted: int
    changes: tuple[ChangedWords, ...]


class MissedPair(Finding, frozen=True, tag="missed pair"):
    """A corrupted answer that does not score lower than the answer."""

    metric: str
    kind: str
    id: str
    answer: str
    corrupted: str
    scores: tuple[float, float]  # of the answer, and of the corrupted one


class StressSet(NamedTuple):
    """Supported answers and their corruptions, as responses, and which belongs to which."""

    items: list[Grounded]
    pairs: list[CorruptedPair]
    answers: int
    left_out: int  # answers with label 0, or without a document or a text


@keywords(StressSettings)
def stress_ground(*data: Path, **options: Any) -> Result:
    """Reports which kinds of minimal corruptions of supported answers metrics, or an own checker, notice.

    `data`: files with supported answers, in any format of `ground`; label 0 is left out. The options are those of
    `StressSettings`. The result has `caught:METRIC` and `auroc:METRIC` for all pairs and for each kind
    (`kind:negation`); its findings are pairs that were missed.

        >>> from troth.demo import path
        >>> result = stress_ground(path("documents/careful.jsonl"), metrics="coverage", corruptions="addition")
        >>> result.score("caught:coverage", "kind:addition").value
        1.0
    """
    settings = resolve(StressSettings, options)
    if not data:
        raise UserError("no data is named", hint="for example answers.jsonl")
    out = None if settings.out is None else check_out(settings.out)
    if settings.corrupted is not None:
        check_distinct(path_of(settings.corrupted), out)
        check_new(path_of(settings.corrupted))
    graders = _graders(settings)
    name = "+".join(dict.fromkeys(name for name, _ in name_paths(data, "file")))
    stressed = stress_set(settings.load(data).items, settings)
    if not stressed.pairs:
        raise UserError("no answer could be corrupted", file=path_of(data[0]), hint="are they supported answers?")
    if settings.corrupted is not None:
        write_pairs(stressed, path_of(settings.corrupted))
    (system,) = grade_systems({name: stressed.items}, graders)
    how = Resampling(settings.resamples, settings.seed, "document")
    metrics = [measure.on(one.metric.name) for measure in (CAUGHT, AUROC) for one in system.metrics]
    counts = {"answers": stressed.answers, "pairs": len(stressed.pairs), "left out": stressed.left_out,
              "documents": len(set(system.documents) - {""})}  # fmt: skip
    scores = [score for values in system.metrics for score in _scores(system, values, stressed, how)]
    return build_result(
        "stress ground",
        [SystemCells(name, (), (), counts, further=scores, row_cells=system.cells())],
        how,
        metrics=[*metrics, *(values.metric for values in system.metrics)],
        notes=[Note(text) for text in (*system.notes(), *collect_remarks(graders))],
        findings=[pair for values in system.metrics for pair in _missed_pairs(values, stressed)],
        arguments={
            "data": [path_of(path) for path in data], "metrics": ",".join(v.metric.name for v in system.metrics),
            "corruptions": parse_names(settings.corruptions) or list(KINDS), "each": settings.each,
            "checker": settings.checker, "models": settings.all_models.names(), "resamples": how.resamples,
            "seed": how.seed,
        },
        explorer=lambda: explorer.archive([system]),
    ).save_if(out)  # fmt: skip


def _graders(settings: StressSettings) -> list[Grader]:
    checkers: list[Grader] = [] if settings.checker is None else [_checker(settings)]
    return [*(settings.graders if parse_names(settings.metrics) or not checkers else []), *checkers]


def _checker(settings: StressSettings) -> HttpChecker:
    timeout = settings.all_models.timeout
    return HttpChecker(settings.checker or "") if timeout is None else HttpChecker(settings.checker or "", timeout)


def stress_set(items: Iterable[Grounded], settings: StressSettings) -> StressSet:
    """The supported answers among the responses, each followed by its corruptions, which have the kind as source."""
    responses: list[Grounded] = []
    pairs: list[CorruptedPair] = []
    answers = left_out = 0
    for item in items:
        if item.label == 0 or not item.document.strip() or not item.response.strip():
            left_out += 1
            continue
        answers += 1
        answer = len(responses)
        responses.append(msgspec.structs.replace(item, source=SUPPORTED, label=1))
        corrupted = corruptions(
            item.document, item.response, kinds=settings.corruptions, seed=settings.seed, id=item.id, each=settings.each
        )
        for number, change in enumerate(corrupted):
            pairs.append(CorruptedPair(change.kind, answer, len(responses), change.changes))
            responses.append(
                msgspec.structs.replace(
                    item, id=f"{item.id}#{change.kind}.{number}", response=change.text, source=change.kind, label=0
                )
            )
    return StressSet(responses, pairs, answers, left_out)


def write_pairs(stressed: StressSet, out: str) -> None:
    """Writes answers (label 1) and corruptions (label 0) to a new JSONL file, which all commands on responses read."""
    changed = {pair.corrupted: pair for pair in stressed.pairs}
    with new_file(out) as file:
        for index, item in enumerate(stressed.items):
            shown = ("id", "document", "history", "response", "label", "source")
            row: dict[str, Any] = {name: getattr(item, name) for name in shown}
            if pair := changed.get(index):
                row["meta"] = {"kind": pair.kind, "of": stressed.items[pair.answer].id, "changes": pair.changes}
            file.write(msgspec.json.encode(row) + b"\n")


def _groups(pairs: Sequence[CorruptedPair]) -> dict[Group, list[CorruptedPair]]:
    present = {pair.kind for pair in pairs}
    kinds = [kind for kind in KINDS if kind in present]
    by_kind = {Group("kind", kind): [pair for pair in pairs if pair.kind == kind] for kind in kinds}
    return {ALL: list(pairs), **by_kind}


def _scores(system: GradedSystem, values: MetricValues, stressed: StressSet, how: Resampling) -> Iterator[Score]:
    """`caught` and `auroc` of one metric, for all pairs and for each kind."""
    numbers = values.numbers
    groups = {
        group: [pair for pair in pairs if numbers[pair.answer] is not None and numbers[pair.corrupted] is not None]
        for group, pairs in _groups(stressed.pairs).items()
    }
    cells = [_caught_cell(system, values, group, pairs) for group, pairs in groups.items()]
    yield from estimates.score_cells(system.name, cells, sorted(set(system.documents) - {""}), how)
    for group, pairs in groups.items():
        if pairs:
            yield _auroc_score(system, values, group, pairs)


def _caught_cell(system: GradedSystem, values: MetricValues, group: str, pairs: Sequence[CorruptedPair]) -> Cell:
    numbers: Mapping[int, float] = {index: number for index, number in enumerate(values.numbers) if number is not None}
    parts = Parts.from_fractions(
        [(float(numbers[pair.corrupted] < numbers[pair.answer]), 1.0) for pair in pairs],
        [(system.documents[pair.corrupted], NONE, system.items[pair.corrupted].id) for pair in pairs],
    )
    reason = next(iter(values.unscored), estimates.NOTHING)
    return Cell(CAUGHT.on(values.metric.name), parts, values.recipe, group, reason)


def _auroc_score(system: GradedSystem, values: MetricValues, group: str, pairs: Sequence[CorruptedPair]) -> Score:
    indexes = sorted({index for pair in pairs for index in (pair.answer, pair.corrupted)})
    scores = np.array([values.numbers[index] for index in indexes], dtype=np.float64)
    labels = np.array([system.items[index].label for index in indexes], dtype=np.float64)
    keys = {key: number for number, key in enumerate(sorted({document_key(system.items[index]) for index in indexes}))}
    units = np.array([keys[system.documents[index]] for index in indexes], dtype=np.int64)
    metric, value = AUROC.on(values.metric.name), stats.auroc(scores, labels)
    bounds = intervals.auroc(scores, labels, units)
    estimate = Estimate(value, bounds.low, bounds.high, len(indexes), bounds.reason)
    return make_score(system.name, metric, estimate, values.recipe, group=group)


def _missed_pairs(values: MetricValues, stressed: StressSet) -> Iterator[MissedPair]:
    """Pairs that the metric has in the wrong order, or as equal; the same number of each kind where there are many."""
    seen: dict[str, int] = {}
    for pair in stressed.pairs:
        scores = values.numbers[pair.answer], values.numbers[pair.corrupted]
        if scores[0] is None or scores[1] is None or scores[1] < scores[0]:
            continue
        seen[pair.kind] = seen.get(pair.kind, 0) + 1
        if seen[pair.kind] <= SHOWN // len(list(KINDS)):
            answer, corrupted = stressed.items[pair.answer], stressed.items[pair.corrupted]
            numbers = (scores[0], scores[1])
            yield MissedPair(values.metric.name, pair.kind, answer.id, answer.response, corrupted.response, numbers)
