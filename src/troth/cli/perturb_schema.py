"""`troth perturb schema`, `troth perturb stats`."""

from __future__ import annotations

import os
from typing import Any

import click

from troth.cli import options, show
from troth.cli.bars import progress
from troth.core import table as tables
from troth.core.errors import UserError


@click.command(no_args_is_help=True)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option("--variants", metavar="NAMES", help="Which of --from: v1..v5, or v1,v3.  [default: v1..v5]")
@click.option("--from", "folder", metavar="SGDX", help="A folder with variants' schemas: SGDX/v1/dev/schema.json.")
@click.option("--make", type=click.Choice(["backtranslate", "corrupt", "compose"]), help="Make variants instead.")
@click.option("--paraphrases", metavar="FILE", help="compose: other names and descriptions; see docs/schemas.md.")
@click.option("--count", type=click.IntRange(1, 100), help="How many variants to make.")
@click.option("--engine", "engines", metavar="NAME", multiple=True, help="backtranslate: apertium:eng-spa, marian:A,B.")
@click.option("--rate", type=click.FloatRange(0, 1), default=0.3, show_default=True, help="corrupt: of the words.")
@click.option("--stop-words", type=click.Choice(["paper", "published"]), default="paper", show_default=True,
              help="Left out of distances: all function words, or determiners (SGD-X as released).")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of what is drawn.")
@options.SCHEMA
@options.WORKERS
@options.JSON
def schema(
    source: str,
    out: str,
    variants: str | None,
    folder: str | None,
    make: str | None,
    paraphrases: str | None,
    count: int | None,
    engines: tuple[str, ...],
    rate: float,
    stop_words: str,
    seed: int,
    schema: str | None,
    workers: int,
    json: bool,
) -> None:
    """Other names and descriptions for services, slots and intents (SGD-X), in the schema and in the dialogues.

    IN is a folder or file of dialogues in SGD's layout with its schema.json, a schema alone, or a file of tools
    (function definitions). OUT gets a folder for each variant.
    """
    from troth.perturb.schemas import files as runner

    recipe: dict[str, Any] = {"count": count, "paraphrases": paraphrases, "engines": engines}
    make = make or ("compose" if paraphrases else None)
    if (folder is None) == (make is None):
        raise UserError("say where variants come from", hint="--from SGDX for published ones, or --make to make some")
    loaded = runner.load(source, schema)
    if folder is not None:
        if any(recipe.values()):
            raise UserError("--count, --engine and --paraphrases are for --make", hint="choose with --variants")
        chosen = runner.published(loaded, folder, runner.variant_names(variants or "v1..v5"))
        how: dict[str, Any] = {"from": folder}
    else:
        if variants is not None:
            raise UserError("--variants are those of --from", hint="say --count for how many to make")
        made = runner.Recipe(make=make, rate=rate, seed=seed, stop=stop_words, **recipe)  # type: ignore[arg-type]
        chosen = runner.made(loaded, made)
        how = runner.recorded(made)
    with progress("rewriting") as step:
        records = runner.write(loaded, out, chosen, how=how, workers=workers or os.cpu_count() or 1, progress=step)
    if json:
        show.json(records)
        return
    for record in records:
        names = f"{record.slots_renamed} slots and {record.intents_renamed} intents of {record.services} services"
        show.text(f"{out}/{record.variant}: {names} renamed, {record.counts.dialogues} dialogues")


@click.command(no_args_is_help=True)
@click.argument("original", metavar="ORIG")
@click.argument("variants", nargs=-1, required=True, metavar="VARIANT...")
@click.option("--train", metavar="FILE", help="The training schema, if ORIG has no split of that name.")
@options.JSON
def stats(original: str, variants: tuple[str, ...], train: str | None, json: bool) -> None:
    """How far variants of a schema are from it: names seen in training, distance of names, BLEU of descriptions.

    ORIG and each VARIANT (or NAME=PATH) are schema files, files of tools, or folders of them, by split if there are
    splits.
    """
    from troth.perturb.schemas.table import schema_table

    made = schema_table(original, variants, train=train)
    if json:
        show.json(made)
        return
    rows = tuple(
        (
            row.variant, tables.percent(row.slots_seen), tables.percent(row.intents_seen),
            "–" if row.distance is None else f"{row.distance:.3f}", "–" if row.bleu is None else f"{row.bleu:.1f}",
        )
        for row in made.rows
    )  # fmt: skip
    columns = ("schema", "slot names seen", "intent names seen", "distance of names", "BLEU")
    show.table(tables.Table(columns, rows, labels=1))
    show.note(f"{made.services} services, {made.names} names" + _unseen(made.unseen_slots, made.unseen_intents))
    if made.self_bleu is not None:
        show.note(f"self-BLEU of the variants: {made.self_bleu:.1f}")
    if made.reason:
        show.note(f"not told: {made.reason}")


def _unseen(slots: int | None, intents: int | None) -> str:
    return "" if slots is None else f"; looked up in training: {slots} slots and {intents} intents of unseen services"
