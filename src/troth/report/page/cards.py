"""Cards and tables of scores, which every section has, with marks where systems differ beyond noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from troth.core.groups import WHOLE
from troth.core.metric import PERCENT
from troth.core.score import Score
from troth.report.page import words
from troth.report.page.contests import Contest, uncompared_notes
from troth.report.page.model import Block, Card, Chart, Entry, Grid, Heading, Section
from troth.report.sources import ScoredSystem, Source
from troth.stats.contests import Marked

GROUPS: dict[str, str] = {group: group.replace("_", " ") for group in WHOLE}
NOTE = "Shares in percent, with the 95% interval over dialogues."
LEAST_SHOWN = 8  # examples of each system
NOTED = 3  # intervals that a note speaks of
FEW = "° Few cases:"  # of intervals that rest on little, or are not there


@dataclass(frozen=True)
class Contribution:
    """The contribution of one kind of run to the page: cards, a section, and sentences for the summary."""

    systems: Sequence[ScoredSystem] = ()
    cards: Sequence[Card] = ()
    section: Section | None = None
    story: Sequence[str] = ()


def contribution(
    systems: Sequence[ScoredSystem], cards: Iterable[Card | None], section: Section | None, story: Iterable[str]
) -> Contribution:
    """The same without cards that are empty, charts that have no rows, and headings that nothing follows."""
    if section is not None:
        section = msgspec.structs.replace(section, blocks=_drop_empty(section.blocks))
    return Contribution(systems, [card for card in cards if card is not None], section, list(dict.fromkeys(story)))


def _drop_empty(blocks: Sequence[Block]) -> list[Block]:
    shown = [block for block in blocks if not (isinstance(block, Chart) and not block.rows)]
    return [
        block
        for block, after in zip(shown, [*shown[1:], None], strict=True)
        if not (isinstance(block, Heading) and (after is None or isinstance(after, Heading)))
    ]


def systems_of(sources: Sequence[Source], task: str) -> list[ScoredSystem]:
    """The systems of all runs of one task."""
    return [system for source in sources if source.result.task == task for system in source.systems]


def examples_per_system(shown: int, systems: Sequence[ScoredSystem]) -> int:
    """How many examples each of several systems may show."""
    return max(LEAST_SHOWN, shown // max(1, len(systems)))


class CardQuestion(NamedTuple):
    """A card's question, the section that answers it in full, and a short description of the figure."""

    text: str
    section: str
    about: str = ""  # default: the metric's own description
    contest: int = 0  # place of the systems among the section's contests


def card(
    question: CardQuestion,
    contest: Contest,
    metric: Callable[[ScoredSystem], str],
    sentence: Callable[[ScoredSystem, Score], str],
    facts: Callable[[ScoredSystem, Score], Iterable[str]],
) -> Card | None:
    """A card with an entry for each system that has a value: the figure, a sentence and a few facts."""
    known = [(system, score) for system in contest.systems if (score := system.known_score(metric(system)))]
    if not known:
        return None
    entries = [
        Entry(
            system.name, score.value, score.low, score.high, score.n, score.signature, sentence(system, score),
            [*facts(system, score), *([f"Interval: {score.interval_note}."] if score.interval_note else [])],
        )
        for system, score in known
    ]  # fmt: skip
    main = known[0][0].metric(metric(known[0][0]))
    about = words.name_units(question.about or main.about, [score for _, score in known])
    return Card(
        question.text, question.section, main.title, main.name, question.contest, entries, about,
        percent=main.scale in PERCENT,
    )  # fmt: skip


class Line(NamedTuple):
    """A row of a table: its labels, the scores that it shows (system, metric, group), and its meaning."""

    labels: Sequence[str]
    cells: Sequence[tuple[ScoredSystem, str, str]]
    note: str = ""


class GridHead(NamedTuple):
    """A table's id, title, columns and note."""

    id: str
    title: str
    columns: Sequence[str]
    note: str


def grid(frame: GridHead, lines: Sequence[Line], contest: Contest, index: int = 0) -> Grid:
    """A table of scores of the section's contest at a place; the best scores are in bold."""
    labels = len(lines[0].labels) if lines else 1
    systems = {system.name: code for code, system in enumerate(contest.systems)}
    metrics = {metric: code for code, metric in enumerate(contest.metrics)}
    rows: list[list[str]] = []
    figures: list[list[float | None]] = []
    positions: list[list[tuple[int, int] | None]] = []
    best: list[tuple[int, int]] = []
    few: list[tuple[int, int, str]] = []
    for line in lines:
        scores = [system.score(metric, group) for system, metric, group in line.cells]
        keys = [Marked(system.name, metric, group) for system, metric, group in line.cells]
        best += [(len(rows), column) for column, key in enumerate(keys, labels) if key in contest.best]
        positions.append(
            [
                (systems[key.system], metrics[key.metric]) if key.group == "all" and key.metric in metrics else None
                for key in keys
            ]
        )
        rows.append([*line.labels, *map(words.figure, scores)])
        figures.append([n for s in scores for n in ((s.value, s.low, s.high) if s else (None, None, None))])
        few += [(len(rows) - 1, c, s.interval_note) for c, s in enumerate(scores, labels) if s and s.interval_note]
    resting = [f"{rows[row][0]}, {frame.columns[column]}: {why}" for row, column, why in few]
    notes = [f"{FEW} {'; '.join(words.truncate(resting, NOTED))}."] if resting else []
    note = " ".join([frame.note, *uncompared_notes(contest), *notes])
    marked = index if len(contest.systems) > 1 else -1
    return Grid(
        frame.id, frame.title, list(frame.columns), rows, labels, [line.note for line in lines], note, figures, best,
        marked, positions if marked >= 0 else [], few,
    )  # fmt: skip


def metrics_grid(
    id: str, contest: Contest, groups: Mapping[str, str] = GROUPS, note: str = NOTE, index: int = 0
) -> Grid:
    """For one system, one row per metric and one column per group; for several, one row per metric and group.

    Groups other than `all` are shown for the metrics that are tested, and are not tested themselves.
    """
    systems = contest.systems
    single = len(systems) == 1
    present = {group for system in systems for _, group in system.scores}
    shown = [group for group in groups if group in present]
    owners = {metric: system for system in reversed(systems) for metric, _ in system.scores}
    lines = []
    for metric in dict.fromkeys(metric for system in systems for metric, _ in system.scores):
        declared = owners[metric].metric(metric)
        for across in (
            [shown] if single else [[group] for group in shown if group == "all" or metric in contest.metrics]
        ):
            cells = [(system, metric, group) for system in systems for group in across]
            if scores := [score for system, _, group in cells if (score := system.known_score(metric, group))]:
                part = "" if "all" in across else f", {groups[across[0]]}"
                lines.append(Line([declared.title + part], cells, words.name_units(declared.about, scores)))
    columns = [groups[group] for group in shown] if single and len(shown) > 1 else [system.name for system in systems]
    note += " Only overall values are tested, not those of groups." if not single and len(shown) > 1 else ""
    return grid(GridHead(id, "All metrics", ["metric", *columns], note), lines, contest, index)
