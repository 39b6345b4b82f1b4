"""Responses to given acts: the card and the section of runs of `troth nlg`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from troth.core.score import Score
from troth.report.page import words
from troth.report.page.cards import CardQuestion, Contribution, card, contribution, metrics_grid, systems_of
from troth.report.page.differences import Differences, differences, story
from troth.report.page.model import Block, Cell, Chart, Example, Examples, Heading, Piece, Section, Text
from troth.report.sources import ScoredSystem, Source, by_group
from troth.stats.estimates import Estimate
from troth.storage.explorer import ActView, AnswerView, DialogueView

if TYPE_CHECKING:
    import polars as pl

QUESTION = CardQuestion("Does it say what it was told to say?", "responses")
HEADLINE = ("sgsacc", "ser")
GROUPED = {"sgsacc": "sgsacc", "ser": "ser_applicable"}  # the metric whose groups say the same of single acts
LOST = ("dropped", "contradicted")
SHOWN = 60  # examples on the page
WORST = 15  # acts or slots in a chart
LEAD = (
    "A response generator is told what to say as acts: offer this hotel, confirm that date. "
    "SER looks for the values word for word; SGSAcc asks an entailment model whether every act follows."
)


def contribute(sources: Sequence[Source]) -> Contribution:
    found = systems_of(sources, "nlg")
    beyond = differences(found, HEADLINE)
    main = next((metric for metric in HEADLINE if any(one.known(metric) for one in found)), HEADLINE[0])
    answer = card(QUESTION, found, lambda _: main, beyond, _sentence, _facts)
    return contribution(found, [answer], _section(found, beyond) if found else None, story(found, beyond, HEADLINE))


# -- card --------------------------------------------------------------------------------------------------------------


def _sentence(one: ScoredSystem, score: Score) -> str:
    ser = one.value("ser")
    some = f"{words.percent(ser)}% lack" if ser else "none lacks"
    lacks = f"{some} a value that should stand in it word for word"
    if score.metric == "ser":
        return f"{lacks[0].upper()}{lacks[1:]}."
    start = f"In {words.percent(score.value, 0)}% of responses everything that was to be said follows from them"
    return f"{start}." if ser is None else f"{start}; {lacks}."


def _facts(one: ScoredSystem, _: Score) -> Iterator[str]:
    failed = Counter(act.act for _, _, act in acts(one) if fate(act) in LOST)
    for act, number in failed.most_common(1):
        yield f"Most often lost: {act} ({words.count(number, 'time')})."
    values = Counter(act.slot for _, _, act in acts(one) for _ in act.missed)
    for slot, number in values.most_common(1):
        yield f"The value most often missing is that of {slot} ({words.count(number, 'time')})."


# -- acts --------------------------------------------------------------------------------------------------------------


def acts(one: ScoredSystem) -> Iterator[tuple[DialogueView, AnswerView, ActView]]:
    """Every act that the system's responses were to convey."""
    for dialogue in one.source.archive.dialogues:
        for track in dialogue.tracks:
            if track.system == one.system:
                yield from ((dialogue, answer, act) for answer in track.answers for act in answer.acts)


def fate(act: ActView) -> str:
    """What became of an act: conveyed, dropped, contradicted, or not judged."""
    if act.entailed is None:
        return "not judged" if not act.sought else "dropped" if act.missed else "conveyed"
    if act.entailed:
        return "conveyed"
    asked = act.augmented or act.plain
    return "contradicted" if asked is not None and asked[2] > asked[1] else "dropped"


def _rows(one: ScoredSystem, metric: str) -> pl.DataFrame:
    """One row per act: SGSAcc's or SER's part of it, as if it stood alone."""
    import polars as pl

    made = []
    for dialogue, answer, act in acts(one):
        slot = f"{act.service}.{act.slot}" if act.slot else None
        if metric == "sgsacc" and act.entailed is not None:
            made.append((dialogue.id, act.act, slot, float(act.entailed), 1.0))
        if metric == "ser" and act.sought:
            made.append((dialogue.id, act.act, slot, float(answer.text is None or bool(act.missed)), 1.0))
    columns = {"dialogue": pl.String, "act": pl.String, "slot": pl.String, "num": pl.Float64, "den": pl.Float64}
    return pl.DataFrame(made, schema=columns, orient="row")


