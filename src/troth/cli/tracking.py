"""`troth dst`, `troth explain`, `troth check`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.tracking.explain import Step
    from troth.tracking.score import Result


@click.command(no_args_is_help=True)
@options.GOLD
@click.argument("pred", nargs=-1, metavar="[PRED]...")
@options.PROFILE
@click.option("--profiles", metavar="NAMES", help="Several recipes side by side: all, or names with commas.")
@click.option("--match", metavar="NAME", help="fuzzy-indel, fuzzy-difflib or exact.")
@click.option("--unit", metavar="NAME", help="frame or turn.")
@options.SCHEMA
@click.option("--train-schema", metavar="FILE", help="The training services: tells seen from unseen.")
@click.option("--lambda", "rates", metavar="LIST", help="FGA's λ, with commas.  [default: 0.25,0.5,0.75,1]")
@click.option("--forget", metavar="T,P", help="Also FGA's λ by which a mistake is forgotten to the share P in T turns.")
@click.option("--fga", metavar="RULE", help="code (the published numbers) or paper (algorithm 1).")
@click.option("--missing", metavar="RULE", help="zero, or skip as the public script does.")
@click.option("--unknown", type=click.Choice(["error", "ignore"]), default="error", help="Slots outside the schema.")
@click.option("--metrics", metavar="NAMES", help="Only these, with commas.")
@click.option("--by", metavar="NAMES", help="Also by service, domain, slot, turn; with commas.")
@options.FORMAT
@options.PRED_FORMAT
@options.resamples(1000, 1)
@options.SEED
@options.WORKERS
@options.OUT
@options.JSON
def dst(
    gold: str,
    pred: tuple[str, ...],
    profile: str | None,
    profiles: str | None,
    match: str | None,
    unit: str | None,
    schema: str | None,
    train_schema: str | None,
    rates: str | None,
    forget: str | None,
    fga: str | None,
    missing: str | None,
    unknown: str,
    metrics: str | None,
    by: str | None,
    format: str | None,
    pred_format: str | None,
    resamples: int,
    seed: int,
    workers: int,
    out: str | None,
    json: bool,
) -> None:
    """State tracking: every metric of the field, with intervals, for one system or several.

    GOLD is a file, a folder, an archive, or - for standard input; each PRED a path, or NAME=PATH. Without PRED, GOLD
    holds both.
    """
    from troth.tracking import score as runner

    rules = {"unit": unit, "match": match, "missing": missing, "fga": fga}
    if profile and profiles:
        raise UserError("--profile and --profiles exclude each other", hint="give one of them")
    named = profiles or profile
    result = runner.dst(
        gold,
        *pred,
        profile=named.split(",") if named and named != "all" else named,
        rules=rules,
        schema=schema,
        train_schema=train_schema,
        by=[name.strip() for name in by.split(",")] if by else (),
        metrics=_metrics(metrics, rates, forget),
        formats=(format, pred_format),
        unknown=unknown,
        resamples=resamples,
        seed=seed,
        workers=workers or os.cpu_count() or 1,
        keep=out is not None,
    )
    if out is not None:
        arguments = {"gold": gold, "pred": list(pred), "by": by, "resamples": resamples, "seed": seed, **rules}
        _save(out, result, {**arguments, "schema": schema, "train_schema": train_schema})
    if json:
        show.json(result.scores)
    else:
        show.tables(tables.of_scores(result.scores))
    _note(result)


def _metrics(metrics: str | None, rates: str | None, forget: str | None) -> list[str] | None:
    from troth.tracking import metrics as aggregate

    if metrics is not None:
        return [name.strip() for name in metrics.split(",")]
    chosen = [_rate(text) for text in rates.split(",")] if rates is not None else list(aggregate.DEFAULT_RATES)
    if forget is not None:
        turns, _, share = forget.partition(",")
        chosen.append(aggregate.forgetting_rate(_number(turns, "--forget"), _number(share, "--forget")))
    return aggregate.names(chosen)


def _rate(text: str) -> float:
    rate = _number(text, "--lambda")
    if not 0 <= rate < float("inf"):
        raise UserError(f"--lambda {text} is not a rate", hint="0 or more; the paper uses 0.25 to 1")
    return rate


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(
            f"{option}: '{text}' is not a number", hint="for example --lambda 0.5 or --forget 6,0.95"
        ) from None


def _save(out: str, result: Result, arguments: dict[str, Any]) -> None:
    from troth.storage import runs as store

    counts = {system.name: asdict(system.counts) for system in result.systems}
    store.save(
        out,
        command="dst",
        arguments=arguments,
        scores=result.scores,
        rows=result.rows(),
        counts=counts,
        dialogues=result.dialogues(),
    )
    show.note(store.written(out))


def _note(result: Result) -> None:
    """What has no score and why, and what was missing or left aside: told whatever form the scores have."""
    for reason in dict.fromkeys(score.reason for score in result.scores if score.reason):
        names = dict.fromkeys(score.metric for score in result.scores if score.reason == reason)
        show.note(f"not scored: {', '.join(names)}: {reason}")
    for system in result.systems:
        lacking = [f"{count} {name.replace('_', ' ')}" for name, count in asdict(system.counts).items() if count]
        first = next(score for score in result.scores if score.system == system.name)
        show.note(f"{system.name}: {', '.join(lacking)}; {first.signature}")


@click.command(no_args_is_help=True)
@options.GOLD
@click.argument("pred", required=False, metavar="[PRED]")
@click.option("--from", "start", metavar="NAME", default="sgd", show_default=True, help="The profile to start at.")
@click.option("--to", "end", metavar="NAME", default="trade", show_default=True, help="The profile to end at.")
@click.option("--metric", metavar="NAME", default="jga", show_default=True, help="Whose change is explained.")
@click.option("--examples", type=click.IntRange(min=0), default=3, help="Units shown of those that a rule flips.")
@options.SCHEMA
@options.FORMAT
@options.PRED_FORMAT
@options.JSON
def explain(
    gold: str,
    pred: str | None,
    start: str,
    end: str,
    metric: str,
    examples: int,
    schema: str | None,
    format: str | None,
    pred_format: str | None,
    json: bool,
) -> None:
    """Which rule moves the score by how much between two recipes, and which units it flips."""
    from troth.tracking.explain import explain as run
    from troth.tracking.profiles import profile as find

    steps = run(
        gold, pred, start=find(start), end=find(end), metric=metric, schema=schema, formats=(format, pred_format)
    )
    if json:
        show.json(steps)
        return
    if not steps:
        show.text(f"{start} and {end} have the same rules")
        return
    rows = [_step_row(step) for step in steps]
    columns = ("rule", "from", "to", "before", "after", "change", "alone", "up", "down", "units")
    show.table(tables.Table(columns, tuple(rows), labels=3))
    for step in steps:
        for flip in step.flips[:examples]:
            place = f"{flip.dialogue}, turn {flip.turn}" + (f", {flip.service}" if flip.service else "")
            was, now = (tables.percent(v) for v in (flip.before, flip.after))
            show.text(f"{step.rule}: {place}: {was} → {now}")


def _step_row(step: Step) -> tuple[str, ...]:
    change = None if step.before is None or step.after is None else step.after - step.before
    signed = ["–" if value is None else f"{100 * value:+.2f}" for value in (change, step.alone)]
    flips = ["–" if count is None else str(count) for count in (step.raised, step.lowered)]
    scores = (tables.percent(step.before), tables.percent(step.after))
    return (step.rule, step.old, step.new, *scores, *signed, *flips, str(step.units_after))


@click.command(no_args_is_help=True)
@options.GOLD
@options.PROFILE
@options.SCHEMA
@options.FORMAT
@click.option("--places", type=click.IntRange(min=0), default=3, help="How many places to show of each finding.")
@options.JSON
def check(gold: str, profile: str | None, schema: str | None, format: str | None, places: int, json: bool) -> None:
    """Gold scored against itself, and what is odd in its annotation."""
    from troth.tracking.check import check as run
    from troth.tracking.profiles import profile as find

    checked = run(gold, profile=find(profile) if profile else None, schema=schema, format=format)
    if json:
        show.json(checked)
        return
    show.tables(tables.of_scores(checked.ceiling, intervals=False))
    for score in checked.ceiling:
        if score.value is not None and score.value < 1.0:
            show.text(f"{score.metric} below 1: {score.reason}")
    if checked.unscored:
        show.text(f"{checked.unscored} dialogues cannot be scored and take no part in this")
    show.text(f"{checked.dialogues} dialogues, {sum(f.count for f in checked.findings)} findings")
    for finding in checked.findings:
        show.text(f"{finding.count} × {finding.kind}")
        for place in finding.places[:places]:
            where = f"{place.file}: dialogue {place.dialogue}" + ("" if place.turn is None else f", turn {place.turn}")
            show.text(f"  {where}: {place.what}")
