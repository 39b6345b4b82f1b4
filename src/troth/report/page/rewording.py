"""Live runs of assistants under other words: which tool is fragile, which argument is lost, what to rename."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from troth.agents.live.summary import METRICS, ORIGINAL, RewordingEffect
from troth.core.score import Score
from troth.report.page import words
from troth.report.page.cards import CardQuestion, card, metrics_grid
from troth.report.page.contests import Contest
from troth.report.page.model import Block, Card, Cell, Chart, Grid, Heading, Text
from troth.report.sources import ScoredSystem, Source

QUESTION = CardQuestion("Does it call right under other words?", "agents", contest=1)
HEADLINE = ("call_recall",)
SHARES = ("call_recall", "tool_recall", "argument_recall")
BEFORE, AFTER = "original words", "other words"
NOTE = "Shares in percent, with the 95% interval over tasks."
CERTAIN = "yes"
HOW = (
    "Differences are paired by task, with their 95% interval; beyond noise: p < 0.05 by randomisation, with Holm's "
    "correction over all tools, arguments and rewordings."
)


class _Effect(NamedTuple):
    """An effect of a run, and the run's name if there are several."""

    run: str
    effect: RewordingEffect

    @property
    def what(self) -> str:
        return f"{self.run}: {self.effect.element}" if self.run else self.effect.element

    @property
    def measure(self) -> str:
        """The metric that is compared."""
        return METRICS.load(self.effect.metric).title


def make_card(contest: Contest) -> Card | None:
    return card(QUESTION, contest, lambda _: HEADLINE[0], _sentence, _facts)


def _sentence(system: ScoredSystem, score: Score) -> str:
    under = "the original words" if system.system == ORIGINAL else f"the words of {system.system}"
    return f"Under {under}, {words.percent(score.value, 0)}% of expected calls are made with right arguments."


def _facts(system: ScoredSystem, _: Score) -> Iterator[str]:
    if missing := system.counts.get("missing", 0):
        whole = system.counts.get("conversations", 0)
        yield f"{missing} of {words.count(whole, 'conversation')} could not be finished, and take no part."
    if unrecorded := system.value("unrecorded"):
        yield f"{words.percent(unrecorded)}% of its calls have no recorded result."


def summary_lines(contest: Contest) -> list[str]:
    """Sentences of the summary: tools that are fragile beyond noise."""
    fragile = [
        effect.what for effect in _effects(contest) if _is_tool(effect) and _loses(effect) and effect.effect.certain
    ]
    named = words.join_words(words.truncate(list(dict.fromkeys(fragile)), 4))
    return [f"Fragile under other words, beyond noise: {named}."] if fragile else []


def blocks(contest: Contest, index: int) -> list[Block]:
    """What the section shows; `place`: of the contest in it."""
    effects = _effects(contest)
    pooled = [effect for effect in effects if not effect.effect.set]
    tools = [effect for effect in pooled if _is_tool(effect)]
    arguments = [effect for effect in pooled if not _is_tool(effect) and _loses(effect)]
    names = [effect for effect in effects if effect.effect.set and (effect.effect.difference or 0.0) > 0]
    names.sort(key=lambda effect: -(effect.effect.difference or 0.0))
    none: list[Block] = [Text("No expected call is made right less often under other words.")] if tools else []
    main = [effect for effect in tools if effect.effect.metric in HEADLINE]
    return [
        _sets_chart(contest.systems), _effect_chart(main, "tools"), _effect_chart(main, "users"),
        Heading("Which tool is fragile, which argument is lost, what to rename"),
        *(_table("fragile", "Fragile tools", [effect for effect in tools if _loses(effect)]) or none),
        *_table("lost", "Lost arguments", arguments, lost=True),
        *_table("rename", "Better names", names, renamed=True),
        metrics_grid("live", contest, {"all": "all"}, NOTE, index),
    ]  # fmt: skip


def _effects(contest: Contest) -> list[_Effect]:
    sources: dict[int, Source] = {id(system.source): system.source for system in contest.systems}
    several = len(sources) > 1
    return [
        _Effect(source.name if several else "", effect)
        for source in sources.values()
        for effect in source.findings(RewordingEffect)
        if effect.difference is not None
    ]


def _is_tool(effect: _Effect) -> bool:
    return not effect.effect.argument


def _loses(effect: _Effect) -> bool:
    return (effect.effect.difference or 0.0) < 0


def _sets_chart(systems: Sequence[ScoredSystem]) -> Chart:
    """Each set of words with its shares of right calls, tools and arguments."""
    rows: list[list[Cell]] = [
        [system.name, system.metric(name).title, score.value, score.low, score.high, score.n]
        for name in SHARES
        for system in systems
        if (score := system.known_score(name))
    ]
    return Chart(
        "sets", "dots", "Expected calls, under each set of words", ["system", "metric", "value", "low", "high", "n"],
        rows, "value", "system", "system", "low", "high", x_title="share", percent=True, panel="metric", wide=True,
    )  # fmt: skip


def _effect_chart(effects: Sequence[_Effect], reworded: str) -> Chart:
    rows: list[list[Cell]] = [
        [effect.what, when, value, effect.effect.n]
        for effect in effects
        if effect.effect.reworded == reworded
        for when, value in ((BEFORE, effect.effect.original), (AFTER, effect.effect.share))
    ]
    return Chart(
        f"moved-{reworded}", "dots", f"Calls right when the {reworded} are reworded", ["tool", "words", "share", "n"],
        rows, "share", "tool", "words", x_title="expected calls right", percent=True, join=True,
        note="All rewordings together, the tool that loses most first.", colours={BEFORE: 0, AFTER: 1},
    )  # fmt: skip


def _table(
    id: str, title: str, effects: Sequence[_Effect], *, lost: bool = False, renamed: bool = False
) -> list[Block]:
    if not effects:
        return []
    heads = ["name", "called", "in"] if renamed else ["argument" if lost else "tool", "reworded"]
    if not lost:
        heads.append("metric")
    rows, figures = [], []
    for effect in effects:
        one = effect.effect
        labels = [effect.what, *([one.name, one.set] if renamed else [one.reworded])]
        if not lost:
            labels.append(effect.measure)
        counts = [one.lost, one.wrong] if lost else []
        cells = [words.percent(one.original), words.percent(one.share), _difference(one), *map(str, counts)]
        rows.append([*labels, CERTAIN if one.certain else "no", *cells])
        plain = [number for value in (one.original, one.share) for number in (value, None, None)]
        counted = [number for value in counts for number in (float(value), None, None)]
        figures.append([*plain, one.difference, one.low, one.high, *counted])
    columns = [*heads, "beyond noise", BEFORE, AFTER, "difference", *(["absent", "other value"] if lost else [])]
    return [Grid(id, title, columns, rows, len(heads) + 1, note=f"Shares in percent. {HOW}", figures=figures)]


def _difference(effect: RewordingEffect) -> str:
    text = ("+" if (effect.difference or 0.0) > 0 else "") + words.percent(effect.difference)
    if effect.low is None or effect.high is None:
        return text
    return f"{text} ({words.percent(effect.low)} … {words.percent(effect.high)})"
