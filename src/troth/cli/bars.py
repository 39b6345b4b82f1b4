"""What people see while a command works: bars with the time left on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from troth.cli import show

Progress = Callable[[int, int], None]  # how much is done, and how much there is
Steps = Callable[[str, int, int], None]  # the same of something that has a name


@contextmanager
def steps() -> Iterator[Steps | None]:
    """A bar for whatever is named, and one for the model that it asks; each goes when its work is done."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from troth.core.progress import within

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def step(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(escape(show.printable(name)))
            bars.update(tasks[name], completed=done, total=total, visible=done < total)

        with within(step):
            yield step


@contextmanager
def progress(what: str) -> Iterator[Progress | None]:
    """One bar, and one for the model that is asked."""
    with steps() as step:
        yield None if step is None else lambda done, total: step(what, done, total)
