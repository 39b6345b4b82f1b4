"""`troth perturb dialogue`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from troth.cli import options, show
from troth.cli.declared import declared, settings, with_declared
from troth.core.errors import UserError
from troth.core.table import Table
from troth.perturb.users import FAMILIES
from troth.perturb.users.run import CUT, Perturbation
from troth.perturb.users.run import perturb as perturbed


@click.command(no_args_is_help=True)
@click.argument("data", metavar="IN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@click.option("--with", "families", metavar="NAMES", required=True, type=options.Names("troth.perturb.users:FAMILIES"),
              help="Families in the order to apply them, comma-separated; see `troth ls perturbations`.")  # fmt: skip
@click.option("--set", "chosen", metavar="FAMILY.OPTION=VALUE", multiple=True,
              help="Set an option of a family, for example disfluency.repairs=1.")  # fmt: skip
@with_declared(FAMILIES)
@options.option("--nli", "NAME", "Entailment model; drops paraphrases that do not entail the original, or the reverse.",
                type=options.BACKENDS)  # fmt: skip
@options.CACHE
@options.number("--seed", 0, "Random seed of the perturbations.")
@options.WORKERS_ON
@options.option("--format", "NAME", "Format of IN. Default: detected.", type=options.FORMATS)
@options.option("--to", "NAME", "Format of OUT. Default: as IN.", type=options.WRITTEN_FORMATS)
@options.option("--schema", "FILE", "Schema of the services, if it is not beside IN.", type=options.FILE)
@options.JSON
def dialogue(
    data: str,
    out: str,
    families: str,
    chosen: tuple[str, ...],
    given: Mapping[str, Any],
    json: bool,
    **other: Any,
) -> None:
    """Perturb dialogues: other words, slips, other names; annotations are kept consistent.

    OUT is a new folder with the dialogues, the schema, and perturbation.json, which records what was changed.
    """
    done = perturbed(data, out, with_=_chosen(families.split(","), chosen, given), **other)
    if json:
        show.json(done)
    else:
        show.table(_table(done))
    for effect in done.families:
        if CUT in effect.figures:
            show.note(f"{effect.figures[CUT]:.0f} pairs were longer than the model reads, and were cut")
    show.note(f"written: {out}")


def _chosen(
    names: Sequence[str], chosen: Sequence[str], given: Mapping[str, Any]
) -> Sequence[str] | dict[str, dict[str, Any]]:
    """Families with their options."""
    families: dict[str, dict[str, Any]] = {name.strip(): {} for name in names}
    if len(families) < len(names):
        return names  # a family twice is an error, which `perturb` reports
    flags = declared(FAMILIES)
    for family in dict.fromkeys(family for option in given for family in flags[option]):
        own = {option: members[family] for option, members in flags.items() if family in members}
        _of(families, family).update(settings(own, given))
    for text in chosen:
        place, equals, value = text.partition("=")
        family, dot, option = place.partition(".")
        if not equals or not dot:
            raise UserError(f"--set {text}", hint="write it as --set disfluency.fillers=0.05")
        _of(families, family)[option] = value
    return families


def _of(families: dict[str, dict[str, Any]], family: str) -> dict[str, Any]:
    if family not in families:
        FAMILIES.load(family)  # an error for a misspelt name
        hint = "add it: --with " + ",".join([*families, family])
        raise UserError(f"options of '{family}', which is not applied", hint=hint)
    return families[family]


def _table(done: Perturbation) -> Table:
    rows = []
    for effect in done.families:
        refused = sum(effect.turns_refused.values())
        why = "; ".join(f"{reason}: {count}" for reason, count in sorted(effect.turns_refused.items()))
        counts = (f"{effect.dialogues_changed} of {done.dialogues}", f"{effect.turns_changed} of {done.turns}")
        rows.append((effect.family, *counts, str(refused), why))
    return Table(("family", "dialogues changed", "turns changed", "turns refused", "why"), tuple(rows), labels=1)
