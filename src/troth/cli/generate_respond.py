"""`troth generate respond`: responses by trained generators, one or several."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import options, show
from troth.core.names import counted


@click.command(no_args_is_help=True)
@click.argument("model", metavar="MODEL", type=options.FOLDER)
@click.argument("data", metavar="DATA", type=options.FILE)
@click.option("--with", "more", multiple=True, metavar="MODEL",
              help="A further generator: all their responses compete, and the reranker chooses.")  # fmt: skip
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the responses, for `troth nlg`.")
@click.option("--beams", type=click.IntRange(1, 64), default=4, show_default=True,
              help="Beams of the search, and candidates of each generator.")  # fmt: skip
@click.option("--nbest", "count", type=click.IntRange(min=1), metavar="N",
              help="Responses of each generator to choose from.  [default: one per beam]")  # fmt: skip
@click.option("--rerank", is_flag=True, help="Let the reranker choose also where there is one generator.")
@click.option("--gated", is_flag=True, help="The reranker counts an act only if the response contains its values.")
@click.option("--exact", is_flag=True,
              help="Hold a fine-tuned model beside prefixes of its base whole, not as a difference.")  # fmt: skip
@options.option("--base", "NAME", "Weights that prefixes belong to, if no longer where they were.")
@options.option("--templates", "DIR", "Folder of further templates.", type=options.FOLDER)
@options.number("--limit", 0, "Number of dialogues, drawn by the seed (0 = all).")
@options.number("--seed", 0, "Random seed of what is drawn.")
@options.SCHEMA
@options.NLI
@options.CACHE
@options.FORMAT
@options.JSON
def respond(model: str, data: str, more: tuple[str, ...], out: str, limit: int, json: bool, **settings: Any) -> None:
    """Put the acts of DATA's system turns into words by MODEL, which `troth train response` wrote.

    Every line of the file has the response and the n-best list that it is from.
    """
    from troth.systems.generators.respond import respond as run

    made = run([model, *more], data, out, limit=limit or None, **settings)
    if json:
        show.json(made)
    rate = f", {made.turns / made.seconds:.1f} per second" if made.seconds >= 0.1 else ""
    weights = "" if len(made.systems) == 1 else f"; {len(made.systems)} generators, {made.models} sets of weights"
    show.note(f"{counted(made.turns, 'response')}{rate}{weights}")
    if made.changed is not None:
        show.note(f"{made.changed} changed against the likeliest, {made.faithful} true to all acts")
    for line in (*made.notes, *([made.signature] if made.signature else []), f"written: {out}"):
        show.note(line)
