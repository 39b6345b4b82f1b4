"""`troth compare`, `troth gate`, `troth table`: what is done with results."""

from __future__ import annotations

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError


@click.command(no_args_is_help=True)
@click.argument("systems", nargs=-1, required=True, metavar="BASE OTHER...")
@click.option("--metrics", metavar="NAMES", default="jga", show_default=True, help="With commas.")
@options.GOLD_OPTION
@options.PROFILE
@options.resamples(10_000, 100)
@options.SEED
@options.JSON
def compare(
    systems: tuple[str, ...],
    metrics: str,
    gold: str | None,
    profile: str | None,
    resamples: int,
    seed: int,
    json: bool,
) -> None:
    """Is the difference beyond noise? Paired bootstrap, approximate randomisation, Holm's correction.

    BASE and OTHER are run folders, or predictions with --gold.
    """
    from troth.report import compare as runner

    names = _names(metrics)
    sides = runner.sides(systems, names, gold=gold, profile=profile)
    made = runner.compare(sides, names, resamples=resamples, seed=seed)
    if json:
        show.json(made)
        return
    scales = sides[0].scales
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
            d.system, d.base, d.metric, tables.number(d.value, scales[d.metric]),
            tables.number(d.base_value, scales[d.metric]), tables.signed(d.difference, scales[d.metric]),
            f"{tables.signed(d.low, scales[d.metric])} … {tables.signed(d.high, scales[d.metric])}",
            f"{d.p_bootstrap:.4f}", f"{d.p_randomization:.4f}", f"{d.p_holm:.4f}",
        )
        for d in made
    )  # fmt: skip
    show.table(tables.Table(columns, rows, labels=3))
    show.note(f"{made[0].dialogues} dialogues, {resamples} resamples")


@click.command(no_args_is_help=True)
@click.argument("base", metavar="BASE")
@click.argument("new", metavar="NEW")
@click.option("--metric", metavar="NAME", required=True, help="For example jga, fga@0.5.")
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    required=True,
    help="How much worse is still fine: in points, or in the metric's own unit where it is no share (runs of ground).",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Between 0.5 and 1.")
@options.GOLD_OPTION
@options.PROFILE
@options.resamples(10_000, 100)
@options.SEED
@options.JSON
def gate(
    base: str,
    new: str,
    metric: str,
    margin: float,
    confidence: float,
    gold: str | None,
    profile: str | None,
    resamples: int,
    seed: int,
    json: bool,
) -> None:
    """Exit 1 if NEW is worse than BASE by more than the margin, with confidence; else 0, and say how sure that is."""
    from dataclasses import asdict

    from troth.report import compare as runner

    sides = runner.sides([base, new], [metric], gold=gold, profile=profile)
    if len(sides) != 2:
        raise UserError(f"a gate takes two systems, and these runs hold {len(sides)}", hint="one system a run")
    result = runner.gate(
        sides[0], sides[1], metric, margin=sides[0].margin(metric, margin), confidence=confidence,
        resamples=resamples, seed=seed,
    )  # fmt: skip
    if json:
        show.json({"metric": metric, "base": sides[0].name, "new": sides[1].name, **asdict(result)})
    else:
        scale = sides[0].scales.get(metric, "share")
        low, difference, high = (tables.signed(one, scale) for one in (result.low, result.difference, result.high))
        change = f"{metric} {difference} ({low} … {high})"
        show.text(f"{result.verdict}: {change} over {result.dialogues} dialogues, margin {margin:g}")
        if result.verdict == "undecided":
            needed = f"about {result.needed} dialogues would decide" if result.needed else result.reason
            show.text(f"too few dialogues to tell: {needed}")
    if result.verdict == "worse":
        click.get_current_context().exit(1)


@click.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="RUN...")
@click.option("--to", metavar="FORM", default="plain", show_default=True, help="plain, markdown, latex, csv or json.")
@click.option("--metrics", metavar="NAMES", help="Only these, with commas.")
@click.option("--groups", metavar="NAMES", help="Only these, with commas: all, seen, service:…")
@click.option("--intervals/--no-intervals", default=True, help="The half-width of the interval behind each number.")
@options.JSON
def table(
    paths: tuple[str, ...], to: str, metrics: str | None, groups: str | None, intervals: bool, json: bool
) -> None:
    """Runs as one table for a paper: best in bold, with what ties with it by its interval."""
    from troth.storage import runs as store

    if json and to not in ("plain", "json"):
        raise UserError(f"--json and --to {to} exclude each other", hint="give one of them")
    loaded = [(path, store.load(path)) for path in paths]
    found = [(path, score) for path, run in loaded for score in run.scores]
    names = store.distinct([(path, score.system) for path, score in found])
    scores = [msgspec.structs.replace(score, system=name) for name, (_, score) in zip(names, found, strict=True)]
    if metrics is not None:
        scores = [score for score in scores if score.metric in _names(metrics)]
    if groups is not None:
        scores = [score for score in scores if score.group in _names(groups)]
    if not scores:
        raise UserError("nothing is left to show", hint="check --metrics and --groups against the run")
    recipes = {(score.metric, score.group): set[str]() for score in scores}
    for score in scores:
        recipes[score.metric, score.group].add(score.recipe)
    if any(len(found) > 1 for found in recipes.values()):
        show.note("these runs are scored by different recipes: their numbers do not compare, and none is marked best")
    if json or to == "json":
        show.json(scores)
    elif to == "csv":
        show.text(tables.tidy(scores))
    elif to == "plain":
        show.tables(tables.of_scores(scores, intervals=intervals))
    else:
        show.text("\n\n".join(made.write(to) for made in tables.of_scores(scores, intervals=intervals)))


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",")]
