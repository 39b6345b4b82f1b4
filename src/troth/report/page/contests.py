"""Compares the systems of a section: differences beyond noise, from any base that the reader selects.

All tests of a section against one base are one family for Holm's correction. The best of a row (bold) is a question
of its own, with a correction over that row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import msgspec

from troth.core.groups import ALL
from troth.core.metric import PERCENT
from troth.core.score import Score
from troth.core.sums import DialogueSums
from troth.report.page import model, words
from troth.report.sources import ScoredSystem, Source
from troth.stats import holm
from troth.stats.contests import LEVEL, Marked, PairTest, pairwise, unbeaten
from troth.stats.paired import Change, difference_bounds, paired

SWAPS = 5000  # random swaps, and more for many tests:
FOR_EACH = 40  # test of a family, so that the least p stays well below 0.05 with Holm's correction
NAMED = 4  # systems that a sentence names
SMALL = 1e-9  # the size of a difference that is not one of shares
BETTER, WORSE, LEVEL_WITH, APART = "bw=-"  # a system compared with a base, as the page's script reads it


@dataclass(frozen=True, eq=False)
class Contest:
    """Systems that answer the same question, the best by the main metric first; the base is the one given first."""

    systems: Sequence[ScoredSystem]
    base: str
    headline: Sequence[str]  # the metrics that the summary speaks of, the main one first
    elsewhere: Sequence[str] = ()  # metrics that another contest of the section tests for the same systems

    @classmethod
    def between(
        cls, systems: Sequence[ScoredSystem], headline: Sequence[str], *, elsewhere: Sequence[str] = ()
    ) -> Contest:
        """Systems in the order given; the main metric is the first of `headline` that any has."""
        shown = [metric for metric in headline if any(system.known_score(metric) for system in systems)]
        ranked = sorted(systems, key=lambda system: _rank(system.known_score(shown[0]))) if shown else systems
        return cls(ranked, systems[0].name if systems else "", shown, elsewhere)

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics tested against a base: headline metrics if there are any; none that derives from another one.

        Twenty metrics that say much the same, tested together, would leave none of them a chance to be told. So a
        metric that repeats another one that is tested is not tested itself.
        """
        every = dict.fromkeys(metric for system in self.systems for metric in system.overall)
        declared = {metric.name: metric for system in self.systems for metric in system.source.result.metrics}
        tested = {*every, *self.elsewhere}
        underived = [
            name
            for name in every
            if name not in declared or (declared[name].of not in every and declared[name].repeats not in tested)
        ]
        main = [name for name in underived if name in declared and declared[name].headline] or underived
        shared = [
            metric for metric in every if sum(system.known_score(metric) is not None for system in self.systems) > 1
        ]
        return [metric for metric in shared if metric in main or metric in self.headline]

    @cached_property
    def scores(self) -> list[Score]:
        """All scores, under the names that the systems have on the page."""
        return [
            msgspec.structs.replace(s, system=system.name) for system in self.systems for s in system.scores.values()
        ]

    @cached_property
    def test(self) -> PairTest:
        """P of two systems on a metric, by their names; NaN where dialogues, gold or recipes differ."""
        if len(self.systems) < 2:
            return lambda *_: math.nan
        runs: dict[int, tuple[Source, dict[str, str]]] = {id(one.source): (one.source, {}) for one in self.systems}
        for one in self.systems:
            runs[id(one.source)][1][one.system] = one.name
        sums = DialogueSums.merged((source.sums, names) for source, names in runs.values())
        swaps = max(SWAPS, FOR_EACH * (len(self.systems) - 1) * len(self.metrics))
        pair_test = pairwise(self.scores, sums, resamples=swaps)
        recipes = {(s.system, s.metric): s.identity for s in self.scores if s.group == ALL}

        def test(one: str, other: str, metric: str) -> float:
            alike = recipes.get((one, metric)) == recipes.get((other, metric))
            alike = alike and not self.system(one).differs(self.system(other))
            return pair_test(one, other, metric) if alike else math.nan

        return test

    @cached_property
    def best(self) -> frozenset[Marked]:
        """The scores in bold. Groups of units are not tested and not marked."""
        whole = [score for score in self.scores if score.group == ALL]
        return unbeaten(whole, self.test) if len(self.systems) > 1 else frozenset()

    @cached_property
    def _by_name(self) -> dict[str, ScoredSystem]:
        return {system.name: system for system in reversed(self.systems)}  # of equal names the first

    def system(self, name: str) -> ScoredSystem:
        return self._by_name[name]

    def difference(self, base: str, other: str, metric: str) -> float:
        ours, theirs = (self.system(name).value(metric) for name in (base, other))
        return (theirs or 0.0) - (ours or 0.0)

    def range(self, base: str, other: str, metric: str) -> tuple[float | None, float | None]:
        """The 95% interval of a difference; empty if two systems cannot be compared."""
        if math.isnan(self.test(base, other, metric)):
            return None, None
        sides = [side for name in (base, other) for side in self.system(name).sums(metric)]
        low, high, _ = difference_bounds(Change.from_sums(paired(*sides).metric(0)))
        return low, high


