"""The layout of documents and answers, so that sentences are judged by what they say: tables and marks.

A row of a Markdown table says nothing without its header, so it becomes a sentence: `Model: Volt S; Range: 320 km.`
Citations, the numbers and bullets of lists, and bold type are no part of what an answer claims. They become white
space, so that all other characters keep their position.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from troth.core.text_cache import text_cache
from troth.text.normalize import compose

CITATION = re.compile(r"\[\^?\d{1,3}(?:[ ]?[,;–-][ ]?\d{1,3}){0,9}\]|【[^】\n]{1,40}】")
LIST_NUMBER = re.compile(r"\s*\(?\d{1,2}[.)]")
_MARK = re.compile(
    rf"(?P<item>^[ \t]*(?:\(?\d{{1,2}}[.)]|[-*•])(?=[ \t]+[^\d\s]))|{CITATION.pattern}|\*\*", re.MULTILINE
)
_DASHES = re.compile(r":?-+:?")


@text_cache
def plain_document(text: str) -> str:
    """A document in composed characters, with the rows of its tables as sentences.

    >>> plain_document("| Model | Range |\\n|---|---|\\n| Volt S | 320 km |")
    'Model: Volt S; Range: 320 km.\\n'
    """
    lines = compose(text).split("\n")
    if not any("|" in line for line in lines):
        return compose(text)
    spelt: list[str] = []
    header: list[str] = []
    for line, rule, row in zip(lines, [*lines[1:], ""], [*lines[2:], "", ""], strict=False):
        if not header and "|" in line and "|" in rule and _is_rule(rule) and "|" in row:
            header = _cells(line)
        elif not header or "|" not in line:
            header = []
            spelt.append(line)
        elif not _is_rule(line):
            named = [f"{name}: {cell}" if name else cell for name, cell in _pairs(header, _cells(line))]
            spelt += [f"{'; '.join(named)}.", ""]  # the end of a paragraph: a row is a sentence of its own
    return "\n".join(spelt)


@text_cache
def plain_response(text: str) -> str:
    """A response in composed characters, with white space in place of marks that are no part of its claims.

    >>> plain_response("1. The **red** one [2].")
    '\\n  The   red   one    .'
    """
    return _MARK.sub(_blank, compose(text))


def _blank(mark: re.Match[str]) -> str:
    """Spaces; an item of a list begins with a line break, so that it stays a sentence of its own."""
    spaces = " " * len(mark[0])
    return f"\n{spaces[1:]}" if mark["item"] else spaces


def _is_rule(line: str) -> bool:
    """Whether a line only separates a table's header from its rows; decided cell by cell, in linear time."""
    return all(_DASHES.fullmatch(cell) for cell in _cells(line))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _pairs(header: list[str], cells: list[str]) -> list[tuple[str, str]]:
    return [(name, cell) for name, cell in zip_longest(header, cells, fillvalue="") if cell]
