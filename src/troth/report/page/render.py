"""The page as one HTML file that opens from disk, asks no network for anything, and holds all it shows.

A template with one style sheet, one script and three blocks of data: the sections' content, as JSON, and dialogues
and trajectories, packed (`explorer`, `trajectories`). Its content policy allows exactly that script and that style by
their hashes, and nothing else; the script puts text into the page as text only.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib.resources import files

import msgspec

from troth.report.page.model import Page

STYLES = ("page.css", "panels.css", "explorer.css", "turns.css", "trials.css", "media.css")
SCRIPTS = (
    "dom.js", "scales.js", "lines.js", "rows.js", "charts.js", "panels.js", "contests.js", "blocks.js", "dialogues.js",
    "turns.js", "everyone.js", "filters.js", "stage.js", "explorer.js", "trajectories.js", "trialfilters.js",
    "calls.js", "trials.js", "sidebyside.js", "trialstage.js", "main.js",
)  # fmt: skip
MARK = "<!doctype html>\n<!-- a page of troth -->"  # how every page begins


def render(page: Page, dialogues: str, trajectories: str = "") -> str:
    """The whole page as text: its content, and the runs' dialogues and trajectories from their packs."""
    style = "\n".join(part(name) for name in STYLES)
    script = '"use strict";\n(() => {\n' + "\n".join(part(name) for name in SCRIPTS) + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    cards = [f"{card.question} {entry.system}: {entry.sentence}" for card in page.cards for entry in card.entries]
    without_script = "".join(f"<li>{html.escape(text)}</li>" for text in (*page.lead, *cards))
    values = {
        "policy": html.escape(policy),
        "title": html.escape(f"{page.title} – troth"),
        "version": html.escape(page.version),
        "style": style,
        "plain": f"<ul>{without_script}</ul>",
        "page": msgspec.json.encode(page).decode().replace("<", "\\u003c"),  # no text can end the block it stands in
        "dialogues": dialogues,
        "trajectories": trajectories,
        "script": script,
    }
    # In one pass: inserted text may contain anything, also placeholders, and is not searched again.
    return re.sub(r"\{\{([a-z]+)\}\}", lambda match: values[match[1]], part("page.html"))


def part(name: str) -> str:
    """A file of the template."""
    return files("troth.report.page").joinpath("parts", name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
