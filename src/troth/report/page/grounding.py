"""Grounded responses: the card and the section of runs of `troth ground`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from troth import stats
from troth.core.score import Score
from troth.report.page import words
from troth.report.page.differences import Differences, footnote, told
from troth.report.page.model import (
    Block,
    Card,
    Cell,
    Chart,
    Entry,
    Example,
    Examples,
    Grid,
    Heading,
    Piece,
    Section,
    Source,
    Text,
    unrounded,
)
from troth.report.page.sources import Item, systems
from troth.storage.explorer import ResponseView

QUESTION = "Is it true to its document?"
BINS = 20
MANY = 100  # responses: with fewer, bins are twice as wide
CURVE = 10  # bins of the reliability curve
FEWEST = 5  # responses that a bin of it must have
SHOWN = 40
LOWEST = 0.25  # of the responses are the least faithful, where no calibration says which are
LONGEST = 480  # characters of a document beside an example
LABELS = {0: "not supported, say people", 1: "supported, say people"}
# Words that stand in any text; short ones are passed over anyway.
COMMON = frozenset(
    """
    about above after again also although always another because been before being both came come comes could
    does doing done each even ever every from goes going have having here hers himself into itself just know
    like made make many maybe more most much must myself never only other ours over really same shall should
    since some such sure than that thats their them then there these they thing things think this those through
    under until upon very want well were what when where which while will with within would yeah your yours
    """.split()  # noqa: SIM905
)


def items(sources: Sequence[Source]) -> list[Item]:
    return [(source, name) for source in sources if source.command == "ground" for name in systems(source)]


def headline(found: Sequence[Item]) -> list[str]:
    """The figure that the summary speaks of: the share of faithful responses, or the first metric's mean."""
    if not found:
        return []
    source, system = found[0]
    metrics = [s.metric for s in source.scores if s.system == system and s.group == "all" and s.value is not None]
    judged = [metric for metric in metrics if metric.startswith("faithful:")]
    return (judged or metrics)[:1]


# -- card --------------------------------------------------------------------------------------------------------------


def card(found: Sequence[Item], beyond: Differences) -> Card | None:
    entries = []
    for metric in headline(found):
        for source, system in found:
            score = source.score(metric, system)
            if score is None or score.value is None:
                continue
            name = source.called(system)
            mark, better = told(beyond.get((name, metric)))
            entries.append(
                Entry(
                    name, score.value, score.low, score.high, score.n, score.signature, _sentence(score),
                    _facts(source, system, metric.removeprefix("faithful:")), mark, better,
                )
            )  # fmt: skip
        judged = metric.startswith("faithful:")
        about = "share of responses above a threshold learned from labelled ones" if judged else "mean over responses"
        return Card(QUESTION, "grounding", words.name(metric), entries, about, judged) if entries else None
    return None


def _sentence(score: Score) -> str:
    base = score.metric.removeprefix("faithful:")
    if base != score.metric:
        return f"{words.percent(score.value, 0)}% of responses are faithful to their document, by {words.inline(base)}."
    return (
        f"{words.name(base)} is {score.value:.2f} on average over {words.count(score.n, 'response')}; higher is truer."
    )


def _facts(source: Source, system: str, metric: str) -> list[str]:
    mine = _labelled(source, system, metric)
    facts = []
    if mine:
        supported = sum(label for _, label in mine) / len(mine)
        facts.append(f"People found {words.percent(supported, 0)}% of them supported.")
        area = stats.auroc([value for value, _ in mine], [label for _, label in mine])
        if area is not None:
            facts.append(f"{words.name(metric)} tells those apart with AUROC {area:.2f}; 0.5 would be chance.")
    empty = source.counts.get(system, {})
    lost = sum(count for name, count in empty.items() if name.startswith(f"{metric}: "))
    if lost:
        facts.append(f"{words.count(lost, 'response')} could not be scored.")
    return facts


def responses(source: Source, system: str, metric: str) -> list[ResponseView]:
    """Those that have a score."""
    kept = source.archive.responses if source.archive is not None else ()
    return [one for one in kept if one.system == system and metric in one.values]


def _labelled(source: Source, system: str, metric: str) -> list[tuple[float, int]]:
    return [(one.values[metric], one.label) for one in responses(source, system, metric) if one.label is not None]


# -- section -----------------------------------------------------------------------------------------------------------


