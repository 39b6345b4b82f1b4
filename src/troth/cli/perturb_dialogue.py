"""`troth perturb dialogue`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import bars, options, show
from troth.core import table as tables
from troth.core.errors import UserError, near

if TYPE_CHECKING:
    from troth.perturb.corpus import Record

Setting = tuple[str, str, str | list[str]]  # family, option, value


@click.command(no_args_is_help=True)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option("--with", "families", metavar="NAMES", required=True, help="In this order; see `troth ls perturbations`.")
@click.option("--set", "chosen", metavar="FAMILY.OPTION=VALUE", multiple=True, help="For example disfluency.repairs=1.")
@click.option("--names", metavar="FILE", help="entities: names to give, one a line, in place of scrambled letters.")
@click.option("--slots", metavar="NAMES", help="entities: slots that hold names, with commas: slot or service.slot.")
@click.option("--nli", metavar="NAME", help="paraphrase: refuse what this entailment model does not hold for the same.")
@options.CACHE
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another seed, another result.")
@options.WORKERS
@click.option("--format", metavar="NAME", help="Of IN, if it should not be detected.")
@click.option("--to", metavar="NAME", help="sgd, checkdst, mwzeval or jsonl, if OUT is not to be as IN.")
@options.SCHEMA
@options.JSON
def dialogue(
    source: str,
    out: str,
    families: str,
    chosen: tuple[str, ...],
    names: str | None,
    slots: str | None,
    nli: str | None,
    cache: str | None,
    seed: int,
    workers: int,
    format: str | None,
    to: str | None,
    schema: str | None,
    json: bool,
) -> None:
    """The same dialogues said otherwise, with annotations that still fit.

    OUT is a new folder with the dialogues, the schema, and perturbation.json, which says what was done.
    """
    from troth.perturb.corpus import CUT, perturb_dialogues

    listed = families.split(",")
    settings: list[Setting] = list(map(_setting, chosen))
    if names is not None:
        settings.append(("entities", "names", _lines(names)))
    if slots is not None:
        settings.append(("entities", "slots", slots))
    with bars.progress("perturbing") as progress:
        record = perturb_dialogues(
            source,
            out,
            listed,
            options=_options(settings),
            seed=seed,
            workers=workers or os.cpu_count() or 1,
            format=format,
            to=to,
            schema=schema,
            nli=nli,
            cache=cache,
            progress=progress,
        )
    if json:
        show.json(record)
    else:
        show.table(_table(record))
    for effect in record.families:
        if CUT in effect.figures:
            show.note(f"{effect.figures[CUT]:.0f} pairs were longer than the model reads, and were cut")
    show.note(f"written: {out}")


def _setting(text: str) -> Setting:
    place, equals, value = text.partition("=")
    family, dot, name = place.partition(".")
    if not equals or not dot:
        raise UserError(f"--set {text}", hint="write it as --set disfluency.fillers=0.05")
    return family, name, value


def _options(settings: Sequence[Setting]) -> dict[str, Any]:
    """Family to its options; texts become what the option is."""
    from troth.perturb import FAMILIES

    given: dict[str, dict[str, Any]] = {}
    for family, name, value in settings:
        kinds = {field.name: field.type for field in msgspec.structs.fields(FAMILIES.load(family).Options)}
        if name not in kinds:
            hint = near(name, kinds) or "known: " + ", ".join(sorted(kinds))
            raise UserError(f"'{family}' has no option '{name}'", hint=hint)
        many = "tuple" in str(kinds[name]) and isinstance(value, str)
        given.setdefault(family, {})[name] = str(value).split(",") if many else value
    made = {}
    for family, values in given.items():
        try:
            made[family] = msgspec.convert(values, FAMILIES.load(family).Options, strict=False)
        except msgspec.ValidationError as error:
            what, _, where = str(error).partition(" - at `$.")
            name = f"{family}.{where.rstrip('`').partition('[')[0]}".rstrip(".")
            raise UserError(f"{name}: {what}", hint="see docs/perturbations.md") from error
    return made


def _lines(file: str) -> list[str]:
    try:
        found = [line.strip() for line in Path(file).read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise UserError("not valid UTF-8", file=file, hint="save it as UTF-8") from error
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file=file, hint="check the path") from error
    names = list(dict.fromkeys(name for name in found if name))
    if not names:
        raise UserError("no name in it", file=file, hint="write one name a line")
    return names


def _table(record: Record) -> tables.Table:
    rows = []
    for effect in record.families:
        refused = sum(effect.turns_refused.values())
        why = "; ".join(f"{reason}: {count}" for reason, count in sorted(effect.turns_refused.items()))
        counts = (f"{effect.dialogues_changed} of {record.dialogues}", f"{effect.turns_changed} of {record.turns}")
        rows.append((effect.family, *counts, str(refused), why))
    return tables.Table(("family", "dialogues changed", "turns changed", "turns refused", "why"), tuple(rows), labels=1)
