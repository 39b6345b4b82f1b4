"""`troth convert`, `troth ls`."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError, near


@click.command(no_args_is_help=True)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="NAME", required=True, help="Format to write: sgd, jsonl, multiwoz, mwzeval or checkdst.")
@click.option("--format", metavar="NAME", help="Format of IN, where it should not be detected.")
@click.option(
    "--side",
    type=click.Choice(["both", "gold", "pred"]),
    default="both",
    help="What to take from a file that holds gold and predictions.",
)
@options.JSON
def convert(
    source: str, out: str, to: str, format: str | None, side: Literal["both", "gold", "pred"], json: bool
) -> None:
    """Convert dialogues from one format to another."""
    from troth import readers

    readers.convert(source, out, to, format=format, side=side)
    show.note(f"written: {out}")
    if json:
        place = Path(out)
        written = sorted(str(file) for file in place.iterdir()) if place.is_dir() else [out]
        show.json({"out": out, "format": to, "files": written})


# Each kind with its registry, which is loaded when it is asked for, and where its members say what they are; or with a
# function that lists them.
KINDS = {
    "metrics": ("troth.tracking.metrics:METRICS", "about"),
    "profiles": ("troth.tracking.profiles:PROFILES", "summary"),
    "robustness metrics": ("troth.robustness.metrics:METRICS", "about"),
    "response metrics": ("troth.responses.metrics:METRICS", "about"),
    "grounding metrics": ("troth.grounding.metrics:METRICS", "about"),
    "formats": ("troth.readers:FORMATS", "FORMAT.about"),
    "grounding formats": ("troth.readers.grounded:FORMATS", "FORMAT.about"),
    "perturbations": ("troth.perturb.users:FAMILIES", "__doc__"),
    "backends": ("troth.models:forms", ""),
}


def _members(kind: str) -> dict[str, str]:
    """The names of a kind, each with one line about it."""
    place, about = KINDS[kind]
    module, _, name = place.partition(":")
    listing: Any = getattr(import_module(module), name)
    if not about:
        return dict(listing())
    return {member: str(attrgetter(about)(listing.load(member))).partition("\n")[0] for member in listing}


@click.command()
@click.argument("what", nargs=-1, metavar="[KIND]")
@options.JSON
def ls(what: tuple[str, ...], json: bool) -> None:
    """List metrics, profiles, formats, perturbations and backends, each with one line about it."""
    kind = " ".join(what)  # a shell makes two words of "response metrics"
    if what and kind not in KINDS:
        raise UserError(f"'{kind}' is not listed", hint=near(kind, KINDS) or "one of: " + ", ".join(KINDS))
    chosen = {name: _members(name) for name in ([kind] if what else KINDS)}
    if json:
        show.json(chosen)
        return
    for name, members in chosen.items():
        show.table(tables.Table((name, ""), tuple(members.items()), labels=2))
        show.text("")