def section(found: Sequence[Item], beyond: Differences) -> Section | None:
    if not found:
        return None
    metric = headline(found)[0].removeprefix("faithful:") if headline(found) else ""
    blocks: list[Block] = [_table(found, beyond)]
    charts = [chart for one in _metrics(found) for item in found for chart in _distribution(item, one, len(found) > 1)]
    curve = _reliability(found)
    if charts or curve:
        blocks += [Heading("Scores and what people say"), *charts, *curve]
    sources = _by_source(found, metric)
    if sources:
        blocks += [Heading("By source"), *sources]
    examples = [block for source, system in found for block in _examples(source, system, metric, len(found) > 1)]
    if examples:
        blocks += [Heading("Responses"), *examples]
    if any(not source.is_kept for source, _ in found):
        blocks.append(Text("A run here holds no responses, so none can be shown. Make it again."))
    lead = (
        "A response that answers from a document should say what the document says. "
        "A metric puts a number on it; labels by people tell how far the number is to be trusted."
    )
    return Section("grounding", "Grounding", lead, blocks)


def _metrics(found: Sequence[Item]) -> list[str]:
    every = [s.metric for source, system in found for s in source.scores if s.system == system and s.group == "all"]
    return list(dict.fromkeys(metric for metric in every if not metric.startswith("faithful:")))


def _table(found: Sequence[Item], beyond: Differences) -> Grid:
    rows: list[list[str]] = []
    figures: list[list[float | None]] = []
    marks: list[tuple[int, int, bool]] = []
    notes = []
    every = dict.fromkeys(s.metric for source, system in found for s in source.scores if s.system == system)
    single = len(found) == 1
    groups = ["all", *(f"label:{label}" for label in LABELS)] if single else ["all"]
    heads = [(*item, group) for item in found for group in groups]
    heads = [head for head in heads if any(s.system == head[1] and s.group == head[2] for s in head[0].scores)]
    for metric in every:
        for column, (source, system, group) in enumerate(heads, 1):
            better = told(beyond.get((source.called(system), metric)))[1] if group == "all" else None
            if better is not None:
                marks.append((len(rows), column, better))
        scores = [source.score(metric, system, group) for source, system, group in heads]
        rows.append([words.name(metric), *map(_cell, scores)])
        figures.append(unrounded(scores))
        notes.append(words.about(metric))
    names = {"all": "all", "label:0": "not supported", "label:1": "supported"}
    columns = [names[group] if single else source.called(system) for source, system, group in heads]
    note = "Means, with the half-width of the 95% interval over documents; shares of faithful responses in percent."
    note += footnote(found)
    return Grid("ground", "All metrics", ["metric", *columns], rows, 1, notes, marks, note, figures)


def _cell(score: Score | None) -> str:
    if score is None or score.value is None:
        return "–"
    if score.metric.startswith("faithful:"):
        return words.figure(score)
    half = "" if score.low is None or score.high is None else f" ±{(score.high - score.low) / 2:.3f}"
    return f"{score.value:.3f}{half}"


def _distribution(item: Item, metric: str, several: bool) -> list[Block]:
    source, system = item
    mine = responses(source, system, metric)
    values = [one.values[metric] for one in mine]
    if not values:
        return []
    low, high = min(0.0, *values), max(1.0, *values)
    bins = BINS if len(values) >= MANY else BINS // 2
    step = (high - low) / bins
    series = {label: [one for one in mine if one.label == label] for label in (*LABELS, None)}
    rows: list[list[Cell]] = []
    for label, some in series.items():
        if not some:
            continue
        counts = [0] * bins
        for one in some:
            counts[min(bins - 1, int((one.values[metric] - low) / step))] += 1
        name = "not labelled" if label is None else LABELS[label]
        rows += [
            [source.called(system), name, f"{low + place * step:.2f}", count / len(some), count]
            for place, count in enumerate(counts)
        ]
    title = f"{words.name(metric)} by label" + (f", {source.called(system)}" if several else "")
    return [
        Chart(
            f"scores-{metric}-{source.called(system)}", "columns", title,
            ["system", "label", "score", "share", "responses"], rows, "score", "share", "label",
            note="Share of the responses of each label. A metric that can be trusted keeps the two apart.",
            x_title=f"{words.name(metric)}, from", y_title="share of responses", percent=True, zero=True,
            colours={LABELS[0]: 1, LABELS[1]: 2, "not labelled": 0},
        )
    ]  # fmt: skip


