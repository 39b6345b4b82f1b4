"""`troth perturb schema`, `troth perturb stats`, `troth perturb sheets`, `troth perturb collect`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from troth.cli import options, show
from troth.cli.declared import fields_of, member_options, with_member_options
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.names import format_count
from troth.perturb.schemas.generators import GENERATORS

SHOWN = 5  # texts with too few answers that are named
HOW = "give --from FOLDER for published variants, or --make NAME to make variants"


@options.command("troth.perturb.schemas.run:VarySettings")
@click.argument("data", metavar="IN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@options.option("--make", "NAME", f"Source of the variants: {', '.join(GENERATORS)}. Default: by the other options.",
                type=options.Names("troth.perturb.schemas.generators:GENERATORS"))  # fmt: skip
@with_member_options(GENERATORS)
@options.JSON
def schema(data: str, out: str, make: str | None, given: Mapping[str, Any], json: bool, **settings: Any) -> None:
    """Reword a schema (SGD-X): new names and descriptions.

    They are changed in the schema and in the dialogues. IN is a folder or file of dialogues in SGD's layout with its
    schema.json, a schema alone, or a file of tools (function definitions). OUT gets a folder for each variant.
    """
    from troth.perturb.schemas.run import vary

    records = vary(data, out, with_=_select_generator(make, given), **settings)
    if json:
        show.json(records)
        return
    for record in records:
        names = f"{format_count(record.slots_renamed, 'slot')} and {format_count(record.intents_renamed, 'intent')}"
        names += f" of {format_count(record.services, 'service')}"
        show.text(f"{out}/{record.variant}: {names} renamed, {format_count(record.counts.dialogues, 'dialogue')}")
    refused = records[0].refused if records else {}
    if refused:
        reasons = ", ".join(f"{count} {reason}" for reason, count in refused.items())
        show.note(f"{sum(refused.values())} wordings were refused: {reasons}")


def _select_generator(name: str | None, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The generator with its options; without a name, the only one that has all options that were given."""
    flags = member_options(GENERATORS)
    if name is None:
        able = [generator for generator in GENERATORS if all(generator in flags[flag] for flag in given)]
        if len(able) != 1:
            raise UserError("the source of the variants is unknown", hint=HOW)
        (name,) = able
    GENERATORS.load(name)  # an error for a misspelt name
    for flag in given:
        if name not in flags[flag]:
            own = ", ".join(flag for flag, members in flags.items() if name in members)
            raise UserError(f"{flag} is not an option of '{name}'", hint=f"its options: {own}")
    return {name: fields_of(name, flags, given)}


@click.command(no_args_is_help=True)
@click.argument("original", metavar="ORIG", type=options.FILE)
@click.argument("variants", nargs=-1, required=True, metavar="VARIANT...", type=options.FILE)
@options.option("--train", "FILE", "Training schema, if ORIG has no split `train`.", type=options.FILE)
@options.JSON
def stats(original: str, variants: tuple[str, ...], train: str | None, json: bool) -> None:
    """Measure how far reworded schemas are from the original.

    Shows names seen in training, the distance of names, and BLEU. ORIG and each VARIANT (or NAME=PATH) are schema
    files, files of tools, or folders with one for each split.
    """
    from troth.perturb.schemas.table import stats as divergence

    summary = divergence(original, *variants, train=train)
    if json:
        show.json(summary)
        return
    rows = tuple(
        (
            row.variant, tables.percent(row.slots_seen), tables.percent(row.intents_seen),
            "–" if row.distance is None else f"{row.distance:.3f}", "–" if row.bleu is None else f"{row.bleu:.1f}",
        )
        for row in summary.rows
    )  # fmt: skip
    columns = ("schema", "slot names seen", "intent names seen", "distance of names", "BLEU")
    show.table(tables.Table(columns, rows, labels=1))
    looked_up = ""
    if summary.unseen_slots is not None and summary.unseen_intents is not None:
        unseen = f"{format_count(summary.unseen_slots, 'slot')} and {format_count(summary.unseen_intents, 'intent')}"
        looked_up = f"; looked up in training: {unseen} of unseen services"
    show.note(f"{format_count(summary.services, 'service')}, {format_count(summary.names, 'name')}{looked_up}")
    if summary.self_bleu is not None:
        show.note(f"self-BLEU of the variants: {summary.self_bleu:.1f}")
    if summary.reason:
        show.note(f"not computed: {summary.reason}")


@click.command(no_args_is_help=True)
@click.argument("schema", metavar="SCHEMA", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@options.option("--ambiguous", "NAMES", "Elements (service.slot) whose description is shown as well, comma-separated.")
@options.JSON
def sheets(schema: str, out: str, ambiguous: str | None, json: bool) -> None:
    """Write sheets for people to reword a schema in, blindly.

    OUT gets two sheets for each service, as for SGD-X: one shows descriptions and asks for names, the other shows names
    and asks for descriptions. Give copies to several people, and to nobody both sheets of a service.
    """
    from troth.perturb.schemas.sheet import write_sheets

    files = write_sheets(schema, out, ambiguous=ambiguous or ())
    if json:
        show.json([str(file) for file in files])
        return
    show.text(f"{out}: {format_count(len(files), 'sheet')}; read them back with: troth perturb collect")


@click.command(no_args_is_help=True)
@click.argument("schema", metavar="SCHEMA", type=options.FILE)
@click.argument("sheets", nargs=-1, required=True, metavar="SHEET...", type=options.FILE)
@click.option("--out", required=True, metavar="FILE", help="File of paraphrases to write.")
@options.number("--count", 5, "Number of variants to be made: texts with fewer different answers are named.", least=1)
@options.JSON
def collect(schema: str, sheets: tuple[str, ...], out: str, count: int, json: bool) -> None:
    """Collect the paraphrases that people wrote in sheets.

    FILE is for `troth perturb schema --paraphrases FILE`. Read it first: a paraphrase that cannot replace the original
    has to be deleted.
    """
    from troth.perturb.schemas.sheet import read_sheets, write_paraphrases

    collected = read_sheets(schema, sheets, count=count)
    write_paraphrases(collected, out)
    if json:
        show.json(collected)
        return
    left_out = ", ".join(f"{number} {reason}" for reason, number in sorted(collected.left_out.items()))
    text = f"{out}: {format_count(collected.answers, 'paraphrase')} from {format_count(collected.sheets, 'sheet')}"
    show.text(text + (f"; left out: {left_out}" if left_out else ""))
    if few := [f"{element} has {number}" for element, number in collected.few.items()]:
        more = f", and {len(few) - SHOWN} more (--json names all)" if len(few) > SHOWN else ""
        show.note(f"fewer than {count}: {', '.join(few[:SHOWN])}{more}")
