"""`troth generate respond`: responses by trained generators, one or several."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import options, show
from troth.core.names import format_count


@options.command("troth.systems.generators.respond:RespondSettings")
@click.argument("model", metavar="MODEL", type=options.FOLDER)
@click.argument("data", metavar="DATA", type=options.FILE)
@click.option("--with", "more", multiple=True, metavar="MODEL",
              help="A further generator; the reranker chooses among the responses of all.")  # fmt: skip
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the responses, for `troth nlg`.")
@options.JSON
def respond(model: str, data: str, more: tuple[str, ...], out: str, json: bool, **settings: Any) -> None:
    """Generate responses to acts with trained generators.

    `troth train response` wrote MODEL. Every line of the file has the response and its n-best list.
    """
    from troth.systems.generators.respond import respond as run

    summary = run([model, *more], data, out, **settings)
    if json:
        show.json(summary)
    rate = f", {summary.turns / summary.seconds:.1f} per second" if summary.seconds >= 0.1 else ""
    weights = (
        "" if len(summary.systems) == 1 else f"; {len(summary.systems)} generators, {summary.models} sets of weights"
    )
    show.note(f"{format_count(summary.turns, 'response')}{rate}{weights}")
    if summary.changed is not None:
        show.note(f"{summary.changed} changed against the likeliest, {summary.faithful} true to all acts")
    for line in (*summary.notes, *([summary.signature] if summary.signature else []), f"written: {out}"):
        show.note(line)