def _rank(score: Score | None) -> float:
    if score is None or score.value is None:
        return math.inf
    return score.value if score.better == "lower" else -score.value


def mark_contests(*contests: Contest) -> list[model.ContestMarks]:
    """The contests of one section with their marks from every base; a section's tests are one family."""
    marks: list[dict[str, list[str]]] = [{} for _ in contests]
    tests: dict[str, int] = {}
    for base in dict.fromkeys(system.name for contest in contests for system in contest.systems):
        p = {
            (index, name, metric): contest.test(chosen, name, metric)
            for index, contest in enumerate(contests)
            for chosen in [base if base in (s.name for s in contest.systems) else contest.base]
            for name in (s.name for s in contest.systems if s.name != chosen)
            for metric in contest.metrics
        }
        adjusted = dict(zip(p, holm(list(p.values())), strict=True))
        tests[base] = sum(not math.isnan(value) for value in p.values())
        for index, contest in enumerate(contests):
            if base in (s.name for s in contest.systems):
                marks[index][base] = [
                    "".join(
                        _letter(contest, base, s.name, metric, adjusted.get((index, s.name, metric)))
                        for s in contest.systems
                    )
                    for metric in contest.metrics
                ]
    return [
        model.ContestMarks(
            [s.name for s in contest.systems], contest.metrics,
            [_title_in_sentence(contest, metric) for metric in contest.metrics], contest.base, tests, contest_marks,
            _ranges(contest),
        )
        for contest, contest_marks in zip(contests, marks, strict=True)
    ]  # fmt: skip


def _letter(contest: Contest, base: str, name: str, metric: str, p: float | None) -> str:
    if p is None or math.isnan(p):
        return APART
    if p >= LEVEL:
        return LEVEL_WITH
    rises = contest.difference(base, name, metric) > 0
    return BETTER if rises == (contest.system(name).metric(metric).better == "higher") else WORSE


def _ranges(contest: Contest) -> dict[str, list[tuple[float | None, float | None]]]:
    """For the main metrics, the interval of each pair's difference: second system minus first."""
    names = [system.name for system in contest.systems]
    return {metric: [contest.range(*pair, metric) for pair in combinations(names, 2)] for metric in contest.headline}


class SummaryLine(str):
    """A sentence of the summary, with the size of its difference."""

    __slots__ = ("size",)
    size: float  # of a share; 0 where nothing differs beyond noise

    def __new__(cls, text: str, size: float = 0.0) -> SummaryLine:
        line = super().__new__(cls, text)
        line.size = size
        return line


def with_title(line: str, title: str) -> SummaryLine:
    """A line of the summary under the title of its section."""
    return SummaryLine(f"{title}: {line}", line.size if isinstance(line, SummaryLine) else 0.0)


