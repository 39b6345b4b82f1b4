"""`troth report`: runs as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from troth.cli import options, show
from troth.cli.runs import RUNS


@click.command(no_args_is_help=True)
@RUNS
@click.option(
    "--out",
    metavar="FILE",
    type=options.FILE,
    default="report.html",
    show_default=True,
    help="The page, one HTML file.",
)
@options.option("--figures", "FOLDER", "Also write every chart as SVG and PNG to this new folder.", type=options.FOLDER)
@options.option(
    "--history",
    "FILE",
    "Show the trend of the runs in this file, which `troth gate --history` writes.",
    type=options.FILE,
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@options.JSON
def report(
    paths: tuple[str, ...], out: str, figures: str | None, history: str | None, open_page: bool, json: bool
) -> None:
    """Write runs as one HTML page with charts and all dialogues.

    The page has scores with intervals, charts, and every dialogue turn by turn. RUN... are folders that a command wrote
    with --out. Several runs are shown side by side; the others are compared with the first. The page is a single file
    and needs no network.
    """
    from troth.report import write

    written = write.report(*paths, out=out, figures=figures, history=history)
    size = Path(out).stat().st_size
    show.note(f"written: {out} ({size / 1e6:.1f} MB)")
    if figures is not None:
        show.note(f"written: {figures} ({len(written.figures) // 2} charts, each as SVG and PNG)")
    if json:
        show.json({"page": out, "bytes": size, "figures": written.figures})
    if open_page:
        click.launch(Path(out).resolve().as_uri())
