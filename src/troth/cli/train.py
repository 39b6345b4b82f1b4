"""`troth train`: trackers by any recipe, generators, and the curves of their training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show, train_generators
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.systems.train import TrainedTracker

RECIPES = options.Names("troth.systems.recipe:RECIPES")
FIT = ("epochs", "steps", "batch", "rate", "evaluate_every", "patience", "save_every", "bfloat16")


@click.group(no_args_is_help=True)
def train() -> None:
    """Train trackers and generators, and draw what became of them."""


train.add_command(train_generators.response)
train.add_command(train_generators.grounded)


@train.command(no_args_is_help=True)
@click.argument("data", metavar="TRAIN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@options.option("--recipe", "NAME", "Kind of tracker; `troth ls recipes` lists them.", type=RECIPES, default="span")
@options.option("--model", "NAME", "Pretrained model: a folder, hf:ORG/MODEL, or the recipe's own.", default="embedded")
@click.option("--set", "chosen", metavar="OPTION=VALUE", multiple=True, help="Set an option of the recipe.")
@options.option("--dev", "DATA", "Dialogues that the best checkpoint is chosen by.", type=options.FILE)
@options.number("--dev-limit", 100, "Number of these dialogues that are tracked (0 = all).")
@options.option("--sets", "NAMES", "Perturbed twins of them to measure on as well, for example NED,SDI,PI.")
@options.option("--shots", "SHOTS", "Train on some dialogues: a share (5%), a number per domain, or a file of ids.")
@options.option("--augment", "HOW", "Train on other wordings of the schema as well: backtranslate, corrupt or oracle.")
@options.option("--schemas", "FOLDER", "Schemas of the wordings, for oracle, as SGD-X has them.", type=options.FOLDER)
@options.option("--first", "SOURCES", "What a first phase learns from: NAME=FILE of tasks, or dialogues; see the docs.")
@options.option("--first-set", "FIELDS", "Settings of the first phase, for example epochs=2,rate=5e-5.")
@options.option("--seeds", "NUMBERS", "Random seeds, comma-separated: a run for each.", default="0")
@click.option("--epochs", type=float, metavar="NUMBER", help="Passes over the data.  [default: 1]")
@click.option("--steps", type=click.IntRange(min=1), metavar="N", help="Steps, in place of epochs.")
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Examples per step.  [default: 32]")
@click.option("--rate", type=float, metavar="NUMBER", help="Highest learning rate.  [default: 1e-4]")
@click.option("--evaluate-every", type=int, metavar="N", help="Steps between evaluations.  [default: at the end]")
@click.option("--patience", type=int, metavar="N", help="Stop after so many evaluations without a better JGA.")
@click.option("--save-every", type=int, metavar="N", help="Steps between checkpoints to resume from.  [default: 500]")
@click.option("--bfloat16", is_flag=True, default=None, help="Compute in bfloat16: faster on processors that have it.")
@options.option("--log-to", "NAMES", "tensorboard, mlflow, wandb: report there as well, where installed.")
@options.SCHEMA
@options.FORMAT
@options.JSON
@show.resumable()
def tracker(data: str, out: str, json: bool, **given: Any) -> None:
    """Train a tracker on the dialogues of TRAIN, and write it to the folder OUT.

    The same command goes on with a run that was stopped. `troth track OUT DATA` runs the tracker.
    """
    from troth.systems.train import train_tracker

    fit = {name: value for name in FIT if (value := given.pop(name)) is not None}
    settings = {
        "options": _pairs(given.pop("chosen")),
        "first_fit": _pairs((given.pop("first_set") or "").split(",")),
        "seeds": _seeds(given.pop("seeds")),
        "dev_limit": given.pop("dev_limit") or None,
        **{name: given.pop(name) or () for name in ("first", "sets", "log_to")},
        **given,
    }
    done = train_tracker(data, out, fit=fit, **settings)
    if json:
        show.json(done)
    for one in done:
        best = ", ".join(f"{name} {value:.3f}" for name, value in one.best.items())
        show.note(f"{one.folder}: {one.steps} steps{'; ' + best if best else ''}")
        _draw(one)


def _pairs(texts: Sequence[str]) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for text in filter(None, texts):
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"'{text}' is no setting", hint="write it as NAME=VALUE")
        pairs[name.strip()] = _number(value)
    return pairs


def _number(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"seeds cannot be '{text}'", hint="whole numbers, for example 0,1,2") from None


def _draw(one: TrainedTracker) -> None:
    """The curves of a run, if it has measures and there is a library to draw with."""
    from troth.systems.runs import CURVE

    try:
        if (Path(one.folder) / CURVE).is_file():
            _chart([one.folder], str(Path(one.folder) / "curve.svg"))
            _gains([one.folder], str(Path(one.folder) / "gains.svg"))
            show.note(f"written: {one.folder}/curve.json, curve.svg, gains.svg")
    except UserError as error:
        show.note(f"no chart: {error}")


@train.command(no_args_is_help=True)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
@options.option("--chart", "FILE", "Draw the measures over the steps (CheckDST, figure 2; .svg, .png, .html).")
@options.option("--gains", "FILE", "Draw what the best by JGA has over the first evaluation (figure 3).")
@options.JSON
def curve(runs: tuple[str, ...], chart: str | None, gains: str | None, json: bool) -> None:
    """Show the measures of training runs at each evaluation."""
    from troth.core.table import Table
    from troth.systems.runs import curve as points

    for path, draw in ((chart, _chart), (gains, _gains)):
        if path is not None:
            draw(runs, path)
            show.note(f"written: {path}")
    if json:
        show.json({run: points(run) for run in runs})
        return
    for run in runs:
        rows = points(run)
        names = [name for name in dict.fromkeys(name for row in rows for name in row) if name != "step"]
        show.table(Table(("step", *names), tuple(_cells(row, names) for row in rows), labels=1))


def _cells(row: Mapping[str, float], names: Sequence[str]) -> tuple[str, ...]:
    return str(int(row["step"])), *(f"{row[name]:.4f}" if name in row else "" for name in names)


def _chart(runs: Sequence[str], path: str) -> None:
    from troth.report import charts
    from troth.systems.runs import curve as points

    charts.check_path(path)
    rows = [
        {"step": row["step"], "metric": name, "value": value, "run": run}
        for run in runs
        for row in points(run)
        for name, value in row.items()
        if name not in ("step", "dev_loss")
    ]
    if not rows:
        raise UserError("has no measures over training", file=runs[0], hint="train with --dev")
    title = "Measures over training"
    if len(runs) == 1:
        charts.lines(rows, x="step", y="value", colour="metric", path=path, title=title)
    else:
        charts.panels(rows, x="step", y="value", colour="run", panel="metric", path=path, title=title)


def _gains(runs: Sequence[str], path: str) -> None:
    from troth.report import charts
    from troth.systems.train import gains

    alt = charts.altair()
    charts.check_path(path)
    rows = [{"run": run, "metric": name, "gain": value} for run in runs for name, value in gains(run).items()]
    bars = alt.Chart(alt.Data(values=rows), title="Best by JGA minus the first evaluation").mark_bar()
    drawn = bars.encode(
        x=alt.X("gain:Q"), y=alt.Y("metric:N", sort=None), row=alt.Row("run:N", title=None),
        color=alt.Color("run:N", scale=alt.Scale(range=charts.PALETTE), legend=None),
    )  # fmt: skip
    charts.write(drawn, path)
