"""`troth merge`: shards that were scored apart, joined."""

from __future__ import annotations

import click

from troth.cli import options, show


@click.command(no_args_is_help=True)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
@options.resamples(1000, 1)
@options.SEED
@options.OUT
@options.JSON
def merge(runs: tuple[str, ...], resamples: int, seed: int, out: str | None, json: bool) -> None:
    """Join the runs of shards into the run of the whole: the same systems and rules, other dialogues.

    The scores are those of one run over everything.
    A dialogue in two shards, another recipe or another schema is an error.
    """
    from troth.report.merge import merge as run

    show.result(run(*runs, resamples=resamples, seed=seed, out=out), json_form=json, out=out)