# -- section -----------------------------------------------------------------------------------------------------------


def _section(found: Sequence[ScoredSystem], beyond: Differences) -> Section:
    blocks: list[Block] = [metrics_grid("nlg", found, beyond)]
    for by, title in (("act", "Which acts"), ("slot", "Which slots")):
        blocks += [Heading(title), *(_chart(found, metric, by) for metric in HEADLINE)]
    blocks += [Heading("What is dropped, what is wrong"), *_lost(found)]
    if any(not one.source.is_kept for one in found):
        blocks.append(Text("A run here holds no dialogues, so single acts cannot be shown. Make it again."))
    return Section("responses", "Responses", LEAD, blocks)


def _chart(found: Sequence[ScoredSystem], metric: str, by: str) -> Chart:
    """A metric by act or slot, the worst first."""
    rows: list[list[Cell]] = [
        [one.name, group, n.value, n.low, n.high, n.n] for one in found for group, n in _groups(one, metric, by).items()
    ]
    declared = found[0].metric(metric)
    lower = declared.better == "lower"
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(str(row[1]), []).append(float(row[2] or 0.0))
    means = {group: sum(some) / len(some) * (-1 if lower else 1) for group, some in values.items()}
    groups = sorted(means, key=lambda group: (means[group], group))[:WORST]
    shown = sorted((row for row in rows if row[1] in groups), key=lambda row: groups.index(str(row[1])))
    title = f"{declared.title} by {by}" + (f", the {WORST} worst" if len(means) > WORST else "")
    return Chart(
        f"{metric}-{by}", "dots", title, ["system", by, metric, "low", "high", "n"], shown, metric, by, "system",
        "low", "high", x_title=declared.title, percent=True, note="Lower is better." if lower else "",
    )  # fmt: skip


def _groups(one: ScoredSystem, metric: str, by: str) -> dict[str, Estimate]:
    """By act or slot: as the run has it, else from its dialogues."""
    return one.groups(GROUPED[metric], by) or by_group(_rows(one, metric), by)


def _lost(found: Sequence[ScoredSystem]) -> list[Block]:
    blocks: list[Block] = []
    for one in found:
        fates: dict[str, Counter[str]] = {}
        for _, _, act in acts(one):
            fates.setdefault(act.act, Counter())[fate(act)] += 1
        worst = sorted(fates, key=lambda act: (-sum(fates[act][kind] for kind in LOST), act))[:WORST]
        rows: list[list[Cell]] = [
            [one.name, act, kind, fates[act][kind], fates[act].total()]
            for act in worst
            for kind in LOST
            if fates[act][kind]
        ]
        suffix = "" if len(found) == 1 else f", {one.name}"
        blocks.append(
            Chart(
                f"lost-{len(blocks)}", "bars", f"Acts that do not come through{suffix}",
                ["system", "act", "fate", "acts", "of"], rows, "acts", "act", "fate", x_title="acts", zero=True,
                note="Dropped: it does not follow from the response. Contradicted: the response says otherwise.",
                colours={"dropped": 4, "contradicted": 1},
            )
        )  # fmt: skip
        blocks += _examples(one, suffix)
    return blocks


def _examples(one: ScoredSystem, suffix: str) -> list[Block]:
    found = [(dialogue, answer, act) for dialogue, answer, act in acts(one) if fate(act) in LOST]
    shown = []
    for dialogue, answer, act in found[:SHOWN]:
        what = f"{act.slot} = {', '.join(act.values)}" if act.values else act.slot or act.act
        facts = [f"{fate(act)}: {what}"]
        facts += [f"asked: “{act.reference}”"] if act.reference else []
        facts += [f"not there: {', '.join(act.missed)}"] if act.missed else []
        said = Piece("no response", "-") if answer.text is None else Piece(answer.text)
        shown.append(
            Example(
                act.act, f"{dialogue.id}, turn {answer.index}", [said], facts, dialogue.id, f"s{answer.index}",
                dialogue.set, one.name, act.act,
            )
        )  # fmt: skip
    return [Examples(f"Responses that lose an act{suffix}", shown, "", len(found))] if shown else []
