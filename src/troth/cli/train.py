"""`troth train`: trackers by any recipe, generators, and the curves of their training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show, train_generators
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.systems.train import TrainedTracker


LOSSES = {"loss": "training loss", "dev_loss": "dev loss"}


@click.group(no_args_is_help=True)
def train() -> None:
    """Train trackers and generators, and plot their training curves."""


train.add_command(train_generators.response)
train.add_command(train_generators.grounded)


@train.command(**options.settings("troth.systems.train:TrainSettings", fit="troth.systems.training:FitSettings"))
@click.argument("data", metavar="TRAIN", type=options.FILE)
@click.argument("out", metavar="OUT", type=options.FOLDER)
@options.JSON
@show.resumable()
def tracker(data: str, out: str, json: bool, **settings: Any) -> None:
    """Train a tracker on dialogues.

    The tracker is written to the folder OUT. The same command resumes an interrupted run. `troth track OUT DATA` runs
    the tracker.
    """
    from troth.systems.train import train_tracker

    trackers = train_tracker(data, out, **settings)
    if json:
        show.json(trackers)
    for trained in trackers:
        best = ", ".join(f"{name} {value:.3f}" for name, value in trained.best.items())
        show.note(f"{trained.folder}: {trained.steps} steps{'; ' + best if best else ''}")
        _draw_curves(trained)


def _draw_curves(trained: TrainedTracker) -> None:
    """Draws the curves of a run, if it has measures and the library for charts is installed."""
    from troth.systems.runs import CURVE

    try:
        if (Path(trained.folder) / CURVE).is_file():
            _draw_chart([trained.folder], str(Path(trained.folder) / "curve.svg"))
            _draw_gains([trained.folder], str(Path(trained.folder) / "gains.svg"))
            show.note(f"written: {trained.folder}/curve.json, curve.svg, gains.svg")
    except UserError as error:
        show.note(f"no chart: {error}")


@train.command(no_args_is_help=True)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=options.FOLDER)
@options.option("--chart", "FILE", "Draw the measures over the steps (CheckDST, figure 2; .svg, .png, .html).")
@options.option("--gains", "FILE", "Draw the gain of the best checkpoint by JGA over the first evaluation (figure 3).")
@options.JSON
def curve(runs: tuple[str, ...], chart: str | None, gains: str | None, json: bool) -> None:
    """Show the measures of training runs at each evaluation."""
    from troth.core.table import Table
    from troth.systems.runs import curve as points

    for path, draw in ((chart, _draw_chart), (gains, _draw_gains)):
        if path is not None:
            draw(runs, path)
            show.note(f"written: {path}")
    if json:
        show.json({run: points(run) for run in runs})
        return
    for run in runs:
        rows = points(run)
        names = [name for name in dict.fromkeys(name for row in rows for name in row) if name != "step"]
        cells = (
            (str(int(row["step"])), *(f"{row[name]:.4f}" if name in row else "" for name in names)) for row in rows
        )
        show.table(Table(("step", *names), tuple(cells), labels=1))


def _draw_chart(runs: Sequence[str], path: str) -> None:
    """Measures and losses over the steps: of one run in two panels, of several with a panel for each of them."""
    from troth.report import charts
    from troth.systems.runs import curve as points
    from troth.systems.runs import losses

    charts.check_path(path)
    rows = [
        {
            "step": row["step"], "metric": LOSSES.get(name, name), "value": value, "run": run,
            "kind": "loss" if name in LOSSES else "measures",
        }
        for run in runs
        for row in (*points(run), *losses(run))
        for name, value in row.items()
        if name != "step"
    ]  # fmt: skip
    if not rows:
        raise UserError("has no measures over training", file=runs[0], hint="train with --dev")
    colour, panel = ("metric", "kind") if len(runs) == 1 else ("run", "metric")
    charts.panels(rows, x="step", y="value", colour=colour, panel=panel, path=path, title="Training")


def _draw_gains(runs: Sequence[str], path: str) -> None:
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
