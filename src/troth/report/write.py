"""`troth.report(…)`: writes runs as one HTML page, and its charts as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from troth.core.names import path_of
from troth.core.progress import note
from troth.report import charts
from troth.report.page import build
from troth.report.page import figures as drawing
from troth.report.page.explorer import pack
from troth.report.page.names import open_runs
from troth.report.page.render import MARK, render
from troth.report.page.trajectories import pack_trials
from troth.report.sources import Run, ScoredSystem, Source
from troth.storage import files
from troth.storage.history import read_history


class WrittenReport(NamedTuple):
    """The files that a report consists of."""

    page: str
    figures: list[str]


def report(
    *runs: Run,
    out: str | os.PathLike[str] = "report.html",
    figures: str | os.PathLike[str] | None = None,
    history: str | os.PathLike[str] | None = None,
    about: str = "",
) -> WrittenReport:
    """Writes runs as one HTML page: scores with intervals, charts, and every dialogue or trajectory turn by turn.

    A run is a `Result`, or the folder that one was saved to. Several stand side by side, and the first is what the
    others are compared with. The page is a single file that needs no network. An older page under the name `out` is
    replaced, any other file is not. `figures`: a new folder for every chart as SVG and PNG (needs `troth[charts]`).
    `history`: a file of `troth gate --history` or `troth.record_run`, shown as a trend. `about`: the beginning of the
    summary, for example what the systems are.

    >>> import troth, tempfile
    >>> from troth import demo
    >>> result = troth.dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"))
    >>> written = troth.report(result, out=tempfile.mkdtemp() + "/report.html")
    >>> written.page.endswith("/report.html"), written.figures
    (True, [])
    """
    if figures is not None:
        charts.altair()
        files.check_new(path_of(figures), "folder")
    page, recorded = path_of(out), [] if history is None else read_history(history)
    with files.replaced_file(page, _foreign_content) as file:
        sources = open_runs(runs)
        _note_gold(sources)
        dialogues, trials = pack(sources), pack_trials(sources)
        content = build(sources, recorded, about)
        file.write(render(content, dialogues.block(content.systems), trials.block(content.systems)).encode())
    if figures is None:
        return WrittenReport(page, [])
    with files.new_folder(path_of(figures)) as folder:
        drawing.write(content, folder)
    return WrittenReport(page, sorted(str(file) for file in Path(path_of(figures)).iterdir()))


def _note_gold(sources: Sequence[Source]) -> None:
    first: dict[str, ScoredSystem] = {}
    for system in (system for source in sources for system in source.systems):
        base = first.setdefault(system.source.result.task, system)
        if system.differs(base):
            note(f"'{base.name}' and '{system.name}' are scored against different gold for the same dialogues")


def _foreign_content(path: Path) -> str | None:
    """Returns why a path must not be overwritten. Only the first line of a file is read, and nothing of a pipe."""
    if not path.is_file():
        return "is a folder" if path.is_dir() else "is not a file"
    with path.open("rb") as file:
        return None if file.read(len(MARK)) == MARK.encode() else "exists and is not a page of troth"
