"""Cards and tables of scores, which every section has, with marks where systems differ beyond noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from troth.core.metric import PERCENT
from troth.core.score import Score
from troth.report.page import words
from troth.report.page.differences import Differences, footnote, mark
from troth.report.page.model import Block, Card, Chart, Entry, Grid, Heading, Section
from troth.report.sources import ScoredSystem, Source

GROUPS = {"all": "all", "seen": "seen", "unseen": "unseen"}
NOTE = "Shares in percent, with the half-width of the 95% interval over dialogues."


@dataclass(frozen=True)
class Contribution:
    """What one kind of run adds to the page: cards, a section, and sentences for the summary."""

    systems: Sequence[ScoredSystem] = ()
    cards: Sequence[Card] = ()
    section: Section | None = None
    story: Sequence[str] = ()


def contribution(
    systems: Sequence[ScoredSystem], cards: Iterable[Card | None], section: Section | None, story: Iterable[str]
) -> Contribution:
    """The same without cards that are empty, charts that have no rows, and headings that nothing follows."""
    if section is not None:
        section = msgspec.structs.replace(section, blocks=_filled(section.blocks))
    return Contribution(systems, [card for card in cards if card is not None], section, list(dict.fromkeys(story)))


def _filled(blocks: Sequence[Block]) -> list[Block]:
    shown = [block for block in blocks if not (isinstance(block, Chart) and not block.rows)]
    return [
        block
        for block, after in zip(shown, [*shown[1:], None], strict=True)
        if not (isinstance(block, Heading) and (after is None or isinstance(after, Heading)))
    ]


def systems_of(sources: Sequence[Source], task: str) -> list[ScoredSystem]:
    """The systems of all runs of one task."""
    return [one for source in sources if source.result.task == task for one in source.systems]


class CardQuestion(NamedTuple):
    """What a card asks, the section that answers it in full, and what the figure is in a few words."""

    text: str
    section: str
    about: str = ""  # without it, what the metric says of itself


def card(
    question: CardQuestion,
    found: Sequence[ScoredSystem],
    metric: Callable[[ScoredSystem], str],
    beyond: Differences,
    sentence: Callable[[ScoredSystem, Score], str],
    facts: Callable[[ScoredSystem, Score], Iterable[str]],
) -> Card | None:
    """A card with an entry for each system that has a value: the figure, a sentence and a few facts."""
    entries = []
    for one in found:
        score = one.known(metric(one))
        if score is None:
            continue
        difference, better = mark(beyond.get((one.name, score.metric)))
        entries.append(
            Entry(
                one.name, score.value, score.low, score.high, score.n, score.signature, sentence(one, score),
                list(facts(one, score)), difference, better,
            )
        )  # fmt: skip
    if not entries:
        return None
    main = found[0].metric(metric(found[0]))
    about = question.about or main.about
    return Card(question.text, question.section, main.title, entries, about, percent=main.scale in PERCENT)


class Line(NamedTuple):
    """A row of a table: its labels, the scores that it shows (system, metric, group), and what it means."""

    labels: Sequence[str]
    cells: Sequence[tuple[ScoredSystem, str, str]]
    note: str = ""


def grid(id: str, title: str, columns: Sequence[str], lines: Sequence[Line], beyond: Differences, note: str) -> Grid:
    """A table of scores; cells that differ from the first system beyond noise are marked."""
    labels = len(lines[0].labels) if lines else 1
    rows: list[list[str]] = []
    figures: list[list[float | None]] = []
    marks: list[tuple[int, int, bool]] = []
    for line in lines:
        scores = [one.score(metric, group) for one, metric, group in line.cells]
        for column, (one, metric, group) in enumerate(line.cells, labels):
            better = mark(beyond.get((one.name, metric)))[1] if group == "all" else None
            if better is not None:
                marks.append((len(rows), column, better))
        rows.append([*line.labels, *map(words.figure, scores)])
        figures.append([n for s in scores for n in ((s.value, s.low, s.high) if s else (None, None, None))])
    return Grid(id, title, list(columns), rows, labels, [line.note for line in lines], marks, note, figures)


def metrics_grid(
    id: str,
    found: Sequence[ScoredSystem],
    beyond: Differences,
    groups: Mapping[str, str] = GROUPS,
    note: str = NOTE,
) -> Grid:
    """A row per metric and a column per system; of a single system, a column per group."""
    single = len(found) == 1
    present = {group for one in found for _, group in one.scores}
    shown = [group for group in groups if group in present] if single else ["all"]
    heads = [(one, group) for one in found for group in shown]
    owners = {metric: one for one in reversed(found) for metric, _ in one.scores}
    lines = []
    for metric in dict.fromkeys(metric for one in found for metric, _ in one.scores):
        if any(one.known(metric, group) for one, group in heads):
            declared = owners[metric].metric(metric)
            lines.append(Line([declared.title], [(one, metric, group) for one, group in heads], declared.about))
    columns = [groups[group] if single and len(shown) > 1 else one.name for one, group in heads]
    return grid(id, "All metrics", ["metric", *columns], lines, beyond, note + footnote(found))
