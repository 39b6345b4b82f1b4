"""Every page of the site as Markdown: those of docs/, some from elsewhere in the project, and the generated ones."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from docs_build import reference

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
OUTSIDE = {  # what lies outside of docs/ and is a page of the site, too
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "src/troth/models/entailment/CARD.md": "model-card.md",
    "src/troth/models/trackers/CARD.md": "trackers-card.md",
}
LEADS = {**OUTSIDE, "README.md": "index.md"}  # where a link to a file outside of docs/ leads
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)")  # to a file, not to an address


def pages() -> dict[str, str]:
    """Path in the site to Markdown."""
    sources = {f"docs/{file.relative_to(DOCS).as_posix()}": file for file in sorted(DOCS.rglob("*.md"))}
    sources |= {path: ROOT / path for path in OUTSIDE}
    found = {page_of(path) or path: _led(path, file.read_text(encoding="utf-8")) for path, file in sources.items()}
    return found | {path: make() for path, make in reference.pages().items()}


def page_of(path: str) -> str | None:
    """The page of the site that a file of the project is; None if it is none."""
    return path.removeprefix("docs/") if path.startswith("docs/") else LEADS.get(path)


def lay_out(folder: Path) -> None:
    """All that the site is built from, into a folder that is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.md"))
    for path, text in pages().items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def _led(path: str, text: str) -> str:
    """Links between files, right where the sources are read, as links between pages."""
    here = posixpath.dirname(page_of(path) or "")

    def link(found: re.Match[str]) -> str:
        page = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1])))
        return found[0] if page is None else f"]({posixpath.relpath(page, here or '.')}"

    return _LINK.sub(link, text)
