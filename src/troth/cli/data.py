"""`troth convert`, `troth ls`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError, suggest_name


@click.command(no_args_is_help=True)
@click.argument("source", metavar="IN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FILE)
@click.option("--to", metavar="NAME", type=options.Names("troth.readers:writable_formats"), required=True,
              help="Format to write: sgd, jsonl, multiwoz, mwzeval or checkdst.")  # fmt: skip
@options.option("--format", "NAME", "Format of IN. Default: detected.", type=options.FORMATS)
@click.option("--side", type=click.Choice(["both", "gold", "pred"]), default="both", show_default=True,
              help="Side to write, from a file with gold and predictions.")  # fmt: skip
@options.option(
    "--shots", "WHICH", "Only some dialogues: a file of ids, a share (0.05, 5%), or a number for each domain (50)."
)
@options.number("--seed", 0, "Random seed of --shots.")
@options.JSON
def convert(source: str, out: str, to: str, json: bool, **settings: Any) -> None:
    """Convert dialogues from one format to another."""
    from troth import readers

    readers.convert(source, out, to, **settings)
    show.note(f"written: {out}")
    if json:
        files = sorted(map(str, Path(out).iterdir())) if Path(out).is_dir() else [out]
        show.json({"out": out, "format": to, "files": files})


KINDS = {  # registries, or functions that return names with one line about each; imported when they are listed
    "metrics": "troth.tracking.metrics:METRICS",
    "profiles": "troth.tracking.profiles:PROFILES",
    "robustness metrics": "troth.robustness.metrics:METRICS",
    "response metrics": "troth.responses.metrics:METRICS",
    "multiwoz metrics": "troth.responses.multiwoz.metrics:METRICS",
    "grounding metrics": "troth.grounding.metrics:METRICS",
    "agent metrics": "troth.agents.metrics:METRICS",
    "matching rules": "troth.agents.rules:RULES",
    "formats": "troth.readers:FORMATS",
    "grounding formats": "troth.readers.grounded:FORMATS",
    "agent formats": "troth.readers.trajectories:FORMATS",
    "perturbations": "troth.perturb.users:FAMILIES",
    "schema generators": "troth.perturb.schemas.generators:GENERATORS",
    "backends": "troth.models:forms",
    "recipes": "troth.systems.recipe:RECIPES",
    "trackers": "troth.systems.recipe:TRACKERS",
    "training presets": "troth.systems.presets:PRESETS",
    "training tasks": "troth.systems.tasks:TASKS",
}


@click.command()
@click.argument("what", nargs=-1, metavar="[KIND]", type=options.Names(*KINDS))
@options.JSON
def ls(what: tuple[str, ...], json: bool) -> None:
    """List metrics, profiles, formats, perturbations and models.

    KIND is one of these kinds, for example `grounding metrics`. Without it, all are listed.
    """
    kind = " ".join(what)  # a shell makes two words of "response metrics"
    if what and kind not in KINDS:
        raise UserError(f"'{kind}' is not listed", hint=suggest_name(kind, KINDS) or "one of: " + ", ".join(KINDS))
    listing = {name: options.describe_members(KINDS[name]) for name in ([kind] if what else KINDS)}
    if json:
        show.json(listing)
        return
    for name, members in listing.items():
        show.table(tables.Table((name, ""), tuple(members.items()), labels=2))
        show.text("")
