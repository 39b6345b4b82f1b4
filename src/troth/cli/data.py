"""`troth convert`, `troth ls`."""

from __future__ import annotations

import click

from troth.cli import options, show
from troth.errors import UserError, near
from troth.report import tables


@click.command(no_args_is_help=True)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="NAME", required=True, help="sgd, checkdst, mwzeval or jsonl.")
@click.option("--format", metavar="NAME", help="Of IN, if it should not be detected.")
@click.option("--side", type=click.Choice(["both", "gold", "pred"]), default="both", help="Of a file that holds both.")
def convert(source: str, out: str, to: str, format: str | None, side: str) -> None:
    """From one format to another."""
    from troth import readers
    from troth.readers import source as files

    sides = {"both": readers.read, "gold": readers.gold, "pred": readers.predictions}
    schema = files.beside(source, "schema.json")
    readers.write(sides[side](source, format), out, to, schema=schema.data if schema else None)
    show.note(f"written: {out}")


@click.command()
@click.argument("what", required=False, metavar="[KIND]")
@options.JSON
def ls(what: str | None, json: bool) -> None:
    """What there is: metrics, profiles, formats, perturbations, backends, each in a line."""
    from troth import backends, readers
    from troth.metrics import aggregate
    from troth.metrics.profiles import PROFILES
    from troth.perturb import FAMILIES
    from troth.readers import grounded as documents
    from troth.registry import Registry
    from troth.runner import nlg_scores
    from troth.scorers import grounded

    def told(registry: Registry) -> dict[str, str]:
        return {name: (registry.load(name).__doc__ or "").partition("\n")[0] for name in registry}

    kinds = {
        "metrics": {**{name: about for name, (_, about) in aggregate.METRICS.items()}, "fga@λ": aggregate.FGA},
        "profiles": {name: profile.summary for name, profile in PROFILES.items()},
        "response metrics": nlg_scores.ABOUT,
        "grounding metrics": told(grounded.METRICS),
        "formats": told(readers.FORMATS),
        "grounding formats": told(documents.FORMATS),
        "perturbations": told(FAMILIES),
        "backends": backends.KINDS,
    }
    if what is not None and what not in kinds:
        raise UserError(f"'{what}' is not listed", hint=near(what, kinds) or "one of: " + ", ".join(kinds))
    chosen = kinds if what is None else {what: kinds[what]}
    if json:
        show.json(chosen)
        return
    for kind, names in chosen.items():
        show.table(tables.Table((kind, ""), tuple(names.items()), labels=2))
        show.text("")
