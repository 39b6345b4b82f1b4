"""`troth perturb dialogue`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.cli.declared import fields_of, member_options, with_member_options
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.table import Table
from troth.perturb.users import FAMILIES

if TYPE_CHECKING:
    from troth.perturb.users.run import Perturbation


@options.command("troth.perturb.users.run:PerturbSettings")
@click.argument("data", metavar="IN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@click.option("--with", "families", metavar="NAMES", required=True, type=options.Names("troth.perturb.users:FAMILIES"),
              help="Families in the order to apply them, comma-separated; see `troth ls perturbations`.")  # fmt: skip
@click.option("--set", "assignments", metavar="FAMILY.OPTION=VALUE", multiple=True,
              help="Set an option of a family, for example disfluency.repairs=1.")  # fmt: skip
@with_member_options(FAMILIES)
@options.JSON
def dialogue(
    data: str,
    out: str,
    families: str,
    assignments: tuple[str, ...],
    given: Mapping[str, Any],
    json: bool,
    **settings: Any,
) -> None:
    """Perturb dialogues: other words, slips, other names.

    Annotations are kept consistent. OUT is a new folder with the dialogues, the schema, and perturbation.json, which
    records what was changed.
    """
    from troth.perturb.users.paraphrase import BY_ENGINE, BY_LM
    from troth.perturb.users.run import CUT, perturb

    perturbation = perturb(data, out, with_=_select_families(families.split(","), assignments, given), **settings)
    if json:
        show.json(perturbation)
    else:
        show.table(_table(perturbation))
    for effect in perturbation.families:
        if CUT in effect.figures:
            show.note(f"{effect.figures[CUT]:.0f} pairs were longer than the model reads, and were cut")
        if BY_LM in effect.figures:
            by_lm, by_engine = effect.figures[BY_LM], effect.figures[BY_ENGINE]
            show.note(
                f"turns reworded by the language model: {by_lm:.0f}; by the engine, where no wording passed: "
                f"{by_engine:.0f}; words replaced: {tables.percent(effect.per_word.get('words replaced'), 1)}%"
            )
    show.note(f"written: {out}")


def _select_families(
    names: Sequence[str], assignments: Sequence[str], given: Mapping[str, Any]
) -> Sequence[str] | dict[str, dict[str, Any]]:
    families: dict[str, dict[str, Any]] = {name.strip(): {} for name in names}
    if len(families) < len(names):
        return names  # a duplicate family is an error, which `perturb` reports
    flags = member_options(FAMILIES)
    for family in dict.fromkeys(family for flag in given for family in flags[flag]):
        _options_of(families, family).update(fields_of(family, flags, given))
    for text in assignments:
        target, equals, value = text.partition("=")
        family, dot, option = target.partition(".")
        if not equals or not dot:
            raise UserError(f"--set {text}", hint="write it as --set disfluency.fillers=0.05")
        _options_of(families, family)[option] = value
    return families


def _options_of(families: dict[str, dict[str, Any]], family: str) -> dict[str, Any]:
    if family not in families:
        FAMILIES.load(family)  # an error for a misspelt name
        hint = "add it: --with " + ",".join([*families, family])
        raise UserError(f"options of '{family}', which is not applied", hint=hint)
    return families[family]


def _table(perturbation: Perturbation) -> Table:
    rows = []
    for effect in perturbation.families:
        refused = sum(effect.turns_refused.values())
        why = "; ".join(f"{reason}: {count}" for reason, count in sorted(effect.turns_refused.items()))
        counts = (
            f"{effect.dialogues_changed} of {perturbation.dialogues}",
            f"{effect.user_turns_changed} of {perturbation.user_turns}",
        )
        rows.append((effect.family, *counts, str(refused), why))
    return Table(("family", "dialogues changed", "user turns changed", "turns refused", "why"), tuple(rows), labels=1)
