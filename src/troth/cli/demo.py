"""`troth demo`: the four questions on bundled files, a page, and what was found in five lines."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from troth.cli import options, show

if TYPE_CHECKING:
    from troth.demo.run import Demo, Step


@click.command()
@click.option("--out", metavar="DIR", default="troth-demo", show_default=True, help="Where page and runs go.")
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@options.JSON
def demo(out: str, open_it: bool, json: bool) -> None:
    """State tracking, robustness, responses and grounding on bundled dialogues, offline, in a minute; and a page.

    The systems are made up, the figures are not: two trackers, two response generators and two that answer from
    documents, each with the faults of its kind. DIR may be that of an earlier demo, which it replaces.
    """
    from troth.demo.run import demo as run

    started = time.monotonic()
    with _progress() as step:
        done = run(out, step=step)
    seconds = time.monotonic() - started
    if json:
        show.json(
            {
                "page": done.page,
                "folder": done.folder,
                "found": done.found,
                "left_out": done.left_out,
                "next": done.next,
                "seconds": round(seconds, 1),
                "scores": dict(_scores(done)),
            }
        )
    else:
        _print(done, seconds)
    if open_it:
        click.launch(done.page)


def _scores(done: Demo) -> Iterator[tuple[str, object]]:
    found = done.results
    yield "tracking", found.tracking.scores
    yield "robustness", [score for one in found.robust.values() for score in one.scores]
    yield "wording", [score for one in found.wording.values() for score in one.scores]
    yield "responses", found.responses.scores
    yield "grounding", [] if found.grounding is None else found.grounding.scores


def _print(done: Demo, seconds: float) -> None:
    """The lines, whole where a program reads them, folded on a terminal; then where to look."""
    wide = 100 if sys.stdout.isatty() else None
    for line in done.found:
        show.text(line if wide is None else textwrap.fill(line, wide, subsequent_indent="  "))
    for line in done.left_out:
        show.note(line)
    show.note(f"{seconds:.0f} s; the runs are in {done.folder}, for troth table, compare and report")
    show.note(f"try {done.next}\nor, on your own files, troth dst GOLD PRED")
    show.text(done.page)


@contextmanager
def _progress() -> Iterator[Step]:
    """A bar for each part on a terminal; elsewhere a line when one begins."""
    from troth.demo.run import PARTS

    if not sys.stderr.isatty():
        begun: set[str] = set()

        def tell(part: str, done: int, total: int) -> None:  # noqa: ARG001
            if part not in begun:
                begun.add(part)
                show.note(f"{len(begun)}/{len(PARTS)} {part}")

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {part: bar.add_task(part, start=False, total=1) for part in PARTS}

        def draw(part: str, done: int, total: int) -> None:
            bar.start_task(tasks[part])
            bar.update(tasks[part], completed=done, total=total)

        yield draw
