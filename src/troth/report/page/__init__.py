"""Content of the page of one or several runs, from their results alone."""

from __future__ import annotations

from collections.abc import Sequence

from troth.core.errors import UserError
from troth.core.registry import import_path
from troth.core.result import package_versions
from troth.core.tasks import TASKS
from troth.core.version import __version__
from troth.report.charts import PALETTE
from troth.report.page import words
from troth.report.page.cards import Contribution
from troth.report.page.contests import sort_lines, with_title
from troth.report.page.history import build_history
from troth.report.page.model import Page, RunFacts
from troth.report.sources import Source
from troth.storage.history import HistoryEntry

LONGEST_TITLE = 60
NO_DIALOGUES = "The runs hold no dialogues. Run the command again with --out to explore turns."


def build(sources: Sequence[Source], history: Sequence[HistoryEntry] = (), about: str = "") -> Page:
    """Builds the page, without the dialogues; with the history of earlier runs, if there is one.

    `about`: what the summary begins with.
    """
    pages = dict.fromkeys(TASKS.load(name).page for name in TASKS.by_name())
    parts: list[Contribution] = [import_path(page).contribute(sources) for page in pages]
    cards = [card for part in parts for card in part.cards]
    sections = [
        section for section in (*(part.section for part in parts), build_history(history)) if section is not None
    ]
    if not cards and not sections:
        tasks = ", ".join(sorted({source.result.task for source in sources}))
        hint = "give runs of: " + ", ".join(TASKS.by_name())
        raise UserError(f"nothing to show in runs of: {tasks}", file=sources[0].path, hint=hint)
    entries = [entry.system for card in cards for entry in card.entries]
    names = list(dict.fromkeys([*entries, *(system.name for part in parts for system in part.systems)]))
    title = words.join_words(names)
    lead = [*([about] if about else []), _scope(sources), *_summary_lines(parts)]
    return Page(
        title if len(title) <= LONGEST_TITLE else f"{len(names)} systems",
        lead, names, cards, sections, [_facts(source) for source in sources],
        __version__, _why_no_explorer(sources), list(PALETTE),
    )  # fmt: skip


def _why_no_explorer(sources: Sequence[Source]) -> str:
    if any(source.tallies.dialogues or source.trials for source in sources):
        return ""
    tasks = {source.result.task for source in sources}
    name = next(iter(tasks))
    declared = TASKS.load(name).no_explorer if len(tasks) == 1 and name in TASKS else ""
    return declared or NO_DIALOGUES


def _summary_lines(parts: Sequence[Contribution]) -> list[str]:
    """Sentences of all sections for the summary, the largest difference first; of several, with titles."""
    sections = [(part.section.title, part.story) for part in parts if part.story and part.section is not None]
    if len(sections) == 1:
        return sort_lines(sections[0][1])
    return sort_lines(with_title(line, title) for title, story in sections for line in story)


def _scope(sources: Sequence[Source]) -> str:
    """The sizes of the test sets; a range where systems or runs differ."""
    sizes: dict[tuple[str, str], list[int]] = {}
    for source in sources:
        if source.result.task not in TASKS:
            continue
        task = TASKS.load(source.result.task)
        counts = [count[task.counted] for count in source.result.counts.values() if task.counted in count]
        # A perturbed set may hold fewer than the original.
        sizes.setdefault((task.topic, task.counted), []).extend([max(counts, default=0)] if task.varies else counts)
    topics: dict[str, list[str]] = {}
    for (topic, counted), numbers in sizes.items():
        least, most = min(numbers, default=0), max(numbers, default=0)
        size = words.count(most, counted.removesuffix("s"))
        topics.setdefault(size if least == most else f"{least:,} to {size}", []).append(topic)
    text = words.join_words([f"{words.join_words(names)} on {size}" for size, names in topics.items()]) + "."
    return text[0].upper() + text[1:]


def _facts(source: Source) -> RunFacts:
    result = source.result
    arguments = {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in result.arguments.items()
        if value not in (None, [], "")
    }
    counts = {name: dict(count) for name, count in result.counts.items()}
    return RunFacts(source.name, f"troth {result.task}", arguments, dict(result.versions) or package_versions(), counts)
