"""`troth merge`: runs of shards as one run."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import options, show


@options.command("troth.report.merge:MergeSettings")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
@options.JSON
def merge(runs: tuple[str, ...], json: bool, **settings: Any) -> None:
    """Merge the runs of shards into one run.

    The runs have the same systems and rules, and different dialogues. The scores equal those of one run over all
    dialogues. A dialogue in two shards, another recipe or another schema is an error.
    """
    from troth.report.merge import merge as run

    show.result(run(*runs, **settings), json_form=json, out=settings["out"])
