"""The cost of each stress for a tracker, and stresses with a better tracker: sentences for the summary and the demo.

A stress is a perturbed test set of CheckDST or the other wordings of SGD-X. Each comparison is of joint goal accuracy,
paired by dialogue. The costs of one tracker are a family of tests for Holm's correction, and so are the differences
between two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from troth import stats
from troth.report.page import sgdx, words
from troth.report.page.contests import SummaryLine
from troth.report.sources import ScoredSystem
from troth.stats.contests import LEVEL

RESAMPLES = 2000  # of intervals and tests
PERTURBED = {"NED": "unknown names", "SDI": "hesitations and slips", "PI": "paraphrases"}
REWORDED = "schemas in other words"
ORIGINAL = "the dialogues as they are"


class StressRuns(NamedTuple):
    """A tracker's runs of CheckDST and of SGD-X."""

    perturbed: ScoredSystem
    worded: ScoredSystem


class Shift(NamedTuple):
    """Joint goal accuracy of one side and of the other, with the interval of the difference, and p by Holm."""

    what: str  # the stress
    before: float
    after: float
    low: float | None
    high: float | None
    p: float

    @property
    def is_shown(self) -> bool:
        return self.p < LEVEL and self.is_apart

    @property
    def is_apart(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    @property
    def where(self) -> str:
        return f"{'on' if self.what == ORIGINAL else 'with'} {self.what}"

    @property
    def points(self) -> str:
        return f"{words.percent(abs(self.after - self.before))} points"

    @property
    def levels(self) -> str:
        """The two values in percent, and the interval."""
        return f"{words.percent(self.after, 0)}% against {words.percent(self.before, 0)}%, {self.bounds}"

    @property
    def bounds(self) -> str:
        if self.low is None or self.high is None:
            return "too few dialogues for an interval"
        text = words.bounds(self.low, self.high, "share")
        return f"{text} before the correction for many tests" if self.is_apart and not self.is_shown else text


Side = tuple[ScoredSystem, str]  # a system and a metric


def pair_trackers(perturbed: Sequence[ScoredSystem], worded: Sequence[ScoredSystem]) -> list[StressRuns]:
    """Trackers with both kinds of run, if these are about joint goal accuracy and all trackers have both."""
    by_name = {system.name: system for system in worded}
    if {system.name for system in perturbed} != by_name.keys() or any(
        sgdx.metrics_of(system).base != "jga" for system in worded
    ):
        return []
    return [StressRuns(system, by_name[system.name]) for system in perturbed if system.known_score("jga")]


def stress_lines(trackers: Sequence[StressRuns]) -> list[SummaryLine]:
    """The cost of each stress for the first tracker; for two trackers, also the comparison with the second."""
    if not trackers:
        return []
    lines = [_describe_costs(trackers[0]), *([_describe_gains(*trackers)] if len(trackers) == 2 else [])]
    return [line for line in lines if line]


def _describe_costs(tracker: StressRuns) -> SummaryLine | None:
    shifts = sorted(_costs(tracker), key=lambda shift: shift.after - shift.before)
    if not shifts:
        return None
    name, noun = tracker.perturbed.name, words.unit_noun(tracker.perturbed.scores["jga", "all"])
    lost, gained, rest = _split(shifts)
    sentences = [
        f"{name} has the whole state right in {words.percent(tracker.perturbed.value('jga'), 0)}% of {noun}",
        _list_shifts("It loses", [f"{one.points} {one.where} ({one.bounds})" for one in lost]),
        _list_shifts("It gains", [f"{one.points} {one.where} ({one.bounds})" for one in gained]),
        _list_shifts("No loss is shown", [f"{one.where} ({one.bounds})" for one in rest]),
        "95% intervals in brackets",
    ]
    return _join_sentences(sentences, shifts)


def _describe_gains(base: StressRuns, other: StressRuns) -> SummaryLine | None:
    shifts = _gains(base, other)
    if not shifts:
        return None
    ours, theirs = base.perturbed.name, other.perturbed.name
    worse, better, rest = _split(shifts)
    sentences = [
        _list_shifts(f"{theirs} has more whole states right than {ours}, by", _describe_levels(better))
        or f"{theirs} is not shown to be better than {ours} anywhere",
        _list_shifts("It is worse by", _describe_levels(worse)),
        _list_shifts("No difference is shown", [f"{one.where} ({one.bounds})" for one in rest]),
    ]
    return _join_sentences(sentences, shifts)


def _join_sentences(sentences: Sequence[str], shifts: Sequence[Shift]) -> SummaryLine:
    """One line of sentences on some stresses, as large as the largest difference that is shown."""
    size = max((abs(shift.after - shift.before) for shift in shifts if shift.is_shown), default=0.0)
    return SummaryLine(" ".join(f"{sentence}." for sentence in sentences if sentence), size)


def _describe_levels(shifts: Sequence[Shift]) -> list[str]:
    return [f"{shift.points} {shift.where} ({shift.levels})" for shift in shifts]


def _list_shifts(beginning: str, shifts: Sequence[str]) -> str:
    return f"{beginning} {words.join_words(shifts)}" if shifts else ""


def _split(shifts: Sequence[Shift]) -> tuple[list[Shift], list[Shift], list[Shift]]:
    """The stresses that lower the score, that raise it, and that may be noise."""
    falls = [shift for shift in shifts if shift.is_shown and shift.after < shift.before]
    rises = [shift for shift in shifts if shift.is_shown and shift.after > shift.before]
    return falls, rises, [shift for shift in shifts if not shift.is_shown]


def _costs(tracker: StressRuns) -> list[Shift]:
    """Each stress against the dialogues as they are."""
    perturbed, worded, called = *tracker, sgdx.metrics_of(tracker.worded)
    pairs = {
        PERTURBED.get(variant, variant): ((perturbed, "jga"), (perturbed, metric))
        for variant, metric in _perturbations(perturbed)
    }
    pairs[REWORDED] = (worded, called.original), (worded, called.average)
    return _shifts(pairs)


def _gains(base: StressRuns, other: StressRuns) -> list[Shift]:
    """The second tracker against the first, with and without each stress."""
    pairs: dict[str, tuple[Side, Side]] = {ORIGINAL: ((base.perturbed, "jga"), (other.perturbed, "jga"))}
    for variant, metric in _perturbations(base.perturbed):
        pairs[PERTURBED.get(variant, variant)] = (base.perturbed, metric), (other.perturbed, metric)
    sides = [(tracker.worded, sgdx.metrics_of(tracker.worded).average) for tracker in (base, other)]
    pairs[REWORDED] = sides[0], sides[1]
    return _shifts(pairs)


def _perturbations(system: ScoredSystem) -> Iterator[tuple[str, str]]:
    for metric in system.derived_metrics("jga"):
        if system.known_score(metric.name):
            yield metric.variant, metric.name


def _shifts(pairs: dict[str, tuple[Side, Side]]) -> list[Shift]:
    """The pairs that can be compared, tested together."""
    tested = []
    for what, (before, after) in pairs.items():
        if not _are_comparable(before, after):
            continue
        sums = [np.stack([side], axis=1) for system, metric in (before, after) for side in system.sums(metric)]
        (test,) = stats.compare(*sums, resamples=RESAMPLES, seed=0)
        value = before[0].value(before[1]) or 0.0
        tested.append(Shift(what, value, value + test.difference, test.low, test.high, test.p_randomization))
    corrected = stats.holm([shift.p for shift in tested])
    return [shift._replace(p=p) for shift, p in zip(tested, corrected, strict=True)]


def _are_comparable(before: Side, after: Side) -> bool:
    """Whether both sides are known by dialogue, for the same dialogues; of two systems, also by the same recipe."""
    (system, metric), (other, other_metric) = before, after
    scores = [system.known_score(metric), other.known_score(other_metric)]
    if not all(scores) or not (system.has_rows(metric) and other.has_rows(other_metric)):
        return False
    alike = system is other or len({score.identity for score in scores if score}) == 1
    return alike and system.dialogues == other.dialogues and not system.differs(other)