def _reliability(found: Sequence[Item]) -> list[Block]:
    """What was called probable against what people found; systems with few responses are taken together."""
    judged: dict[str, dict[str, list[tuple[float, int]]]] = {}  # metric, system, probabilities with labels
    for source, system in found:
        for metric in _metrics(found):
            for one in responses(source, system, metric):
                if one.label is not None and metric in one.probability:
                    mine = judged.setdefault(metric, {}).setdefault(source.called(system), [])
                    mine.append((one.probability[metric], one.label))
    rows: list[list[Cell]] = []
    for metric, by_system in judged.items():
        apart = len(found) > 1 and min(map(len, by_system.values())) >= MANY
        curves = by_system if apart else {"": [pair for some in by_system.values() for pair in some]}
        for system, pairs in curves.items():
            name = words.name(metric) + (f", {system}" if system else "")
            rows += [[name, *point] for point in _curve(pairs)]
    if not rows:
        return []
    return [
        Chart(
            "reliability", "lines", "Can the probability be trusted?", ["metric", "probability", "supported", "n"],
            rows, "probability", "supported", "metric", x_title="probability that it is faithful",
            y_title="found supported by people", percent=True, diagonal=True, zero=True,
            note="On the dashed line, what is called 70% probable is supported 70% of the time.",
        )
    ]  # fmt: skip


def _curve(pairs: Sequence[tuple[float, int]]) -> Iterator[tuple[float, float, int]]:
    """Mean probability, share found supported, and number of responses, bin by bin."""
    number = CURVE if len(pairs) >= MANY else CURVE // 2
    bins: dict[int, list[tuple[float, int]]] = {}
    for chance, label in pairs:
        bins.setdefault(min(number - 1, int(chance * number)), []).append((chance, label))
    for _, some in sorted(bins.items()):
        if len(some) >= FEWEST:
            said, seen = (math.fsum(pair[i] for pair in some) / len(some) for i in (0, 1))
            yield round(said, 6), seen, len(some)


def _by_source(found: Sequence[Item], metric: str) -> list[Block]:
    rows: list[list[Cell]] = [
        [source.called(system), s.group.removeprefix("source:"), s.value, s.low, s.high, s.n]
        for source, system in found
        for s in source.scores
        if s.metric == metric and s.system == system and s.group.startswith("source:") and s.value is not None
    ]
    if len({row[1] for row in rows}) < 2:
        return []
    return [
        Chart(
            "sources", "dots", f"{words.name(metric)} by source", ["system", "source", metric, "low", "high", "n"],
            sorted(rows, key=lambda row: float(row[2] or 0.0)), metric, "source", "system", "low", "high",
            x_title=words.name(metric),
        )
    ]  # fmt: skip


# -- responses one by one ----------------------------------------------------------------------------------------------


def _examples(source: Source, system: str, metric: str, several: bool) -> list[Block]:
    mine = sorted(responses(source, system, metric), key=lambda one: (one.values[metric], one.id))
    if any(metric in one.faithful for one in mine):
        lowest = [one for one in mine if one.faithful.get(metric) is False]
    else:  # no threshold says which are unfaithful
        lowest = mine[: math.ceil(len(mine) * LOWEST)]
    deceived = [one for one in reversed(mine) if one.label == 0 and one.faithful.get(metric, False)]
    shown = [_example(one, metric, "least faithful") for one in lowest[:SHOWN]]
    shown += [_example(one, metric, "scored high, not supported") for one in deceived[:SHOWN]]
    title = "Least faithful responses" + (f", {source.called(system)}" if several else "")
    note = "Marked: words of the response that stand neither in the document nor in what was said before."
    return [Examples(title, shown, note, len(lowest) + len(deceived))] if shown else []


def _example(one: ResponseView, metric: str, group: str) -> Example:
    cut = one.document if len(one.document) <= LONGEST else one.document[:LONGEST].rstrip() + " …"
    facts = [f"document: {cut}"]
    if one.label is not None:
        facts.append(LABELS[one.label] if one.label in LABELS else str(one.label))
    if metric in one.probability:
        facts.append(f"faithful with probability {one.probability[metric]:.2f}")
    return Example(f"{words.name(metric)} {one.values[metric]:.2f}", one.id, unsupported(one), facts, group=group)


def unsupported(one: ResponseView) -> list[Piece]:
    """The response with the content words marked that nothing before it has."""
    known = set(map(_stem, re.findall(r"\w+", " ".join((one.document, *one.history)).lower())))
    pieces: list[Piece] = []
    for found in re.finditer(r"\w+|\W+", one.text):
        word = found[0]
        lower = word.lower()
        content = (len(word) > 3 or word.isdigit()) and lower not in COMMON and re.match(r"\w", word) is not None
        mark = "!" if content and _stem(lower) not in known else ""
        if pieces and pieces[-1].mark == mark:
            pieces[-1] = Piece(pieces[-1].text + word, mark)
        else:
            pieces.append(Piece(word, mark))
    return pieces


def _stem(word: str) -> str:
    """Without the commonest endings, as many as there are: "carries" and "carried" are one word here."""
    return re.sub(r"(?<=\w{3})(?:ing|ed|[seyi])+$", "", word)
