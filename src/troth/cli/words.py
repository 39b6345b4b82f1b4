"""Prints responses word by word: supported words in green, others in red; with marks where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from troth.cli import show

if TYPE_CHECKING:
    from troth.grounding.words import Word, WordByWord

STYLES = {"supported": "green", "unsupported": "bold red", "free": "dim"}
MARKS = {"supported": "+{}+", "unsupported": "-{}-", "free": "{}"}
LEGEND = "supported by the document: +word+ (green); not supported: -word- (red); neither: word"


def draw(rows: Sequence[WordByWord]) -> None:
    """Prints responses in colours on a terminal, with marks elsewhere. Control characters in their text are escaped."""
    several = len({row.system for row in rows}) > 1
    if not sys.stdout.isatty():
        for row in rows:
            show.text(f"\n{format_head(row, several)}\n  {mark_words(row.words)}")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for row in rows:
        line = Text("  ")
        for number, word in enumerate(row.words):
            line.append(" " if number else "")
            line.append(show.printable(word.text), style=STYLES[word.support])
        console.print(Text(f"\n{format_head(row, several)}", style="bold"))
        console.print(line)


def format_head(row: WordByWord, several: bool) -> str:
    value = "–" if row.value is None else f"{row.value:.3f}"
    name = f"{row.system} {row.id}" if several else row.id
    return show.printable(f"{' '.join(name.split())}: {row.by} {value}")


def mark_words(words: Sequence[Word]) -> str:
    return " ".join(MARKS[word.support].format(show.printable(word.text)) for word in words)
