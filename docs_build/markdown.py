"""Pieces of Markdown for the generated pages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`+[^`]+`+)")


def prose(text: str | None) -> str:
    """A docstring as Markdown: it nearly is; what would be taken for HTML or for a formula is not meant so."""
    lines = inspect.cleandoc(text or "").splitlines()
    changes = ("<", "&lt;"), ("$", "\\$")
    return "\n".join(line if line.startswith("    ") else _outside_code(line, *changes) for line in lines)


def first(text: str | None) -> str:
    """The first line of a docstring."""
    return prose(text).partition("\n")[0]


def code(text: str) -> str:
    """As it is typed; a text with backticks in it takes more of them."""
    marks = "`" if "`" not in text else "``"
    return f"{marks}{text}{marks}"


def block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text}\n```"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


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
