"""`troth generate`: responses by templates and by trained generators, and the most faithful of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from troth.cli import generate_ground, generate_respond, options, show
from troth.core.names import counted

F = TypeVar("F", bound=Callable[..., Any])

SHOWN = 10  # lacking templates that are named
TEMPLATES = click.option(
    "--templates", "folder", metavar="DIR", required=True, type=options.FOLDER,
    help="Folder with a .tsv file of templates for each service.",
)  # fmt: skip


def augment(help: str) -> Callable[[F], F]:
    """`--augment never|retry`."""
    choice = click.Choice(["never", "retry"])
    return click.option("--augment", type=choice, default="never", show_default=True, help=help)


@click.group(no_args_is_help=True)
def generate() -> None:
    """Generate responses, or choose the most faithful of several."""


generate.add_command(generate_ground.ground)
generate.add_command(generate_ground.sweep)
generate.add_command(generate_respond.respond)


@generate.command(no_args_is_help=True)
@options.GOLD
@click.argument("nbest", metavar="NBEST...", nargs=-1, required=True, type=options.FILE)
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the chosen responses and the reasons.")
@click.option("--gated", is_flag=True, help="Count an act only if the response also contains its values.")
@augment("With retry, an act that the response alone does not entail is tried again in context; the paper does not.")
@options.SCHEMA
@options.NLI
@options.CACHE
@options.FORMAT
@options.JSON
def rerank(
    gold: str, nbest: tuple[str, ...], out: str, nli: str, cache: str | None, json: bool, **settings: Any
) -> None:
    """Choose from each n-best list the response that conveys most of its acts; on a tie, the likeliest.

    GOLD has the system's turns with their acts, and its schema beside it; its utterances are not used. NBEST is JSONL:
    dialogue, turn, and candidates, each a text or {"text": …, "score": …}. Of several files, one for each system, the
    lists for a turn become one.
    """
    from troth import models
    from troth.responses.nbest import rerank_file
    from troth.storage.files import check_new

    check_new(out)
    summary = rerank_file(gold, nbest, out, models.nli(nli, cache=cache), **settings)
    if json:
        show.json(summary)
    show.note(
        f"{counted(summary.turns, 'turn')}: {summary.changed} changed against the likeliest, "
        f"{summary.faithful} true to all acts"
    )
    if summary.without_acts:
        show.note(f"no act to judge by, so that the likeliest was taken: {counted(summary.without_acts, 'turn')}")
    for line in (*summary.notes, summary.signature, f"written: {out}"):
        show.note(line)


@generate.command(no_args_is_help=True)
@options.GOLD
@TEMPLATES
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the responses, for `troth nlg`.")
@options.FORMAT
@options.JSON
def templates(gold: str, folder: str, out: str, format: str | None, json: bool) -> None:
    """Generate a response for every system turn of GOLD, from templates for its acts."""
    from troth.responses.templates import respond

    summary = respond(gold, folder, out, format=format)
    if json:
        show.json(summary)
    show.note(f"{counted(summary.responses, 'response')} to {counted(summary.acts, 'act')}")
    if summary.lacking:
        acts = sum(one.acts for one in summary.lacking)
        show.note(f"no template for {counted(acts, 'act')}: {counted(summary.partial, 'incomplete response')}, "
                  f"{counted(summary.silent, 'turn')} without a response")  # fmt: skip
        for one in summary.lacking[:SHOWN]:
            hint = f" ({one.hint})" if one.hint else ""
            show.note(f"  {one.acts} × {one.service}: {one.key}{hint}")
        if len(summary.lacking) > SHOWN:
            show.note(f"  … and {len(summary.lacking) - SHOWN} more; --json lists them")
    if summary.without_acts:
        show.note(f"no acts, and so no response: {counted(summary.without_acts, 'system turn')}")
    show.note(f"written: {out}")
