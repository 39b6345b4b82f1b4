"""`troth dst`, `troth explain`, `troth check`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from troth.cli import show
from troth.errors import UserError
from troth.report import tables

if TYPE_CHECKING:
    from troth.metrics.profiles import Profile
    from troth.runner.dst import Result
    from troth.runner.explain import Step

Gold = Annotated[
    str, typer.Argument(metavar="GOLD", help="Gold dialogues: a file, a folder, an archive, or - for stdin.")
]
ProfileName = Annotated[str | None, typer.Option("--profile", help="Scoring recipe; see `troth ls profiles`.")]
SchemaFile = Annotated[str | None, typer.Option("--schema", help="Services' schema, if not beside gold.")]
Format = Annotated[str | None, typer.Option("--format", help="Gold's format, if it should not be detected.")]
PredFormat = Annotated[str | None, typer.Option("--pred-format", help="The predictions' format, likewise.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    app.command(no_args_is_help=True)(dst)
    app.command(no_args_is_help=True)(explain)
    app.command(no_args_is_help=True)(check)


def dst(
    gold: Gold,
    pred: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PRED]...", help="Predictions, each PATH or NAME=PATH; none if GOLD holds both."),
    ] = None,
    profile: ProfileName = None,
    profiles: Annotated[
        str | None, typer.Option("--profiles", help="Several recipes side by side: all, or names with commas.")
    ] = None,
    match: Annotated[str | None, typer.Option("--match", help="fuzzy-indel, fuzzy-difflib or exact.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="frame or turn.")] = None,
    schema: SchemaFile = None,
    train_schema: Annotated[
        str | None, typer.Option("--train-schema", help="The training services: tells seen from unseen.")
    ] = None,
    rates: Annotated[
        str | None, typer.Option("--lambda", help="FGA's λ, with commas [default: 0.25,0.5,0.75,1].")
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option(
            "--forget", metavar="T,P", help="Add FGA's λ by which a mistake is forgotten to the share P after T turns."
        ),
    ] = None,
    fga: Annotated[
        str | None, typer.Option("--fga", help="code (the published numbers) or paper (algorithm 1).")
    ] = None,
    missing: Annotated[str | None, typer.Option("--missing", help="zero, or skip as the public script does.")] = None,
    unknown: Annotated[
        str, typer.Option("--unknown", help="Predicted slots outside the schema: error or ignore.")
    ] = "error",
    metrics: Annotated[str | None, typer.Option("--metrics", help="Only these, with commas.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Also by service, domain, slot, turn; with commas.")] = None,
    format: Format = None,
    pred_format: PredFormat = None,
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Of the dialogues, for the intervals.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    workers: Annotated[int, typer.Option("--workers", min=0, help="Processes; 0: one a core. Changes no figure.")] = 0,
    out: Annotated[
        str | None, typer.Option("--out", metavar="RUN", help="Write run.json and rows.parquet to this folder.")
    ] = None,
    json: Json = False,
) -> None:
    """State tracking: every metric of the field, with intervals, for one system or several."""
    from troth.runner import dst as runner

    if unknown not in ("error", "ignore"):
        raise UserError(f"--unknown '{unknown}' is not known", hint="one of: error, ignore")
    options = {"unit": unit, "match": match, "missing": missing, "fga": fga}
    chosen = _chosen(profile, profiles, options, gold, pred or [], schema, (format, pred_format))
    result = runner.dst(
        gold,
        *(pred or []),
        profile=chosen,
        schema=schema,
        train_schema=train_schema,
        by=by.split(",") if by else (),
        metrics=_metrics(metrics, rates, forget),
        formats=(format, pred_format),
        unknown=unknown,
        resamples=resamples,
        seed=seed,
        workers=workers or os.cpu_count() or 1,
    )
    if out is not None:
        arguments = {"gold": gold, "pred": pred or [], "by": by, "resamples": resamples, "seed": seed, **options}
        _save(out, result, {**arguments, "schema": schema, "train_schema": train_schema})
    if json:
        show.json(result.scores)
    else:
        _print(result)


def _chosen(
    profile: str | None,
    profiles: str | None,
    options: dict[str, str | None],
    gold: str,
    pred: list[str],
    schema: str | None,
    formats: tuple[str | None, str | None],
) -> Any:
    """Profiles with the options on top; None leaves the choice to the data."""
    from troth import readers
    from troth.metrics.profiles import profile as find
    from troth.runner.dst import applicable, choose, named

    if profile and profiles:
        raise UserError("--profile and --profiles exclude each other", hint="--profiles takes one name or several")
    names: list[Profile]
    if profiles == "all":
        schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
        names = applicable(schemas, correctness=(formats[0] or readers.detect(gold)) == "trippy")
    elif profiles or profile:
        names = [find(name) for name in (profiles or profile or "").split(",")]
    else:
        schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
        names = [choose(gold, named(pred[0])[1] if pred else None, schemas, formats)]
    return [name.with_options(**options) for name in names]


def _metrics(metrics: str | None, rates: str | None, forget: str | None) -> list[str] | None:
    from troth.metrics import aggregate

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
    from troth.runner import store

    counts = {system.name: asdict(system.counts) for system in result.systems}
    store.save(out, command="dst", arguments=arguments, scores=result.scores, rows=result.rows(), counts=counts)
    show.note(f"written: {out}/run.json, {out}/rows.parquet")


def _print(result: Result) -> None:
    show.tables(tables.of_scores(result.scores))
    for reason in dict.fromkeys(score.reason for score in result.scores if score.reason):
        names = dict.fromkeys(score.metric for score in result.scores if score.reason == reason)
        show.note(f"not scored: {', '.join(names)}: {reason}")
    for system in result.systems:
        lacking = [f"{count} {name.replace('_', ' ')}" for name, count in asdict(system.counts).items() if count]
        first = next(score for score in result.scores if score.system == system.name)
        show.note(f"{system.name}: {', '.join(lacking)}; {first.signature}")


def explain(
    gold: Gold,
    pred: Annotated[str | None, typer.Argument(metavar="[PRED]", help="Predictions; none if GOLD holds both.")] = None,
    start: Annotated[str, typer.Option("--from", help="The profile to start at.")] = "sgd",
    end: Annotated[str, typer.Option("--to", help="The profile to end at.")] = "trade",
    metric: Annotated[str, typer.Option("--metric", help="Whose change is explained.")] = "jga",
    examples: Annotated[int, typer.Option("--examples", min=0, help="Units shown of those that a rule flips.")] = 3,
    schema: SchemaFile = None,
    format: Format = None,
    pred_format: PredFormat = None,
    json: Json = False,
) -> None:
    """Which rule moves the score by how much between two recipes, and which units it flips."""
    from troth.metrics.profiles import profile as find
    from troth.runner.explain import explain as run

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


def check(
    gold: Gold,
    profile: ProfileName = None,
    schema: SchemaFile = None,
    format: Format = None,
    places: Annotated[int, typer.Option("--places", min=0, help="How many places to show of each finding.")] = 3,
    json: Json = False,
) -> None:
    """Gold scored against itself, and what is odd in its annotation."""
    from troth.metrics.profiles import profile as find
    from troth.runner.check import check as run

    checked = run(gold, profile=find(profile) if profile else None, schema=schema, format=format)
    if json:
        show.json(checked)
        return
    show.tables(tables.of_scores(checked.ceiling, intervals=False))
    for score in checked.ceiling:
        if score.value is not None and score.value < 1.0:
            show.text(f"{score.metric} below 1: {score.reason}")
    show.text(f"{checked.dialogues} dialogues, {sum(f.count for f in checked.findings)} findings")
    for finding in checked.findings:
        show.text(f"{finding.count} × {finding.kind}")
        for place in finding.places[:places]:
            where = f"{place.file}: dialogue {place.dialogue}" + ("" if place.turn is None else f", turn {place.turn}")
            show.text(f"  {where}: {place.what}")
