"""What commands print: results to standard output, everything else to standard error; rich on a terminal only."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from troth.core.encoding import encode_json
from troth.core.errors import EndNow, cut
from troth.core.progress import LONGEST
from troth.core.result import Result
from troth.core.table import Table, one_line
from troth.storage.runs import describe_files


def table(table: Table) -> None:
    if not sys.stdout.isatty():
        text(table.plain())
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    drawn = RichTable(box=None, header_style="bold", pad_edge=False)
    for index, column in enumerate(table.columns):
        drawn.add_column(escape(printable(one_line(column))), justify="left" if index < table.labels else "right")
    for r, row in enumerate(table.rows):
        cells = [escape(printable(one_line(cell))) for cell in row]
        styles = dict.fromkeys(table.worst, "[underline]{}[/]") | dict.fromkeys(table.best, "[bold]{}[/]")
        drawn.add_row(*(styles.get((r, i), "{}").format(cell) for i, cell in enumerate(cells)))
    Console().print(drawn)


def tables(made: Iterable[Table]) -> None:
    for index, one in enumerate(made):
        if index:
            text("")
        table(one)


def json(value: Any) -> None:
    """One JSON value; NaN cannot come here, since numbers that do not exist are None with a reason."""
    sys.stdout.buffer.write(msgspec.json.format(encode_json(value), indent=1) + b"\n")


def text(line: str) -> None:
    sys.stdout.write(printable(line) + "\n")


def note(line: str) -> None:
    """Something the user should know that is not the result."""
    sys.stderr.write(printable(cut(line, LONGEST)) + "\n")


@contextmanager
def resumable() -> Iterator[None]:
    """Around work that the same command goes on with: an interrupt says which command that is."""
    try:
        yield
    except (KeyboardInterrupt, EndNow):
        note(f"stopped; this goes on: troth {shlex.join(sys.argv[1:])}")
        raise


def printable(line: str) -> str:
    """Text from dialogues may hold terminal escapes; they are shown, not obeyed."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in line)


def result(result: Result, *, json_form: bool, out: str | None = None, layout: Iterable[Table] | None = None) -> None:
    """The scores of a run as tables or JSON on standard output, and what a reader should know on standard error.

    `layout`: tables to show in place of the usual ones.
    """
    if json_form:
        json(result.scores)
    else:
        tables(result.tables(bold=sys.stdout.isatty()) if layout is None else layout)
    if out is not None:
        note(describe_files(out))
    reasons = dict.fromkeys(score.reason for score in result.scores if score.reason and score.group == "all")
    for reason in reasons:
        names = dict.fromkeys(score.metric for score in result.scores if score.reason == reason)
        note(f"not scored: {', '.join(names)}: {reason}")
    for line in result.notes:
        note(str(line))
