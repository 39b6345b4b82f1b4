"""Whole dialogues on MultiWOZ: the card and the section of runs of `troth multiwoz`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from troth.core.score import Score
from troth.report.page import cards, words
from troth.report.page.contests import Contest, mark_contests, summary_lines
from troth.report.page.model import MANY, Block, Cell, Chart, Heading, Section
from troth.report.sources import ScoredSystem, Source
from troth.responses.multiwoz.score import TASK

QUESTION = cards.CardQuestion("Does it find what the user wants, and say all of it?", "multiwoz")
HEADLINE = ("success", "inform", "combined")
GROUPED = ("inform", "success")
LEAD = (
    "Inform: the venues that the system offers fit the user's goal in every domain. Success: it also gives everything "
    "that the user asks for. Both are as mwzeval has them."
)


def contribute(sources: Sequence[Source]) -> cards.Contribution:
    contest = Contest.between(cards.systems_of(sources, TASK.name), HEADLINE)
    if not contest.systems:
        return cards.Contribution()
    marked = mark_contests(contest)
    main = (*contest.headline, HEADLINE[0])[0]
    answer = cards.card(QUESTION, contest, lambda _: main, _sentence, _facts)
    section = Section("multiwoz", "MultiWOZ dialogues", LEAD, _blocks(contest), marked)
    return cards.contribution(contest.systems, [answer], section, summary_lines(contest, marked[0].marks, HEADLINE))


def _sentence(system: ScoredSystem, score: Score) -> str:
    share = f"{words.percent(score.value, 0)}% of dialogues"
    if score.metric == "inform":
        return f"In {share} the offered venues fit the user's goal."
    inform = system.value("inform")
    offered = "" if inform is None else f"; in {words.percent(inform, 0)}% the offered venues fit the goal"
    return f"{share} give the user everything{offered}." if score.metric == "success" else ""


def _facts(system: ScoredSystem, _: Score) -> Iterator[str]:
    by_domain = {name: one.value for name, one in system.groups("success", "domain").items() if one.value is not None}
    if len(by_domain) > 1:
        worst = min(by_domain, key=lambda name: (by_domain[name], name))
        yield f"Weakest domain: {worst} ({words.percent(by_domain[worst], 0)}%)."


def _blocks(contest: Contest) -> list[Block]:
    charts = [_chart(contest.systems, metric) for metric in GROUPED]
    return [cards.metrics_grid("multiwoz", contest), Heading("By domain"), *charts]


def _chart(systems: Sequence[ScoredSystem], metric: str) -> Chart:
    rows: list[list[Cell]] = [
        [system.name, domain, one.value, one.low, one.high, one.n]
        for system in systems
        for domain, one in system.groups(metric, "domain").items()
    ]
    many = len(systems) > MANY
    declared = systems[0].metric(metric)
    return Chart(
        f"{metric}-domain", "dots", f"{declared.title} by domain", ["system", "domain", metric, "low", "high", "n"],
        rows, metric, "system" if many else "domain", "system", "low", "high", x_title=declared.title, percent=True,
        panel="domain" if many else "", wide=many,
    )  # fmt: skip
