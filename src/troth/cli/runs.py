"""`troth compare`, `troth gate`, `troth table`: what is done with results."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from troth.cli import show
from troth.cli.tracking import Json, ProfileName
from troth.errors import UserError
from troth.report import tables

GoldOption = Annotated[str | None, typer.Option("--gold", help="Score prediction files against this gold first.")]
Resamples = Annotated[int, typer.Option("--resamples", min=100)]
Seed = Annotated[int, typer.Option("--seed", min=0)]


def register(app: typer.Typer) -> None:
    app.command(no_args_is_help=True)(compare)
    app.command(no_args_is_help=True)(gate)
    app.command(no_args_is_help=True)(table)


def compare(
    systems: Annotated[
        list[str], typer.Argument(metavar="BASE OTHER...", help="Run folders; or predictions with --gold.")
    ],
    metrics: Annotated[str, typer.Option("--metrics", help="With commas.")] = "jga",
    gold: GoldOption = None,
    profile: ProfileName = None,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Is the difference beyond noise? Paired bootstrap, approximate randomisation, Holm's correction."""
    from troth.runner import compare as runner

    names = metrics.split(",")
    sides = runner.sides(systems, names, gold=gold, profile=profile)
    made = runner.compare(sides, names, resamples=resamples, seed=seed)
    if json:
        show.json(made)
        return
    columns = (
        "system",
        "against",
        "metric",
        "value",
        "base",
        "difference",
        "95% interval",
        "p (boot)",
        "p (rand)",
        "p (Holm)",
    )
    rows = tuple(
        (
            d.system, d.base, d.metric, tables.percent(d.value), tables.percent(d.base_value),
            f"{100 * d.difference:+.2f}", f"{100 * d.low:+.2f} … {100 * d.high:+.2f}",
            f"{d.p_bootstrap:.4f}", f"{d.p_randomization:.4f}", f"{d.p_holm:.4f}",
        )
        for d in made
    )  # fmt: skip
    show.table(tables.Table(columns, rows, labels=3))
    show.note(f"{made[0].dialogues} dialogues, {resamples} resamples")


def gate(
    base: Annotated[str, typer.Argument(metavar="BASE", help="The run to hold against; or a prediction with --gold.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The run that must not be worse.")],
    metric: Annotated[str, typer.Option("--metric", help="For example jga, fga@0.5.")],
    margin: Annotated[float, typer.Option("--margin", min=0.0, help="How many points worse is still fine, e.g. 0.5.")],
    confidence: Annotated[float, typer.Option("--confidence", help="Between 0.5 and 1.")] = 0.95,
    gold: GoldOption = None,
    profile: ProfileName = None,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Exit 1 if NEW is worse than BASE by more than the margin, with confidence; else 0, and say how sure that is."""
    from dataclasses import asdict

    from troth.runner import compare as runner

    sides = runner.sides([base, new], [metric], gold=gold, profile=profile)
    if len(sides) != 2:
        raise UserError(f"a gate takes two systems, and these runs hold {len(sides)}", hint="one system a run")
    result = runner.gate(
        sides[0], sides[1], metric, margin=margin / 100, confidence=confidence, resamples=resamples, seed=seed
    )
    if json:
        show.json({"metric": metric, "base": sides[0].name, "new": sides[1].name, **asdict(result)})
    else:
        change = f"{metric} {100 * result.difference:+.2f} ({100 * result.low:+.2f} … {100 * result.high:+.2f})"
        show.text(f"{result.verdict}: {change} over {result.dialogues} dialogues, margin {margin:g}")
        if result.verdict == "undecided":
            needed = f"about {result.needed} dialogues would decide" if result.needed else result.reason
            show.text(f"too few dialogues to tell: {needed}")
    if result.verdict == "worse":
        raise typer.Exit(1)


def table(
    paths: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run folders, side by side.")],
    to: Annotated[str, typer.Option("--to", help="plain, markdown, latex, csv or json.")] = "plain",
    metrics: Annotated[str | None, typer.Option("--metrics", help="Only these, with commas.")] = None,
    groups: Annotated[
        str | None, typer.Option("--groups", help="Only these, with commas: all, seen, service:…")
    ] = None,
    intervals: Annotated[bool, typer.Option(help="Show the half-width of the interval.")] = True,
) -> None:
    """Runs as one table for a paper: best in bold, with what ties with it by its interval."""
    from troth.runner import store

    loaded = [(path, store.load(path)) for path in paths]
    found = [(path, score) for path, run in loaded for score in run.scores]
    names = store.distinct([(path, score.system) for path, score in found])
    scores = [msgspec.structs.replace(score, system=name) for name, (_, score) in zip(names, found, strict=True)]
    if metrics is not None:
        scores = [score for score in scores if score.metric in metrics.split(",")]
    if groups is not None:
        scores = [score for score in scores if score.group in groups.split(",")]
    if not scores:
        raise UserError("nothing is left to show", hint="check --metrics and --groups against the run")
    if to == "json":
        show.json(scores)
    elif to == "plain":
        show.tables(tables.of_scores(scores, intervals=intervals))
    else:
        show.text("\n\n".join(made.write(to) for made in tables.of_scores(scores, intervals=intervals)))
