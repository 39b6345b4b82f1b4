"""`troth generate`: responses by templates, and the truest of several."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import generate_ground, options, show
from troth.cli.bars import progress

SHOWN = 10  # lacking templates that are named
AUGMENTS = click.Choice(["never", "retry"])


@click.group(no_args_is_help=True)
def generate() -> None:
    """Make responses, or choose the truest of several."""


generate.add_command(generate_ground.ground)
generate.add_command(generate_ground.sweep)


@generate.command(no_args_is_help=True)
@options.GOLD
@click.argument("nbest", metavar="NBEST")
@click.option("--out", metavar="FILE", required=True, help="A new file: the chosen responses as JSONL, with reasons.")
@click.option("--gated", is_flag=True, help="An act counts only if its values stand in the response, too.")
@click.option(
    "--augment",
    type=AUGMENTS,
    default="never",
    show_default=True,
    help="retry: ask again in context where the response alone fails; the paper's reranker does not.",
)
@options.SCHEMA
@options.NLI
@options.CACHE
@options.FORMAT
@options.JSON
def rerank(
    gold: str,
    nbest: str,
    out: str,
    gated: bool,
    augment: Any,
    schema: str | None,
    nli: str,
    cache: str | None,
    format: str | None,
    json: bool,
) -> None:
    """Of each n-best list the response that is true to most of its acts; of equal ones the likeliest.

    GOLD has the system's turns with their acts, and its schema beside it; its utterances are not looked at. NBEST is
    JSONL: dialogue, turn, and candidates, each a text or {"text": …, "score": …}.
    """
    from troth import models as backends
    from troth.responses.nbest import rerank_file
    from troth.storage import files

    files.check_new(out)
    model = backends.nli(nli, cache=cache)
    with progress("reranking") as step:
        made = rerank_file(
            gold, nbest, out, model, gated=gated, augment=augment, schema=schema, format=format, progress=step
        )  # fmt: skip
    if json:
        show.json(made)
    show.note(f"{made.turns} turns: {made.changed} changed against the likeliest, {made.faithful} true to all acts")
    if made.without_acts:
        show.note(f"{made.without_acts} turns have no act to judge by: the likeliest was taken")
    for line in made.notes:
        show.note(line)
    if model.cut:
        show.note(f"{model.cut} pairs were longer than the model reads, and were cut")
    show.note(made.signature)
    show.note(f"written: {out}")


@generate.command(no_args_is_help=True)
@options.GOLD
@click.option("--templates", "folder", metavar="DIR", required=True, help="A .tsv file of templates for each service.")
@click.option("--out", metavar="FILE", required=True, help="A new file: responses as JSONL, for `troth nlg`.")
@options.FORMAT
@options.JSON
def templates(gold: str, folder: str, out: str, format: str | None, json: bool) -> None:
    """A response for every system turn of GOLD, its acts put into words by templates."""
    from troth.meta.templates import respond

    made = respond(gold, folder, out, format=format)
    if json:
        show.json(made)
    show.note(f"{made.responses} responses to {made.acts} acts")
    if made.lacking:
        lost = sum(one.acts for one in made.lacking)
        show.note(
            f"{lost} acts have no template: {made.partial} responses leave something out, {made.silent} turns have none"
        )
        for one in made.lacking[:SHOWN]:
            hint = f" ({one.hint})" if one.hint else ""
            show.note(f"  {one.acts} × {one.service}: {one.key}{hint}")
        if len(made.lacking) > SHOWN:
            show.note(f"  … and {len(made.lacking) - SHOWN} more; --json lists them")
    if made.without_acts:
        show.note(f"{made.without_acts} system turns have no acts, and no response")
    show.note(f"written: {out}")
