"""Runs as one page: a single HTML file that opens from disk, asks no network for anything, and holds all it shows.

The page is a template with one style sheet, one script and two blocks of data: what the sections show, as JSON, and the
dialogues, packed (`explorer`). Its content policy allows exactly that script and that style by their hashes, and
nothing else; the script puts text into the page as text only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import msgspec

from troth.core.errors import UserError
from troth.core.version import __version__
from troth.report.charts import PALETTE
from troth.report.page import explorer, grounding, responses, robustness, tracking, users, wordings, words
from troth.report.page.differences import every_metric, story
from troth.report.page.model import Block, Card, Chart, Heading, Page, RunFacts, Section, Source
from troth.report.page.sources import Item, named, systems

STYLES = ("page.css", "panels.css", "explorer.css", "turns.css", "media.css")
SCRIPTS = (
    "dom.js", "scales.js", "lines.js", "rows.js", "charts.js", "panels.js", "blocks.js", "dialogues.js", "turns.js",
    "filters.js", "stage.js", "explorer.js", "main.js",
)  # fmt: skip
MARK = "<!doctype html>\n<!-- a page of troth -->"
NO_DIALOGUES = (
    "The runs hold no dialogues: they were written before troth kept them. Make them again with --out to explore turns."
)

LONGEST_TITLE = 60
ONLY_RESPONSES = "Runs of troth ground have responses and documents, and no dialogues: see Grounding."


def build(sources: Sequence[Source]) -> Page:
    """Everything that the page shows but the dialogues."""
    runs = named(sources)
    parts = [_tracking(runs), _robustness(runs), _responses(runs), _grounding(runs)]
    shown = [card for part in parts for card in part.cards]
    sections = [section for part in parts for section in part.sections]
    if not shown and not sections:
        known = ", ".join(sorted({source.command for source in sources}))
        raise UserError(f"nothing to show in runs of: {known}", file=sources[0].path, hint="give runs of troth dst")
    entries = [entry.system for card in shown for entry in card.entries]
    names = list(dict.fromkeys([*entries, *(name for part in parts for name in part.names)]))
    return Page(
        _title(names),
        [_scope(runs), *_story(parts)],
        names,
        shown,
        sections,
        [_facts(run) for run in runs],
        __version__,
        _why_no_explorer(runs),
        list(PALETTE),
    )


def _title(names: Sequence[str]) -> str:
    listed = words.listed(names)
    return listed if len(listed) <= LONGEST_TITLE else f"{len(names)} systems"


def _why_no_explorer(runs: Sequence[Source]) -> str:
    if any(run.archive is not None and run.archive.dialogues for run in runs):
        return ""
    return ONLY_RESPONSES if all(run.command == "ground" for run in runs) else NO_DIALOGUES


@dataclass(frozen=True)
class Part:
    """What one kind of run contributes. `names`: its systems, also those that no card has."""

    cards: list[Card]
    sections: list[Section]
    story: list[str]
    names: list[str]


def _story(parts: Sequence[Part]) -> list[str]:
    """What each part has to say; with several parts, under its name."""
    telling = [part for part in parts if part.story]
    if len(telling) == 1:
        return telling[0].story
    return [f"{part.sections[0].title}: {line}" for part in telling for line in part.story]


def _tracking(runs: Sequence[Source]) -> Part:
    found = tracking.items(runs)
    beyond = every_metric(found, headline=tracking.HEADLINE)
    return _part_of(
        found,
        [tracking.card(found, beyond)],
        tracking.section(found, beyond),
        story(found, beyond, tracking.HEADLINE),
    )


def _robustness(runs: Sequence[Source]) -> Part:
    by_user, by_schema = users.items(runs), wordings.items(runs)
    names = users.headline(by_user), wordings.headline(by_schema)
    beyond = every_metric(by_user, headline=names[0]), every_metric(by_schema, headline=names[1])
    twice = any(run.command == "dst" for run in runs)  # state tracking speaks of JGA already
    of_users = [metric for metric in names[0] if not (twice and metric == "jga")]
    lines = story(by_user, beyond[0], of_users) + story(by_schema, beyond[1], names[1])
    cards = [users.card(by_user, beyond[0]), wordings.card(by_schema, beyond[1])]
    return _part_of([*by_user, *by_schema], cards, robustness.section(by_user, by_schema, *beyond), lines)


def _responses(runs: Sequence[Source]) -> Part:
    found = responses.items(runs)
    beyond = every_metric(found, headline=responses.HEADLINE)
    lines = story(found, beyond, responses.HEADLINE)
    return _part_of(found, [responses.card(found, beyond)], responses.section(found, beyond), lines)


def _grounding(runs: Sequence[Source]) -> Part:
    found = grounding.items(runs)
    names = grounding.headline(found)
    beyond = every_metric(found, headline=names)
    lines = story(found, beyond, names)
    return _part_of(found, [grounding.card(found, beyond)], grounding.section(found, beyond), lines)


def _part_of(found: Sequence[Item], cards: Sequence[Card | None], section: Section | None, story: list[str]) -> Part:
    names = [source.called(system) for source, system in found]
    sections = [] if section is None else [msgspec.structs.replace(section, blocks=_filled(section.blocks))]
    return Part([card for card in cards if card is not None], sections, list(dict.fromkeys(story)), names)


def _filled(blocks: Sequence[Block]) -> list[Block]:
    """Without charts that have no rows, and without headings that nothing follows."""
    shown = [block for block in blocks if not (isinstance(block, Chart) and not block.rows)]
    return [
        block
        for block, after in zip(shown, [*shown[1:], None], strict=True)
        if not (isinstance(block, Heading) and (after is None or isinstance(after, Heading)))
    ]


KINDS = {  # commands to what they are about
    "dst": "state tracking",
    "robust checkdst": "robustness",
    "robust sgdx": "robustness",
    "nlg": "responses",
    "ground": "grounding",
}


def _scope(runs: Sequence[Source]) -> str:
    """What was looked at, and on how much: where systems or runs differ in that, from the least to the most."""
    sizes: dict[str, list[int]] = {}
    for run in runs:
        if run.command in KINDS:
            what = "responses" if run.command == "ground" else "dialogues"
            found = [count[what] for count in run.counts.values() if what in count]
            if run.command.startswith("robust") and found:
                found = [max(found)]  # a perturbed set may hold fewer than the original
            sizes.setdefault(KINDS[run.command], []).extend(found)
    topics: dict[str, list[str]] = {}
    for topic, found in sizes.items():
        noun = "response" if topic == "grounding" else "dialogue"
        least, most = min(found, default=0), max(found, default=0)
        size = words.count(most, noun)
        topics.setdefault(size if least == most else f"{least:,} to {size}", []).append(topic)
    told = [f"{words.listed(names)} on {size}" for size, names in topics.items()]
    text = words.listed(told) + "."
    return text[0].upper() + text[1:]


def _facts(run: Source) -> RunFacts:
    arguments = {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in run.arguments.items()
        if value not in (None, [], "")
    }
    counts = {name: dict(count) for name, count in run.counts.items()}
    return RunFacts(run.name, f"troth {run.command}", arguments, dict(run.versions), counts)


# -- the file ----------------------------------------------------------------------------------------------------------


def render(page: Page, sources: Sequence[Source]) -> str:
    """The whole page as text: what it shows, and the runs' dialogues."""
    style = "\n".join(_part(name) for name in STYLES)
    script = '"use strict";\n(() => {\n' + "\n".join(_part(name) for name in SCRIPTS) + "\n})();\n"
    data = msgspec.json.encode(page).decode().replace("<", "\\u003c")  # no text can end the block it stands in
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(f"{page.title} – troth"),
        "version": html.escape(page.version),
        "style": style,
        "plain": _plain(page),
        "page": data,
        "dialogues": explorer.pack(named(sources)) or "",
        "script": script,
    }
    # In one pass: what is put in may hold anything, and is not looked at again.
    return re.sub(r"\{\{([a-z]+)\}\}", lambda found: parts[found[1]], _part("page.html"))


