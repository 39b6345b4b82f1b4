"""Responses to given acts: the card and the section of runs of `troth nlg`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from troth.core.score import Score
from troth.report.page import cards, words
from troth.report.page.contests import Contest, mark_contests, summary_lines
from troth.report.page.model import MANY, Block, Cell, Chart, Example, Examples, Heading, Piece, Section, Text
from troth.report.sources import SHOWN, ScoredSystem, Source, estimate_groups
from troth.report.tallies import Answered
from troth.responses.score import TASK
from troth.storage.explorer import ActView

if TYPE_CHECKING:
    import polars as pl

QUESTION = cards.CardQuestion("Does it say what it was told to say?", "responses")
HEADLINE = ("sgsacc", "ser")
GROUPED = {"sgsacc": "sgsacc", "ser": "ser_applicable"}  # the metric whose groups by act have the same figure
LOST = ("dropped", "contradicted")
WORST, FEWER = 15, 8  # acts or slots in a chart, and where each is a chart of its own
LEAD = (
    "A response generator is told what to say as acts: offer this hotel, confirm that date. "
    "SER looks for the values word for word; SGSAcc asks an entailment model whether every act follows."
)


def contribute(sources: Sequence[Source]) -> cards.Contribution:
    contest = Contest.between(cards.systems_of(sources, TASK.name), HEADLINE)
    if not contest.systems:
        return cards.Contribution()
    marked = mark_contests(contest)
    main = (*contest.headline, HEADLINE[0])[0]
    answer = cards.card(QUESTION, contest, lambda _: main, _sentence, _facts)
    section = Section("responses", "Responses", LEAD, _blocks(contest), marked)
    return cards.contribution(contest.systems, [answer], section, summary_lines(contest, marked[0].marks, HEADLINE))


def _sentence(system: ScoredSystem, score: Score) -> str:
    ser = system.value("ser")
    share = f"{words.percent(ser)}% lack" if ser else "none lacks"
    lacks = f"{share} a value that should stand in it word for word"
    if score.metric == "ser":
        return f"{lacks[0].upper()}{lacks[1:]}."
    start = f"In {words.percent(score.value, 0)}% of responses everything that was to be said follows from them"
    return f"{start}." if ser is None else f"{start}; {lacks}."


def _facts(system: ScoredSystem, _: Score) -> Iterator[str]:
    for act, number in Counter(act.act for _, act in system.tally.acts if act_verdict(act) in LOST).most_common(1):
        yield f"Most often lost: {act} ({words.count(number, 'time')})."
    for slot, number in Counter(act.slot for _, act in system.tally.acts for _ in act.missed).most_common(1):
        yield f"The value most often missing is that of {slot} ({words.count(number, 'time')})."


def act_verdict(act: ActView) -> str:
    """The verdict on an act: conveyed, dropped, contradicted, or not judged."""
    if act.entailed is None:
        return "not judged" if not act.sought else "dropped" if act.missed else "conveyed"
    if act.entailed:
        return "conveyed"
    asked = act.augmented or act.plain
    return "contradicted" if asked is not None and asked[2] > asked[1] else "dropped"


def _rows(system: ScoredSystem, metric: str) -> pl.DataFrame:
    """One row per act: SGSAcc's or SER's part of it, as if it stood alone."""
    import polars as pl

    rows = []
    for said, act in system.tally.acts:
        slot = f"{act.service}.{act.slot}" if act.slot else None
        if metric == "sgsacc" and act.entailed is not None:
            rows.append((said.dialogue, act.act, slot, float(act.entailed), 1.0))
        if metric == "ser" and act.sought:
            rows.append((said.dialogue, act.act, slot, float(said.answer.text is None or bool(act.missed)), 1.0))
    columns = {"dialogue": pl.String, "act": pl.String, "slot": pl.String, "num": pl.Float64, "den": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def _blocks(contest: Contest) -> list[Block]:
    systems = contest.systems
    blocks: list[Block] = [cards.metrics_grid("nlg", contest)]
    for by, title in (("act", "Which acts"), ("slot", "Which slots")):
        blocks += [Heading(title), *(_chart(systems, metric, by) for metric in HEADLINE)]
    blocks += [Heading("What is dropped, what is wrong"), _lost_chart(systems), *_examples(systems)]
    if any(system.source.tallies.is_empty for system in systems):
        blocks.append(Text("A run here holds no dialogues, so single acts cannot be shown. Run it again."))
    return blocks


def _chart(systems: Sequence[ScoredSystem], metric: str, by: str) -> Chart:
    """A metric by act or slot, the worst first."""
    rows: list[list[Cell]] = [
        [system.name, group, n.value, n.low, n.high, n.n]
        for system in systems
        for group, n in (system.groups(GROUPED[metric], by) or estimate_groups(_rows(system, metric), by)).items()
    ]
    declared = systems[0].metric(metric)
    lower = declared.better == "lower"
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(str(row[1]), []).append(float(row[2] or 0.0))
    means = {group: sum(numbers) / len(numbers) * (-1 if lower else 1) for group, numbers in values.items()}
    many = len(systems) > MANY
    number = FEWER if many else WORST
    groups = sorted(means, key=lambda group: (means[group], group))[:number]
    shown = sorted((row for row in rows if row[1] in groups), key=lambda row: groups.index(str(row[1])))
    title = f"{declared.title} by {by}" + (f", the {number} worst" if len(means) > number else "")
    return Chart(
        f"{metric}-{by}", "dots", title, ["system", by, metric, "low", "high", "n"], shown, metric,
        "system" if many else by, "system", "low", "high", x_title=declared.title, percent=True,
        note="Lower is better." if lower else "", panel=by if many else "", wide=many,
    )  # fmt: skip


def _lost_chart(systems: Sequence[ScoredSystem]) -> Chart:
    """The verdicts on acts: one small chart per system, with the same acts."""
    fates: dict[str, dict[str, Counter[str]]] = {}
    lost: Counter[str] = Counter()
    for system in systems:
        for _, act in system.tally.acts:
            fates.setdefault(system.name, {}).setdefault(act.act, Counter())[act_verdict(act)] += 1
            lost[act.act] += act_verdict(act) in LOST
    worst = sorted(lost, key=lambda act: (-lost[act], act))[: FEWER if len(systems) > MANY else WORST]
    rows: list[list[Cell]] = [
        [name, act, kind, fates_by_act[act][kind], fates_by_act[act].total()]
        for name, fates_by_act in fates.items()
        for act in worst
        for kind in LOST
        if act in fates_by_act and fates_by_act[act][kind]
    ]
    several = len(systems) > 1
    return Chart(
        "lost", "bars", "Acts that do not come through", ["system", "act", "fate", "acts", "of"], rows,
        "acts", "act", "fate", x_title="acts", zero=True, panel="system" if several else "", wide=several,
        note="Dropped: it does not follow from the response. Contradicted: the response says otherwise.",
        colours={"dropped": 4, "contradicted": 1},
    )  # fmt: skip


def _examples(systems: Sequence[ScoredSystem]) -> list[Block]:
    """Responses that lose an act; of several systems some of each, to be chosen by system."""
    shown: list[Example] = []
    total = 0
    for system in systems:
        lost = [(said, act) for said, act in system.tally.acts if act_verdict(act) in LOST]
        total += len(lost)
        shown += (
            _example(system.name, said, act, len(systems) > 1)
            for said, act in lost[: cards.examples_per_system(SHOWN, systems)]
        )
    return [Examples("Responses that lose an act", shown, "", total)] if shown else []


def _example(system: str, said: Answered, act: ActView, several: bool) -> Example:
    what = f"{act.slot} = {', '.join(act.values)}" if act.values else act.slot or act.act
    facts = [f"{act_verdict(act)}: {what}"]
    facts += [f"asked: “{act.reference}”"] if act.reference else []
    facts += [f"not there: {', '.join(act.missed)}"] if act.missed else []
    answer = said.answer
    text = Piece("no response", "-") if answer.text is None else Piece(answer.text)
    return Example(
        f"{system}: {act.act}" if several else act.act, f"{said.dialogue}, turn {answer.index}", [text], facts,
        said.dialogue, f"s{answer.index}", said.set, system, system if several else act.act,
    )  # fmt: skip
