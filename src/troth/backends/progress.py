"""What backends tell people while they work: a bar on a terminal, nothing elsewhere; notes on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from troth.backends.batches import Progress

Display = Callable[[str, int, int], None]  # what is being done, how much of it is, and how much there is

_DISPLAY: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def within(display: Display) -> Iterator[None]:
    """While the caller has a display of its own on the terminal, which has room for one, bars go there."""
    before = _DISPLAY.set(display)
    try:
        yield
    finally:
        _DISPLAY.reset(before)


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    display = _DISPLAY.get()
    if display is not None:
        yield lambda done, total: display(what, done, total)
        return
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
