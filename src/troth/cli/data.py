"""`troth convert`, `troth ls`, `troth demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from troth.cli import show
from troth.cli.tracking import Format, Json
from troth.errors import UserError, near
from troth.report import tables


def register(app: typer.Typer) -> None:
    app.command(no_args_is_help=True)(convert)
    app.command()(ls)
    app.command()(demo)


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Dialogues in any format that is read.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="A path that does not exist yet.")],
    to: Annotated[str, typer.Option("--to", help="sgd, checkdst, mwzeval or jsonl.")],
    format: Format = None,
    side: Annotated[str, typer.Option("--side", help="Of a file that holds both: both, gold or pred.")] = "both",
) -> None:
    """From one format to another."""
    from troth import readers

    sides = {"both": readers.read, "gold": readers.gold, "pred": readers.predictions}
    if side not in sides:
        raise UserError(f"--side '{side}' is not known", hint="one of: " + ", ".join(sides))
    readers.write(sides[side](source, format), out, to)
    show.note(f"written: {out}")


def ls(
    what: Annotated[str | None, typer.Argument(metavar="[KIND]", help="metrics, profiles or formats.")] = None,
    json: Json = False,
) -> None:
    """What there is: metrics, profiles, formats, each in a line."""
    from troth import readers
    from troth.metrics import aggregate
    from troth.metrics.profiles import PROFILES

    kinds = {
        "metrics": {**{name: about for name, (_, about) in aggregate.METRICS.items()}, "fga@λ": aggregate.FGA},
        "profiles": {name: profile.summary for name, profile in PROFILES.items()},
        "formats": {name: (readers.FORMATS.load(name).__doc__ or "").partition("\n")[0] for name in readers.FORMATS},
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


def demo() -> None:
    """The state-tracking part on bundled dialogues: two trackers with different faults."""
    from troth.cli.demo import run

    run()
