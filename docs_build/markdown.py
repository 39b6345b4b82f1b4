"""Pieces of Markdown for the generated pages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`+[^`]+`+)")
_EXAMPLE = re.compile(r"^( *)>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


def prose(text: str | None) -> str:
    """A docstring as Markdown: examples as blocks of code; characters of HTML and of formulas as they are."""
    clean = inspect.cleandoc(text or "")
    pieces, at = [], 0
    for example in _EXAMPLE.finditer(clean):
        pieces += [_escaped(clean[at : example.start()]), block(inspect.cleandoc(example[0]), "pycon")]
        at = example.end()
    return "".join([*pieces, _escaped(clean[at:])])


def _escaped(text: str) -> str:
    changes = ("<", "&lt;"), ("$", "\\$")
    return "\n".join(line if line.startswith("    ") else _outside_code(line, *changes) for line in text.split("\n"))


def code(text: str) -> str:
    """Text as code; if it has backticks in it, between two of them."""
    marks = "`" if "`" not in text else "``"
    return f"{marks}{text}{marks}"


def block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns that are empty in every row are left out."""
    lines = [list(row) for row in rows]
    kept = [at for at in range(len(heads)) if not lines or any(row[at] for row in lines)]
    shown = [[line[at] for at in kept] for line in [list(heads), ["---"] * len(heads), *lines]]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in shown)


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def _cell(text: str) -> str:
    return _outside_code(" ".join(text.split()), ("|", "\\|"))


def _outside_code(text: str, *changes: tuple[str, str]) -> str:
    pieces = _CODE.split(text)
    for at in range(0, len(pieces), 2):  # the odd ones are code
        for old, new in changes:
            pieces[at] = pieces[at].replace(old, new)
    return "".join(pieces)