def sort_lines(lines: Iterable[str]) -> list[str]:
    """Lines of the summary, those with the largest difference beyond noise first."""
    in_order = sorted(lines, key=lambda line: -line.size if isinstance(line, SummaryLine) else 0.0)
    return list(map(str, in_order))  # plain text, which the page can encode


def summary_lines(contest: Contest, marks: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> list[str]:
    """Sentences of the summary on several systems, the largest difference first. `marks`: those of the page (`tested`).

    It speaks of some metrics, and of the one in which systems differ most beyond noise.
    """
    if len(contest.systems) < 2:
        return []
    spoken = [metric for metric in metrics if metric in contest.metrics]
    others = [m for m in contest.metrics if m not in contest.headline and contest.systems[0].metric(m).scale == "share"]
    sizes = {metric: _difference_size(contest, marks, metric) for metric in (*spoken, *others)}
    largest = max(sizes, key=lambda metric: sizes[metric], default="")
    if largest in others and sizes[largest] > 0:
        spoken = [largest, *spoken]
    spoken = sorted(spoken, key=lambda metric: -sizes[metric])
    if len(contest.systems) == 2:
        lines = [SummaryLine(_pair(contest, marks, spoken), max((sizes[metric] for metric in spoken), default=0.0))]
    else:
        lines = [SummaryLine(_leader(contest, marks, metric), sizes[metric]) for metric in spoken]
    return [line for line in lines if line] + uncompared_notes(contest, metrics)


def _difference_size(contest: Contest, marks: Mapping[str, Sequence[str]], metric: str) -> float:
    """The largest difference beyond noise from the base, or of three systems or more from the best; 0 without any.

    For a metric that is not a share it is nearly 0, because its size cannot be compared with that of shares.
    """
    base = contest.base if len(contest.systems) == 2 else _best_system(contest, metric).name
    letters = marks[base][contest.metrics.index(metric)]
    differing = [s.name for s, letter in zip(contest.systems, letters, strict=True) if letter in (BETTER, WORSE)]
    if contest.systems[0].metric(metric).scale != "share":
        return SMALL if differing else 0.0
    return max((abs(contest.difference(base, name, metric)) for name in differing), default=0.0)


def _best_system(contest: Contest, metric: str) -> ScoredSystem:
    return min((s for s in contest.systems if s.known_score(metric)), key=lambda s: _rank(s.known_score(metric)))


def _pair(contest: Contest, marks: Mapping[str, Sequence[str]], metrics: Sequence[str]) -> str:
    index, other = next((i, s.name) for i, s in enumerate(contest.systems) if s.name != contest.base)
    letters = {metric: marks[contest.base][contest.metrics.index(metric)][index] for metric in metrics}
    beyond = [
        f"{_size(contest, other, metric)} "
        f"{'above' if contest.difference(contest.base, other, metric) > 0 else 'below'} "
        f"{contest.base} in {_title_in_sentence(contest, metric)}"
        for metric, letter in letters.items()
        if letter in (BETTER, WORSE)
    ]
    level = [
        f"{_title_in_sentence(contest, metric)} ({_range(contest, contest.base, other, metric)})"
        for metric, letter in letters.items()
        if letter == LEVEL_WITH
    ]
    parts = [f"{other} is {words.join_words(beyond)}, beyond noise"] if beyond else []
    if level:
        shown = f"no difference shown in {words.join_words(level)}"
        parts.append(shown if beyond else f"{other} and {contest.base}: {shown}")
    return "; ".join(parts) + "." if parts else ""


def _leader(contest: Contest, marks: Mapping[str, Sequence[str]], metric: str) -> str:
    """The best of three systems or more, and those that the page does not mark as different from it."""
    best = _best_system(contest, metric)
    letters = marks[best.name][contest.metrics.index(metric)]
    near = [
        s.name for s, letter in zip(contest.systems, letters, strict=True) if letter == LEVEL_WITH and s is not best
    ]
    scale = best.metric(metric).scale
    value = words.number(best.value(metric), scale) + ("%" if scale in PERCENT else "")
    over = [
        f"over {words.unit_noun(score)}" for score in [best.known_score(metric)] if score and "unit" in score.recipe
    ]
    start = f"Best in {_title_in_sentence(contest, metric)}: {best.name} ({', '.join([value, *over])})"
    if Marked(best.name, metric, ALL) not in contest.best:
        return f"{start}, by settings that differ."
    if not near:
        return f"{start}, ahead of all others beyond noise."
    shown = words.truncate([f"{name} ({_range(contest, best.name, name, metric)})" for name in near], NAMED)
    return f"{start}; no difference from it shown for {words.join_words(shown)}."


def _size(contest: Contest, other: str, metric: str) -> str:
    """Points of a share; any other number as tables have it."""
    scale = contest.systems[0].metric(metric).scale
    size = words.number(abs(contest.difference(contest.base, other, metric)), scale)
    return f"{size} points" if scale in PERCENT else size


def _range(contest: Contest, base: str, other: str, metric: str) -> str:
    low, high = contest.range(base, other, metric)
    clear = low is not None and high is not None and not low <= 0 <= high
    text = words.bounds(low, high, contest.systems[0].metric(metric).scale)
    return f"{text} before the correction for many tests" if clear else text


def _title_in_sentence(contest: Contest, metric: str) -> str:
    return words.title_in_sentence(contest.systems[0].metric(metric).title)


def uncompared_notes(contest: Contest, metrics: Sequence[str] = ()) -> list[str]:
    """Why systems are not compared with the base: a line for each reason. `metrics`: only these are spoken of."""
    if len(contest.systems) < 2:
        return []
    base = contest.system(contest.base)
    reasons: dict[str, list[str]] = {}
    for other in contest.systems:
        reason = _explain_uncompared(base, other, metrics) if other is not base else ""
        if reason:
            reasons.setdefault(reason, []).append(other.name)
    return [
        f"{words.join_words(words.truncate(names, NAMED))} {'is' if len(names) == 1 else 'are'}"
        f" not compared with {base.name}{reason}"
        for reason, names in reasons.items()
    ]


def _explain_uncompared(base: ScoredSystem, other: ScoredSystem, metrics: Iterable[str]) -> str:
    ours, theirs = len(base.dialogues), len(other.dialogues)
    shared = [metric for metric in base.overall if metric in other.overall]
    spoken = [metric for metric in shared if not metrics or metric in metrics]
    unlike = [m for m in spoken if base.scores[m, ALL].identity != other.scores[m, ALL].identity]
    if base.dialogues != other.dialogues:
        sizes = f" ({theirs:,} against {ours:,})" if theirs != ours else ""
        return f": other {other.source.result.clusters}{sizes}."
    if base.differs(other):
        return f": other gold for the same {other.source.result.clusters}."
    if not shared:
        return ": no metric in common."
    if unlike:
        titles = [words.title_in_sentence(base.metric(metric).title) for metric in unlike]
        where_titles = words.join_words(titles) if len(unlike) <= 3 else "some metrics"
        where = "" if len(unlike) == len(spoken) else f" in {where_titles}"
        return f"{where}: other settings ({_recipes(base.scores[unlike[0], ALL], other.scores[unlike[0], ALL])})."
    return ""


def _recipes(ours: Score, theirs: Score) -> str:
    """The difference of two recipes: the profile, or the first rule that differs."""
    our_recipe, other = ours.recipe, theirs.recipe
    keys = [key for key in (other | our_recipe) if our_recipe.get(key) != other.get(key)]
    key = "profile" if "profile" in keys else keys[0] if keys else ""
    return f"{key} {other.get(key, 'none')} against {our_recipe.get(key, 'none')}" if key else "another metric"
