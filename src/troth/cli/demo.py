"""`troth demo`: every kind of evaluation on bundled files, a page, and five lines about the results."""

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
    from troth.demo.lines import Results
    from troth.demo.run import Demo, Step


@click.command()
@options.option("--out", "DIR", "Folder for the page and the runs.", type=options.FOLDER, default="troth-demo")
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@options.JSON
def demo(out: str, open_it: bool, json: bool) -> None:
    """Run every kind of evaluation on bundled dialogues, offline, in about a minute, and write a page.

    Two small trackers that come with troth run live. Two response generators and two systems that answer from documents
    are made up, each with typical faults. All scores are computed. An earlier demo in DIR is replaced.
    """
    from troth.demo.run import demo as run

    started = time.monotonic()
    with _progress() as step:
        done = run(out, step=step)
    seconds = time.monotonic() - started
    if json:
        fields = {name: getattr(done, name) for name in ("page", "folder", "found", "left_out", "next")}
        show.json(fields | {"seconds": round(seconds, 1), "scores": dict(_scores(done.results))})
    else:
        _print(done, seconds)
    if open_it:
        click.launch(done.page)


def _scores(results: Results) -> Iterator[tuple[str, object]]:
    yield "tracking", results.tracking.scores
    yield "robustness", [score for one in results.robust for score in one.scores]
    yield "wording", [score for one in results.wording for score in one.scores]
    yield "responses", results.responses.scores
    yield "grounding", [] if results.grounding is None else results.grounding.scores


def _print(done: Demo, seconds: float) -> None:
    """Prints the five lines, folded on a terminal only, and where to look."""
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
    """A bar over the parts on a terminal; elsewhere a line when a part begins."""
    from troth.core.progress import bar
    from troth.demo.run import PARTS

    with bar("demo") as draw:

        def step(part: str) -> None:
            draw(PARTS.index(part), len(PARTS))
            if not sys.stderr.isatty():
                show.note(f"{PARTS.index(part) + 1}/{len(PARTS)} {part}")

        yield step
