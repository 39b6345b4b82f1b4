"""`troth generate`: responses by templates and by trained generators, and the most faithful of several."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import generate_ground, generate_respond, options, show
from troth.core.names import format_count

SHOWN = 10  # missing templates to name
TEMPLATES = click.option(
    "--templates", "folder", metavar="DIR", required=True, type=options.FOLDER,
    help="Folder with a .tsv file of templates for each service.",
)  # fmt: skip


@click.group(no_args_is_help=True)
def generate() -> None:
    """Generate responses, or choose the most faithful of several."""


generate.add_command(generate_ground.ground)
generate.add_command(generate_ground.sweep)
generate.add_command(generate_respond.respond)


@generate.command(
    **options.settings(
        options.SettingsSource("troth.meta.trials.trial:TrialSettings", only=("schema", "nli", "cache", "format"))
    )
)
@options.GOLD
@click.argument("nbest", metavar="NBEST...", nargs=-1, required=True, type=options.FILE)
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the chosen responses and the reasons.")
@click.option("--gated", is_flag=True, help="Count an act only if the response also contains its values.")
@click.option(
    "--augment", type=click.Choice(["never", "retry"]), default="never", show_default=True,
    help="With retry, an act that the response alone does not entail is tried again in context; the paper does not.",
)  # fmt: skip
@options.JSON
def rerank(
    gold: str, nbest: tuple[str, ...], out: str, nli: str, cache: str | None, json: bool, **settings: Any
) -> None:
    """Choose the most faithful response from each n-best list.

    The chosen response conveys most of its acts; on a tie, it is the likeliest. GOLD has the system's turns with their
    acts, and its schema beside it; its utterances are not used. NBEST is JSONL: dialogue, turn, and candidates, each a
    text or {"text": …, "score": …}. If there are several files, one for each system, their lists for a turn are merged.
    """
    from troth import models
    from troth.responses.nbest import rerank_file
    from troth.storage.files import check_new

    check_new(out)
    summary = rerank_file(gold, nbest, out, models.nli(nli, cache=cache), **settings)
    if json:
        show.json(summary)
    show.note(
        f"{format_count(summary.turns, 'turn')}: {summary.changed} changed against the likeliest, "
        f"{summary.faithful} true to all acts"
    )
    if summary.without_acts:
        show.note(f"no acts, so the likeliest was taken: {format_count(summary.without_acts, 'turn')}")
    for line in (*summary.notes, summary.signature, f"written: {out}"):
        show.note(line)


@generate.command(no_args_is_help=True)
@options.GOLD
@TEMPLATES
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the responses, for `troth nlg`.")
@options.FORMAT
@options.JSON
def templates(gold: str, folder: str, out: str, format: str | None, json: bool) -> None:
    """Generate responses from templates.

    Every system turn of GOLD gets a response to its acts.
    """
    from troth.responses.templates import respond

    summary = respond(gold, folder, out, format=format)
    if json:
        show.json(summary)
    show.note(f"{format_count(summary.responses, 'response')} to {format_count(summary.acts, 'act')}")
    if summary.lacking:
        acts = sum(template.acts for template in summary.lacking)
        partial, silent = format_count(summary.partial, "incomplete response"), format_count(summary.silent, "turn")
        show.note(f"no template for {format_count(acts, 'act')}: {partial}, {silent} without a response")
        for template in summary.lacking[:SHOWN]:
            hint = f" ({template.hint})" if template.hint else ""
            show.note(f"  {template.acts} × {template.service}: {template.key}{hint}")
        if len(summary.lacking) > SHOWN:
            show.note(f"  … and {len(summary.lacking) - SHOWN} more; --json lists them")
    if summary.without_acts:
        show.note(f"no acts, so no response: {format_count(summary.without_acts, 'system turn')}")
    show.note(f"written: {out}")
