"""`troth train response` and `troth train grounded`: generators by any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show

if TYPE_CHECKING:
    from troth.systems.generators.train import TrainedGenerator

FIT = options.SettingsSource(
    "troth.systems.training:FitSettings", leave_out=("bfloat16",), defaults="troth.systems.generators.train:PAPER"
)


@options.command("troth.systems.generators.train:ResponseTrainSettings", fit=FIT)
@click.argument("data", metavar="TRAIN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@options.JSON
@show.resumable()
def response(data: str, out: str, json: bool, **settings: Any) -> None:
    """Train a generator that puts acts into words.

    It learns from the system turns of TRAIN, and is written to the folder OUT. The same command resumes an interrupted
    run. `troth generate respond OUT DATA` runs the generator.
    """
    from troth.systems.generators.train import train_response

    _show(train_response(data, out, **settings), json)
    show.note(f"run it: troth generate respond {out} DATA --out FILE")


@options.command("troth.systems.generators.grounded:GroundedTrainSettings", fit=FIT)
@click.argument("data", metavar="TRAIN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@options.JSON
@show.resumable()
def grounded(data: str, out: str, json: bool, **settings: Any) -> None:
    """Train a generator that answers from documents.

    It learns from the responses of TRAIN, and is written to the folder OUT. TRAIN is FaithDial, Wizard of Wikipedia,
    MultiDoc2Dial, Topical-Chat, or our JSONL. PMI-Decode works on the result.
    """
    from troth.systems.generators.grounded import train_grounded

    trained = train_grounded(data, out, **settings)
    _show(trained, json)
    show.note(f"run it: troth generate ground DATA --model {out}/{next(iter(trained.best), 'last')} --out FILE")


def _show(trained: TrainedGenerator, json: bool) -> None:
    if json:
        show.json(trained)
    best = ", ".join(f"{name} {abs(value):.3f}" for name, value in trained.best.items())
    show.note(f"{trained.folder}: {trained.steps} steps{'; ' + best if best else ''}")
