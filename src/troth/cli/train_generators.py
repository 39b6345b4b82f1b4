"""`troth train response` and `troth train grounded`: generators by any model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from troth.systems.generators.train import TrainedGenerator

MODEL = "Model to begin with: a folder, hf:ORG/MODEL, or embedded (SmolLM2-135M)."
FIT = ("epochs", "steps", "batch", "rate", "evaluate_every", "patience", "save_every")


def fitting(command: options.F) -> options.F:
    """The options of the training loop, with the defaults of the SGSAcc paper."""
    decorated: Any = command
    for option in reversed([
        click.option("--epochs", type=float, metavar="NUMBER", help="Passes over the data.  [default: 3]"),
        click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Steps, in place of epochs."),
        click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Examples per step.  [default: 8]"),
        click.option("--rate", type=float, metavar="NUMBER", help="Learning rate, which stays.  [default: 1e-4]"),
        click.option("--evaluate-every", type=int, metavar="N",
                     help="Steps between evaluations.  [default: at the end]"),
        click.option("--patience", type=int, metavar="N",
                     help="Stop after so many evaluations without a lower loss on dev."),
        click.option("--save-every", type=int, metavar="N",
                     help="Steps between checkpoints to resume from.  [default: 500]"),
        options.option("--log-to", "NAMES", "tensorboard, mlflow, wandb: report there as well, where installed."),
        options.number("--seed", 0, "Random seed."),
        options.JSON,
    ]):  # fmt: skip
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


@click.command(no_args_is_help=True)
@click.argument("data", metavar="TRAIN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@click.option("--method", type=click.Choice(["ft", "pt"]), default="ft", show_default=True,
              help="Train all weights (ft), or only prefixes of ten keys and values (pt).")  # fmt: skip
@options.option("--model", "NAME", MODEL, default="embedded")
@click.option("--encoding", type=click.Choice(["template", "naive", "schema"]), default="template", show_default=True,
              help="How acts are written: sentences by templates, names, or descriptions.")  # fmt: skip
@options.option("--templates", "DIR", "Folder with a .tsv file of templates per service; others get generic sentences.",
                type=options.FOLDER)  # fmt: skip
@options.option("--shots", "SHOTS", "Train on some dialogues: a share (5%), a number per domain, or a file of ids.")
@options.option("--dev", "DATA", "Dialogues to measure loss, SER and SGSAcc on.", type=options.FILE)
@options.number("--dev-limit", 100, "Number of their system turns (0 = all).")
@options.number("--length", 256, "Tokens that are read.", least=1)
@options.number("--answer", 64, "Tokens that are written.", least=1)
@fitting
@options.SCHEMA
@options.FORMAT
@options.NLI
@options.CACHE
@show.resumable()
def response(data: str, out: str, json: bool, **given: Any) -> None:
    """Train a generator that puts the acts of TRAIN's system turns into words, and write it to the folder OUT.

    The same command goes on with a run that was stopped. `troth generate respond OUT DATA` runs the generator.
    """
    from troth.systems.generators.train import train_response

    done = _trained(train_response, data, out, given)
    _show(done, json)
    show.note(f"run it: troth generate respond {out} DATA --out FILE")


@click.command(no_args_is_help=True)
@click.argument("data", metavar="TRAIN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@options.option("--model", "NAME", MODEL, default="embedded")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Train on N responses, drawn by the seed.")
@options.option("--dev", "DATA", "Responses to measure the loss on.", type=options.FILE)
@options.number("--dev-limit", 200, "Number of these (0 = all).")
@options.number("--length", 512, "Tokens of document and history that are read.", least=1)
@options.number("--answer", 64, "Tokens of a response.", least=1)
@fitting
@options.FORMAT
@show.resumable()
def grounded(data: str, out: str, json: bool, **given: Any) -> None:
    """Train a generator that answers from documents on the responses of TRAIN, and write it to the folder OUT.

    TRAIN is FaithDial, Wizard of Wikipedia, MultiDoc2Dial, Topical-Chat, or our JSONL. PMI-Decode works on the result.
    """
    from troth.systems.generators.grounded import train_grounded

    done = _trained(train_grounded, data, out, given)
    _show(done, json)
    show.note(f"run it: troth generate ground DATA --model {out}/{next(iter(done.best), 'last')} --out FILE")


def _trained(train: Callable[..., TrainedGenerator], data: str, out: str, given: dict[str, Any]) -> TrainedGenerator:
    fit = {name: value for name in FIT if (value := given.pop(name)) is not None}
    given["dev_limit"] = given["dev_limit"] or None
    given["log_to"] = given["log_to"] or ()
    return train(data, out, fit=fit, **given)


def _show(done: TrainedGenerator, json: bool) -> None:
    if json:
        show.json(done)
    best = ", ".join(f"{name} {abs(value):.3f}" for name, value in done.best.items())
    show.note(f"{done.folder}: {done.steps} steps{'; ' + best if best else ''}")
