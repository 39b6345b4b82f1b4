"""`troth report`: runs as one page to look at."""

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
@options.option("--figures", "DIR", "Also write every chart as SVG and PNG to this new folder.", type=options.FOLDER)
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@options.JSON
def report(paths: tuple[str, ...], out: str, figures: str | None, open_it: bool, json: bool) -> None:
    """Write runs as one page: scores with intervals, charts, and every dialogue turn by turn.

    RUN... are folders that a command wrote with --out. Several stand side by side, and the first is what the others are
    compared with. The page is a single file, needs no network, and holds everything it shows.
    """
    from troth.report import write

    written = write.report(*paths, out=out, figures=figures)
    size = Path(out).stat().st_size
    show.note(f"written: {out} ({size / 1e6:.1f} MB)")
    if figures is not None:
        show.note(f"written: {figures} ({len(written.figures) // 2} charts, each as SVG and PNG)")
    if json:
        show.json({"page": out, "bytes": size, "figures": written.figures})
    if open_it:
        click.launch(Path(out).resolve().as_uri())
