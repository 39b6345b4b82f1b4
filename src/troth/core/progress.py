"""Progress of long work: bars with the remaining time on a terminal, else one line every half minute; notes.

Whatever takes time opens a bar of its own with `bar`; bars that are open at the same time share one display. No
function takes a callback for it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from troth.core.errors import one_line, truncate

Progress = Callable[[int, int], None]  # how much is done, and how much there is
Display = Callable[[str, int, int], None]  # the same, of something that has a name

LONGEST = 4000  # characters of a note
EVERY = 30.0  # seconds between two lines of progress, where there is no terminal

_DISPLAY: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    """A bar named `what`; it appears with the first step and disappears at the end of the work."""
    with _display() as display:
        yield lambda done, total: display(what, done, total)


@contextmanager
def within(display: Display) -> Iterator[None]:
    """While the caller has a display of its own, all bars are drawn there."""
    before = _DISPLAY.set(display)
    try:
        yield
    finally:
        _DISPLAY.reset(before)


def silence_bars() -> None:
    """From here on, bars are not drawn: those of a worker would be drawn over those of its parent."""
    _DISPLAY.set(lambda *_: None)


@contextmanager
def _display() -> Iterator[Display]:
    active = _DISPLAY.get()
    if active is not None:
        yield active
        return
    if not sys.stderr.isatty():
        lines = _lines(time.monotonic)
        with within(lines):
            yield lines
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(file=sys.stderr)  # this very stream, whatever is put in its place meanwhile
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    drawn = Bars(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True)
    tasks: dict[str, TaskID] = {}

    def step(what: str, done: int, total: int) -> None:
        drawn.start()  # not before the first step: loading a model may draw a bar of its own
        if what not in tasks:
            tasks[what] = drawn.add_task(escape(one_line(what)))
        drawn.update(tasks[what], completed=done, total=total, visible=done < total)

    with within(step):
        try:
            yield step
        finally:
            drawn.stop()


def _lines(clock: Callable[[], float]) -> Display:
    """A display that writes a line every half minute, for logs."""
    last = clock()
    began: dict[str, float] = {}

    def step(what: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        start = began.setdefault(what, last)
        if now - last >= EVERY and 0 < done < total:
            last = now
            minutes = (now - start) * (total - done) / done / 60
            note(f"{what}: {100 * done // total}% done, about {max(1, round(minutes))} min left")

    return step


def note(line: str) -> None:
    """Writes one line to standard error, for messages that are not part of the result."""
    sys.stderr.write(f"troth: {one_line(truncate(line, LONGEST))}\n")
