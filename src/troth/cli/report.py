"""`troth report`: runs as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from troth.cli import options, show
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.report.page.model import Page, Source


@click.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="RUN...")
@click.option("--out", metavar="FILE", default="report.html", show_default=True, help="The page, one HTML file.")
@click.option("--figures", metavar="DIR", help="Also every chart as SVG and PNG, into this new folder.")
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@options.JSON
def report(paths: tuple[str, ...], out: str, figures: str | None, open_it: bool, json: bool) -> None:
    """Runs as one page: figures with intervals, charts, and every dialogue turn by turn.

    RUN... are folders that a command wrote with --out. Several stand side by side, the first is what the others are
    held against. The page is a single file, needs no network, and holds everything it shows.
    """
    from troth.report import page

    if figures is not None:
        _ready(figures)
    sources = [source(path) for path in paths]
    made = page.build(sources)
    page.write(page.render(made, sources), out)
    size = Path(out).stat().st_size
    show.note(f"written: {out} ({size / 1e6:.1f} MB)")
    drawn = [] if figures is None else _draw(made, figures)
    if json:
        show.json({"page": out, "bytes": size, "figures": drawn})
    if open_it:
        click.launch(Path(out).resolve().as_uri())


def _ready(figures: str) -> None:
    """Told before anything is computed."""
    from troth.report import charts

    charts.altair()
    place = Path(figures)
    if place.exists():
        raise UserError("exists already", file=figures, hint="name a new folder")
    if not place.parent.is_dir():  # as with the page
        raise UserError("its folder does not exist", file=figures, hint=f"make '{place.parent}' first")


def _draw(made: Page, figures: str) -> list[str]:
    """The charts' files."""
    from troth.report.page import figures as drawing
    from troth.storage.runs import new_folder

    with new_folder(figures) as folder:
        count = drawing.write(made, folder)
    show.note(f"written: {figures} ({count} charts, each as SVG and PNG)")
    return sorted(str(file) for file in Path(figures).iterdir())


def source(path: str) -> Source:
    """A run as the page takes it."""
    from troth.report.page.model import Source
    from troth.storage import explorer
    from troth.storage import runs as store

    run = store.load(path)
    folder = Path(path)
    if not folder.is_dir():
        raise UserError("is not a run's folder", file=path, hint="name the folder that --out made")
    file = folder / explorer.NAME
    return Source(
        path, "", run.command, run.arguments, run.versions, run.counts, run.scores, run.details, store.rows(path),
        explorer.read(file) if file.is_file() else None,
    )  # fmt: skip
