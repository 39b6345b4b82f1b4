"""`troth track`."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import options, show
from troth.core.names import format_count


@options.command("troth.systems.track:TrackSettings")
@click.argument("model", metavar="MODEL", type=options.FOLDER)
@click.argument("data", metavar="DATA", type=options.FILE)
@click.option("--out", metavar="FOLDER", required=True, type=options.FOLDER,
              help="Folder for the test sets and the predictions; an existing run is resumed.")  # fmt: skip
@options.JSON
@show.resumable()
def track(model: str, data: str, out: str, json: bool, **settings: Any) -> None:
    """Run a tracker over dialogues and perturbed versions of them.

    MODEL is a folder that `troth train tracker` wrote, a bundled tracker (`troth ls trackers`), or RECIPE:MODEL for
    recipes that need no training, such as prompted:http://HOST/v1#MODEL. The test sets can also have other wordings of
    the schema.
    """
    from troth.systems.track import commands
    from troth.systems.track import track as run

    sets = run(model, data, out, **settings)
    if json:
        show.json(sets)
    for tracked in sets:
        rate = f", {tracked.turns / tracked.seconds:.1f} turns per second" if tracked.seconds >= 0.1 else ""
        size = f"{format_count(tracked.dialogues, 'dialogue')}, {format_count(tracked.turns, 'user turn')}"
        show.note(f"{tracked.name}: {size}{rate}; written: {tracked.predictions}")
    for line in commands(sets):
        show.note(f"score it: {line}")
