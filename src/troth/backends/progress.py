"""What backends tell people while they work: a bar on a terminal, nothing elsewhere; notes on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from troth.backends.batches import Progress


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(file=sys.stderr)  # this very stream, whatever is put in its place meanwhile
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    drawn = Bar(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True)
    task = drawn.add_task(escape(what), total=None)

    def progress(done: int, total: int) -> None:
        drawn.start()  # not before: a terminal has room for one bar, and loading the model may draw its own
        drawn.update(task, completed=done, total=total)

    try:
        yield progress
    finally:
        drawn.stop()


def note(line: str) -> None:
    """One line, whatever stands in it."""
    sys.stderr.write("troth: " + "".join(c if c.isprintable() else " " for c in line) + "\n")