def _part(name: str) -> str:
    return files(__name__).joinpath("parts", name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _plain(page: Page) -> str:
    """The cards for readers without a script."""
    lines = [
        f"<li>{html.escape(f'{card.question} {entry.system}: {entry.sentence}')}</li>"
        for card in page.cards
        for entry in card.entries
    ]
    return "<ul>" + "".join(lines) + "</ul>"


def write(text: str, out: str) -> None:
    """The page under its name, whole or not at all. An older page is replaced, nothing else is."""
    place = Path(out)
    try:
        if place.is_dir():
            raise UserError("is a folder", file=out, hint="name a file, such as report.html")
        if place.exists() and not place.is_file():
            raise UserError("is no file", file=out, hint="name a file, such as report.html")  # a pipe never ends
        if place.exists() and not _is_page(place):
            raise UserError("exists and is not a page of troth", file=out, hint="choose another --out")
        if not place.parent.is_dir():
            raise UserError("its folder does not exist", file=out, hint=f"make '{place.parent}' first")
        handle, part = tempfile.mkstemp(prefix=f".{place.name}-", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            Path(part).chmod(0o644)
            os.replace(part, place)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as error:
        hint = "is there room, and the right to?"
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint=hint) from error


def _is_page(place: Path) -> bool:
    with place.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


__all__ = ["MARK", "Source", "build", "render", "systems", "write"]
