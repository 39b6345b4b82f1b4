"""Responses to given acts: the card and the section of runs of `troth nlg`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from troth.core.score import Score
from troth.report.page import words
from troth.report.page.differences import Differences, told
from troth.report.page.model import (
    Block,
    Card,
    Cell,
    Chart,
    Entry,
    Example,
    Examples,
    Heading,
    Piece,
    Section,
    Source,
    Text,
)
from troth.report.page.sources import Item, Ratio, ratios, sums, systems
from troth.report.page.tracking import metrics_table
from troth.storage.explorer import ActView, AnswerView, DialogueView

if TYPE_CHECKING:
    import polars as pl

QUESTION = "Does it say what it was told to say?"
HEADLINE = ("sgsacc", "ser")
SHOWN = 60
WORST = 15


def items(sources: Sequence[Source]) -> list[Item]:
    return [(source, name) for source in sources if source.command == "nlg" for name in systems(source)]


# -- card --------------------------------------------------------------------------------------------------------------


def card(found: Sequence[Item], beyond: Differences) -> Card | None:
    metric = next((m for m in ("sgsacc", "ser") if any(_value(source, m, name) for source, name in found)), None)
    entries = []
    for source, system in found if metric else ():
        score = _value(source, metric or "", system)
        if score is not None:
            name = source.called(system)
            mark, better = told(beyond.get((name, score.metric)))
            entries.append(
                Entry(
                    name, score.value, score.low, score.high, score.n, score.signature,
                    _sentence(source, system, score), _facts(source, system), mark, better,
                )
            )  # fmt: skip
    return Card(QUESTION, "responses", words.name(metric), entries, words.about(metric)) if metric and entries else None


def _value(source: Source, metric: str, system: str) -> Score | None:
    score = source.score(metric, system)
    return score if score is not None and score.value is not None else None


def _sentence(source: Source, system: str, score: Score) -> str:
    ser = _value(source, "ser", system)
    lacks = ""
    if ser is not None:
        some = f"{words.percent(ser.value)}% lack" if ser.value else "none lacks"
        lacks = f"{some} a value that should stand in it word for word"
    if score.metric == "ser":
        return f"{lacks[0].upper()}{lacks[1:]}."
    start = f"In {words.percent(score.value, 0)}% of responses everything that was to be said follows from them"
    return f"{start}; {lacks}." if lacks else f"{start}."


def _facts(source: Source, system: str) -> list[str]:
    failed = Counter(told.act for _, _, told in acts(source, system) if fate(told) in ("dropped", "contradicted"))
    facts = []
    if failed:
        act, number = failed.most_common(1)[0]
        facts.append(f"Most often lost: {act} ({words.count(number, 'time')}).")
    values = Counter(told.slot for _, _, told in acts(source, system) for _ in told.missed)
    if values:
        slot, number = values.most_common(1)[0]
        facts.append(f"The value most often missing is that of {slot} ({words.count(number, 'time')}).")
    return facts


# -- acts --------------------------------------------------------------------------------------------------------------


def acts(source: Source, system: str) -> Iterator[tuple[DialogueView, AnswerView, ActView]]:
    for dialogue in source.archive.dialogues if source.archive is not None else ():
        for track in dialogue.tracks:
            if track.system == system:
                yield from ((dialogue, answer, told) for answer in track.answers for told in answer.acts)


def fate(act: ActView) -> str:
    """What became of an act: conveyed, dropped, contradicted, or not judged."""
    if act.entailed is None:
        return "not judged" if not act.sought else "dropped" if act.missed else "conveyed"
    if act.entailed:
        return "conveyed"
    asked = act.augmented or act.plain
    return "contradicted" if asked is not None and asked[2] > asked[1] else "dropped"


def _rows(source: Source, system: str) -> pl.DataFrame:
    """One row an act: SGSAcc's and SER's parts of it, as if it stood alone."""
    import polars as pl

    made = []
    for dialogue, answer, act in acts(source, system):
        slot = f"{act.service}.{act.slot}" if act.slot else None
        if act.entailed is not None:
            made.append((dialogue.id, act.act, slot, "sgsacc", float(act.entailed), 1.0))
        if act.sought:
            made.append((dialogue.id, act.act, slot, "ser", float(answer.text is None or bool(act.missed)), 1.0))
    columns = {"dialogue": pl.String, "act": pl.String, "slot": pl.String, "metric": pl.String}
    return pl.DataFrame(made, schema={**columns, "num": pl.Float64, "den": pl.Float64}, orient="row")


# -- section -----------------------------------------------------------------------------------------------------------


def section(found: Sequence[Item], beyond: Differences) -> Section | None:
    if not found:
        return None
    blocks: list[Block] = [metrics_table(found, beyond, id="nlg")]
    for by, title in (("act", "Which acts"), ("slot", "Which slots")):
        charts = [chart for metric in ("sgsacc", "ser") for chart in _by(found, metric, by)]
        if charts:
            blocks += [Heading(title), *charts]
    lost = _lost(found)
    if lost:
        blocks += [Heading("What is dropped, what is wrong"), *lost]
    if any(not source.is_kept for source, _ in found):
        blocks.append(Text("A run here holds no dialogues, so single acts cannot be shown. Make it again."))
    lead = (
        "A response generator is told what to say as acts: offer this hotel, confirm that date. "
        "SER looks for the values word for word; SGSAcc asks an entailment model whether every act follows."
    )
    return Section("responses", "Responses", lead, blocks)


def _by(found: Sequence[Item], metric: str, by: str) -> list[Block]:
    rows: list[list[Cell]] = []
    for source, system in found:
        for group, one in (_given(source, system, metric, by) or _summed(source, system, metric, by)).items():
            rows.append([source.called(system), group, one.value, one.low, one.high, one.n])
    if not rows:
        return []
    bad = words.lower_is_better(metric)
    every = {str(row[1]) for row in rows}
    means = {group: _mean([row for row in rows if row[1] == group]) * (-1 if bad else 1) for group in every}
    groups = sorted(every, key=lambda group: (means[group], group))[:WORST]
    rows = sorted((row for row in rows if row[1] in groups), key=lambda row: groups.index(str(row[1])))
    title = f"{words.name(metric)} by {by}" + (f", the {WORST} worst" if len(every) > WORST else "")
    return [
        Chart(
            f"{metric}-{by}", "dots", title, ["system", by, metric, "low", "high", "n"], rows, metric, by, "system",
            "low", "high", x_title=words.name(metric), percent=True,
            note="Lower is better." if bad else "",
        )
    ]  # fmt: skip


def _mean(rows: Sequence[Sequence[Cell]]) -> float:
    return sum(float(row[2] or 0.0) for row in rows) / len(rows)


def _given(source: Source, system: str, metric: str, by: str) -> dict[str, Ratio]:
    name = "ser_applicable" if metric == "ser" else metric
    return {
        s.group.removeprefix(f"{by}:"): Ratio(s.value, s.low, s.high, s.n)
        for s in source.scores
        if s.metric == name and s.system == system and s.group.startswith(f"{by}:") and s.value is not None
    }


def _summed(source: Source, system: str, metric: str, by: str) -> dict[str, Ratio]:
    import polars as pl

    rows = _rows(source, system).filter(pl.col("metric") == metric)
    return ratios(sums(rows, by)) if rows.height else {}


def _lost(found: Sequence[Item]) -> list[Block]:
    blocks: list[Block] = []
    single = len(found) == 1
    for source, system in found:
        fates: dict[str, Counter[str]] = {}
        for _, _, act in acts(source, system):
            fates.setdefault(act.act, Counter())[fate(act)] += 1
        name = source.called(system)
        rows: list[list[Cell]] = [
            [name, act, kind, fates[act][kind], fates[act].total()]
            for act in sorted(fates, key=lambda act: (-fates[act]["dropped"] - fates[act]["contradicted"], act))[:WORST]
            for kind in ("dropped", "contradicted")
            if fates[act][kind]
        ]
        if rows:
            blocks.append(
                Chart(
                    f"lost-{len(blocks)}", "bars", "Acts that do not come through" + ("" if single else f", {name}"),
                    ["system", "act", "fate", "acts", "of"], rows, "acts", "act", "fate", x_title="acts", zero=True,
                    note="Dropped: it does not follow from the response. Contradicted: the response says otherwise.",
                    colours={"dropped": 4, "contradicted": 1},
                )
            )  # fmt: skip
        blocks += _examples(source, system, "" if single else name)
    return blocks


def _what(act: ActView) -> str:
    return f"{act.slot} = {', '.join(act.values)}" if act.values else act.slot or act.act


def _examples(source: Source, system: str, name: str) -> list[Block]:
    found = [(d, answer, act) for d, answer, act in acts(source, system) if fate(act) in ("dropped", "contradicted")]
    shown = [
        Example(
            act.act, f"{dialogue.id}, turn {answer.index}",
            [Piece("no response", "-") if answer.text is None else Piece(answer.text)],
            [f"{fate(act)}: {_what(act)}"] + ([f"asked: “{act.reference}”"] if act.reference else [])
            + ([f"not there: {', '.join(act.missed)}"] if act.missed else []),
            dialogue.id, f"s{answer.index}", dialogue.set, source.called(system), act.act,
        )
        for dialogue, answer, act in found[:SHOWN]
    ]  # fmt: skip
    title = "Responses that lose an act" + (f", {name}" if name else "")
    return [Examples(title, shown, "", len(found))] if shown else []
