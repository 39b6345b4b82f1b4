"""`troth convert`, `troth ls`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError, near

if TYPE_CHECKING:
    from troth.core.registry import Registry

Names = Mapping[str, str]  # each with a line about it


@click.command(no_args_is_help=True)
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="NAME", required=True, help="sgd, checkdst, mwzeval or jsonl.")
@click.option("--format", metavar="NAME", help="Of IN, if it should not be detected.")
@click.option("--side", type=click.Choice(["both", "gold", "pred"]), default="both", help="Of a file that holds both.")
@options.JSON
def convert(source: str, out: str, to: str, format: str | None, side: str, json: bool) -> None:
    """From one format to another."""
    from troth import readers
    from troth.readers import source as files

    sides = {"both": readers.read, "gold": readers.gold, "pred": readers.predictions}
    schema = files.beside(source, "schema.json")
    readers.write(sides[side](source, format), out, to, schema=schema.data if schema else None)
    show.note(f"written: {out}")
    if json:
        place = Path(out)
        written = sorted(str(file) for file in place.iterdir()) if place.is_dir() else [out]
        show.json({"out": out, "format": to, "files": written})


# -- ls ----------------------------------------------------------------------------------------------------------------


def _told(registry: Registry) -> Names:
    return {name: (registry.load(name).__doc__ or "").partition("\n")[0] for name in registry}


def _metrics() -> Names:
    from troth.tracking import metrics as aggregate

    return {**{name: about for name, (_, about) in aggregate.METRICS.items()}, "fga@λ": aggregate.FGA}


def _profiles() -> Names:
    from troth.tracking.profiles import PROFILES

    return {name: profile.summary for name, profile in PROFILES.items()}


def _response_metrics() -> Names:
    from troth.responses import metrics as nlg_scores

    return nlg_scores.ABOUT


def _grounding_metrics() -> Names:
    from troth.grounding import metrics as grounded

    return _told(grounded.METRICS)


def _formats() -> Names:
    from troth import readers

    return _told(readers.FORMATS)


def _grounding_formats() -> Names:
    from troth.readers import grounded

    return _told(grounded.FORMATS)


def _perturbations() -> Names:
    from troth.perturb import FAMILIES

    return _told(FAMILIES)


def _backends() -> Names:
    from troth import models as backends

    return backends.KINDS


KINDS: dict[str, Callable[[], Names]] = {  # each is looked up when it is asked for
    "metrics": _metrics,
    "profiles": _profiles,
    "response metrics": _response_metrics,
    "grounding metrics": _grounding_metrics,
    "formats": _formats,
    "grounding formats": _grounding_formats,
    "perturbations": _perturbations,
    "backends": _backends,
}


@click.command()
@click.argument("what", nargs=-1, metavar="[KIND]")
@options.JSON
def ls(what: tuple[str, ...], json: bool) -> None:
    """What there is: metrics, profiles, formats, perturbations, backends, each in a line."""
    kind = " ".join(what)  # of "response metrics" a shell makes two words
    if what and kind not in KINDS:
        raise UserError(f"'{kind}' is not listed", hint=near(kind, KINDS) or "one of: " + ", ".join(KINDS))
    chosen = {name: KINDS[name]() for name in ([kind] if what else KINDS)}
    if json:
        show.json(chosen)
        return
    for name, names in chosen.items():
        show.table(tables.Table((name, ""), tuple(names.items()), labels=2))
        show.text("")
