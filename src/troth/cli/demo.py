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
@options.option("--out", "FOLDER", "Folder for the page and the runs.", type=options.FOLDER, default="troth-demo")
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@options.JSON
def demo(out: str, open_page: bool, json: bool) -> None:
    """Run every kind of evaluation on bundled dialogues, offline.

    It takes about a minute and writes a page. Two small bundled trackers run live. Two response generators and two
    systems that answer from documents are made up, each with typical faults. All scores are computed. An earlier demo
    in the folder is replaced.
    """
    from troth.demo.run import demo as run

    started = time.monotonic()
    with _progress() as step:
        finished = run(out, step=step)
    seconds = time.monotonic() - started
    if json:
        fields = {name: getattr(finished, name) for name in ("page", "folder", "found", "left_out", "next")}
        show.json(fields | {"seconds": round(seconds, 1), "scores": dict(_scores(finished.results))})
    else:
        _print(finished, seconds)
    if open_page:
        click.launch(finished.page)


def _scores(results: Results) -> Iterator[tuple[str, object]]:
    yield "tracking", results.tracking.scores
    yield "robustness", [score for result in results.robust for score in result.scores]
    yield "wording", [score for result in results.wording for score in result.scores]
    yield "responses", results.responses.scores
    yield "grounding", [] if results.grounding is None else results.grounding.scores


def _print(finished: Demo, seconds: float) -> None:
    """Prints the five lines, wrapped on a terminal only, and where the results are."""
    width = 100 if sys.stdout.isatty() else None
    for line in finished.found:
        show.text(line if width is None else textwrap.fill(line, width, subsequent_indent="  "))
    for line in finished.left_out:
        show.note(line)
    show.note(f"{seconds:.0f} s; the runs are in {finished.folder}, for troth table, compare and report")
    show.note(f"try {finished.next}\nor, on your own files, troth dst GOLD PRED")
    show.text(finished.page)


@contextmanager
def _progress() -> Iterator[Step]:
    """Shows a progress bar on a terminal, and elsewhere a line when a part starts."""
    from troth.core.progress import bar
    from troth.demo.run import PARTS

    with bar("demo") as draw:

        def step(part: str) -> None:
            draw(PARTS.index(part), len(PARTS))
            if not sys.stderr.isatty():
                show.note(f"{PARTS.index(part) + 1}/{len(PARTS)} {part}")

        yield step
