"""Output of commands: results on standard output, everything else on standard error; rich on a terminal only."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from troth.core.encoding import encode_json
from troth.core.errors import ImmediateExit, truncate
from troth.core.groups import ALL
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

    grid = RichTable(box=None, header_style="bold", pad_edge=False)
    for index, column in enumerate(table.columns):
        grid.add_column(escape(printable(one_line(column))), justify="left" if index < table.labels else "right")
    for r, row in enumerate(table.rows):
        cells = [escape(printable(one_line(cell))) for cell in row]
        styles = dict.fromkeys(table.worst, "[underline]{}[/]") | dict.fromkeys(table.best, "[bold]{}[/]")
        grid.add_row(*(styles.get((r, i), "{}").format(cell) for i, cell in enumerate(cells)))
    Console().print(grid)


def tables(layout: Iterable[Table]) -> None:
    for index, part in enumerate(layout):
        if index:
            text("")
        table(part)


def json(value: Any) -> None:
    """Prints one JSON value. Numbers that do not exist are None with a reason, so there is no NaN."""
    sys.stdout.buffer.write(msgspec.json.format(encode_json(value), indent=1) + b"\n")


def text(line: str) -> None:
    sys.stdout.write(printable(line) + "\n")


def note(line: str) -> None:
    """Prints a note that is not part of the result."""
    sys.stderr.write(printable(truncate(line, LONGEST)) + "\n")


@contextmanager
def resumable() -> Iterator[None]:
    """Prints the command to resume with when the work is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, ImmediateExit):
        note(f"interrupted; resume with: troth {shlex.join(sys.argv[1:])}")
        raise


def printable(line: str) -> str:
    """Text with control characters escaped: text from dialogues may contain terminal escapes."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in line)


def result(result: Result, *, json_form: bool, out: str | None = None, layout: Iterable[Table] | None = None) -> None:
    """Prints the scores of a run as tables or JSON on standard output, and its notes on standard error.

    `layout`: tables to show in place of the default ones.
    """
    if json_form:
        json(result.scores)
    else:
        tables(result.tables(bold=sys.stdout.isatty()) if layout is None else layout)
    if out is not None:
        note(describe_files(out))
    missing: dict[tuple[str, str], dict[str, None]] = {}  # metrics without a value or an interval, by the reason
    for score in (score for score in result.scores if score.group == ALL and score.low is None):
        start, reason = ("not scored: ", score.reason) if score.reason else ("", score.interval_note)
        if reason:
            missing.setdefault((start, reason), {})[score.metric] = None
    for (start, reason), metrics in missing.items():
        note(f"{start}{', '.join(metrics)}: {reason}")
    for line in result.notes:
        note(str(line))
