"""`troth track`."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import options, show
from troth.core.names import counted


@click.command(no_args_is_help=True)
@click.argument("model", metavar="MODEL", type=options.FOLDER)
@click.argument("data", metavar="DATA", type=options.FILE)
@click.option("--out", metavar="FOLDER", required=True, type=options.FOLDER,
              help="Folder for the test sets and the predictions; one of an earlier run is gone on with.")  # fmt: skip
@options.option("--sets", "NAMES", "Test sets: orig, NED, SDI, PI, v1..v5, families, NAME=PATH.", default="orig")
@options.option("--schemas", "FROM", "Where wordings v1, v2, … come from: a folder as SGD-X has it, backtranslate, "
                "corrupt, or a file of paraphrases.")  # fmt: skip
@options.number("--limit", 0, "Number of dialogues that are tracked, drawn by the seed (0 = all).")
@options.number("--seed", 0, "Random seed of the perturbations and of what is drawn.")
@options.SCHEMA
@options.FORMAT
@options.MODEL_WORKERS
@options.JSON
@show.resumable()
def track(model: str, data: str, out: str, limit: int, json: bool, **settings: Any) -> None:
    """Run a tracker over dialogues, perturbed twins of them, and other wordings of their schema.

    MODEL is a folder that `troth train tracker` wrote, a tracker that comes along (`troth ls trackers`), or
    RECIPE:MODEL for recipes that need no training, such as prompted:http://HOST/v1#MODEL.
    """
    from troth.systems.track import commands
    from troth.systems.track import track as run

    done = run(model, data, out, limit=limit or None, **settings)
    if json:
        show.json(done)
    for one in done:
        rate = f", {one.turns / one.seconds:.1f} turns per second" if one.seconds >= 0.1 else ""
        size = f"{counted(one.dialogues, 'dialogue')}, {counted(one.turns, 'user turn')}"
        show.note(f"{one.name}: {size}{rate}; written: {one.predictions}")
    for line in commands(done):
        show.note(f"score it: {line}")
