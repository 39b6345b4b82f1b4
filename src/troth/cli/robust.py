"""`troth robust checkdst|sgdx|runs|checkpoints`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.core.score import Score
    from troth.robustness.checkdst import Robustness
    from troth.robustness.sgdx import Sensitivity


@click.group(no_args_is_help=True)
def robust() -> None:
    """Is a tracker steady when the user, or the schema, says the same otherwise?"""


@robust.command(no_args_is_help=True)
@click.argument("original", metavar="ORIG")
@click.argument("perturbed", nargs=-1, required=True, metavar="NAME=PATH...")
@click.option("--name", default="system", show_default=True, help="What the system is called in tables.")
@options.PROFILE
@options.SCHEMA
@click.option("--nohf", type=click.Choice(["default", "code"]), default="default", help="Whether dontcare is invented.")
@click.option(
    "--coref", type=click.Choice(["annotated", "patterns"]), default="annotated", help="Which turns refer back."
)
@click.option("--slots", metavar="NAMES", help="Slots that hold named entities, with commas.")
@click.option("--flips", type=click.IntRange(min=0), default=5, show_default=True, help="Flipped units to show.")
@options.resamples(1000, 1)
@options.SEED
@options.WORKERS
@options.OUT
@options.JSON
def checkdst(
    original: str,
    perturbed: tuple[str, ...],
    name: str,
    profile: str | None,
    schema: str | None,
    nohf: Any,
    coref: Any,
    slots: str | None,
    flips: int,
    resamples: int,
    seed: int,
    workers: int,
    out: str | None,
    json: bool,
) -> None:
    """Consistency under perturbation, no hallucination, coreference (CheckDST).

    ORIG and each PATH are a file that holds gold and prediction together, or GOLD,PRED.
    """
    from troth.robustness.checkdst import checkdst as run

    result = run(
        original,
        _named(perturbed),
        name=name,
        profile=profile,
        schema=schema,
        nohf=nohf,
        coref=coref,
        slots=frozenset(slots.split(",")) if slots else None,
        resamples=resamples,
        seed=seed,
        workers=workers or os.cpu_count() or 1,
        keep=out is not None,
    )
    if out is not None:
        arguments = {"original": original, "perturbed": list(perturbed), "nohf": nohf, "coref": coref, "seed": seed}
        counts = {one.name or "orig": asdict(one.scored.counts) for one in result.sets}
        _save(out, "robust checkdst", arguments, result, counts, result.flips)
    if json:
        show.json(result.scores)
        return
    _print_checkdst(result, flips)


def _print_checkdst(result: Robustness, flips: int) -> None:
    show.table(checkdst_table([(result.scores[0].system, {s.metric: _cell(s) for s in result.scores})]))
    show.text("")
    show.table(_twins_table(result.scores))
    for metric, reason in {s.metric: s.reason for s in result.scores if s.reason}.items():
        show.note(f"not scored: {metric}: {reason}")
    for perturbation, (ours, theirs) in result.unpaired.items():
        down = sum(f.right == "before" for f in result.flips if f.perturbation == perturbation)
        up = sum(f.right == "after" for f in result.flips if f.perturbation == perturbation)
        counted = f"{down} units right before and wrong after, {up} the other way"
        show.note(f"{perturbation}: {counted}; without a twin: {ours} of the original, {theirs} perturbed")
    for flip in result.flips[:flips]:
        place = f"{flip.dialogue}, turn {flip.turn}" + (f", {flip.service}" if flip.service else "")
        show.text(f"{flip.perturbation}: right {flip.right} only: {place}: {' '.join(flip.changed)}")
    show.note(result.scores[0].signature)


def checkdst_table(systems: Sequence[tuple[str, dict[str, str]]]) -> tables.Table:
    """Table 2 of the paper: a row a system; NoHF on the original set and on the one with names swapped."""
    every = list(dict.fromkeys(metric for _, cells in systems for metric in cells))
    known = ("cjga:PI", "cjga:SDI", "cjga:NED")
    others = [metric for metric in every if metric.startswith("cjga:") and metric not in known]
    order = ("jga", "coref_jga", *known, *others, "nohf", "nohf:NED", "slack")
    metrics = [metric for metric in order if metric in every]
    rows = tuple((name, *(cells.get(metric, "–") for metric in metrics)) for name, cells in systems)
    return tables.Table(("system", *metrics), rows)


def _twins_table(scores: Sequence[Score]) -> tables.Table:
    """Before and after, a row a perturbation."""
    found = {score.metric: _cell(score) for score in scores}
    names = [metric.partition(":")[2] for metric in found if metric.startswith("cjga:")]
    rows = tuple((name, *(found[f"{m}:{name}"] for m in ("jga", "cjga", "cjga_all", "nohf"))) for name in names)
    whole = ("original", found["jga"], "–", "–", found["nohf"])
    return tables.Table(("set", "jga", "cjga", "cjga_all", "nohf"), (whole, *rows))


def _cell(score: Score) -> str:
    if score.value is None or score.low is None or score.high is None:
        return tables.percent(score.value)
    return f"{tables.percent(score.value)} ±{tables.percent((score.high - score.low) / 2, 1)}"


@robust.command(no_args_is_help=True)
@options.GOLD
@click.argument("variants", nargs=-1, required=True, metavar="v1=PRED v2=PRED... [orig=PRED]")
@click.option(
    "--from", "schemas", metavar="SGDX", help="The variants' schemas or tools: names are mapped back by them."
)
@click.option("--schema", metavar="FILE", help="Gold's schema or tools, if not beside gold.")
@click.option("--name", default="system", show_default=True, help="What the system is called in tables.")
@options.PROFILE
@click.option(
    "--metrics", metavar="NAMES", default="jga", show_default=True, help="With commas; any with a value per unit."
)
@click.option("--train-schema", metavar="FILE", help="The training services: tells seen from unseen.")
@click.option("--ss", "rule", type=click.Choice(["zero", "skip"]), default="zero", help="A unit that is always wrong.")
@click.option("--units", type=click.IntRange(min=0), default=5, show_default=True, help="Wavering units to show.")
@click.option("--chart", metavar="FILE", help="Sensitivity against accuracy, a point a service (.svg, .png, .html).")
@click.option("--chart-variants", metavar="FILE", help="The metric under each variant.")
@options.resamples(1000, 1)
@options.SEED
@options.WORKERS
@options.OUT
@options.JSON
def sgdx(
    gold: str,
    variants: tuple[str, ...],
    schemas: str | None,
    schema: str | None,
    name: str,
    profile: str | None,
    metrics: str,
    train_schema: str | None,
    rule: Any,
    units: int,
    chart: str | None,
    chart_variants: str | None,
    resamples: int,
    seed: int,
    workers: int,
    out: str | None,
    json: bool,
) -> None:
    """Sensitivity to the wording of the schema (SGD-X): the average over variants, and how much units waver."""
    from troth import readers
    from troth.report import charts
    from troth.robustness.sgdx import sgdx as run

    for path in (chart, chart_variants):
        if path is not None:
            charts.check_path(path)
    preds = _named(variants)
    result = run(
        gold,
        {label: path for label, path in preds.items() if label != "orig"},
        original_pred=preds.get("orig"),
        schemas=schemas,
        schema=schema,
        name=name,
        profile=profile or "sgd",
        metrics=[name.strip() for name in metrics.split(",")],
        train_schema=train_schema,
        by=("service",),
        rule=rule,
        resamples=resamples,
        seed=seed,
        workers=workers or os.cpu_count() or 1,
        keep=out is not None,
    )
    if out is not None:
        arguments = {"gold": gold, "variants": list(variants), "metrics": metrics, "ss": rule, "seed": seed}
        counts = {label: asdict(one.counts) for label, one in result.systems.items()}
        _save(out, "robust sgdx", arguments, result, counts, result.wavering)
    if chart is not None or chart_variants is not None:
        seen = frozenset(readers.schema(train_schema)) if train_schema else None
        _draw(result.scores, metrics.split(",", maxsplit=1)[0], seen, chart, chart_variants)
    if json:
        show.json(result.scores)
    else:
        _print_sgdx(result, units)


def _print_sgdx(result: Sensitivity, units: int) -> None:
    show.tables(tables.of_scores([s for s in result.scores if ":" not in s.group]))
    services = [s for s in result.scores if s.group.startswith("service:") and ":" not in s.metric]
    show.text("")
    show.tables(tables.of_scores(services, headline=()))
    for unit in result.wavering[:units]:
        right = ", ".join(f"{label} {tables.percent(value, 0)}" for label, value in unit.values.items())
        show.text(f"wavers: {unit.dialogue}, turn {unit.turn}, {unit.service}: {right}")
    wrong = next(s for s in result.scores if s.metric.startswith("all_wrong") and s.group == "all")
    show.note(
        f"{round((wrong.value or 0) * wrong.n)} of {wrong.n} units are wrong under every variant, and do not waver"
    )
    show.note(next(s.signature for s in result.scores if s.metric.startswith("ss_")))


def _draw(
    scores: Sequence[Score], metric: str, seen: frozenset[str] | None, chart: str | None, chart_variants: str | None
) -> None:
    from troth.report import charts

    value = {(s.metric, s.group): s.value for s in scores}
    skipped = (f"{metric}_orig", f"{metric}_drop")
    average = next(s.metric for s in scores if s.metric.startswith(f"{metric}_") and s.metric not in skipped)
    if chart is not None:
        rows: list[dict[str, Any]] = []
        for score in scores:
            if score.metric == f"ss_{metric}" and score.group.startswith("service:"):
                service = score.group.partition(":")[2]
                kind = "all" if seen is None else "seen" if service in seen else "unseen"
                point = {average: value[average, score.group], score.metric: score.value}
                rows.append({"service": service, "services": kind, **point})
        title = "Sensitivity against accuracy, by service"
        charts.scatter(rows, x=average, y=f"ss_{metric}", label="service", colour="services", path=chart, title=title)
        show.note(f"written: {chart}")
    if chart_variants is not None:
        rows = [
            {"variant": s.metric.partition(":")[2] or "orig", metric: s.value, "group": s.group}
            for s in sorted(scores, key=lambda s: not s.metric.endswith("_orig"))
            if ":" not in s.group and (s.metric.startswith(f"{metric}:") or s.metric == f"{metric}_orig")
        ]
        title = f"{metric} under each wording of the schema"
        charts.lines(rows, x="variant", y=metric, colour="group", path=chart_variants, title=title)
        show.note(f"written: {chart_variants}")


@robust.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="RUN...")
@click.option("--to", metavar="FORM", default="plain", show_default=True, help="plain, markdown, latex or csv.")
@options.JSON
def runs(paths: tuple[str, ...], to: str, json: bool) -> None:
    """Several runs of one system or more: median ± standard error, a row a system."""
    from troth.robustness.checkpoints import medians
    from troth.storage import runs as store

    found = medians([store.load(path) for path in paths])
    if json:
        show.json(found)
        return
    systems: dict[str, dict[str, str]] = {}
    for one in found:
        error = "" if one.error is None else f" ± {tables.percent(one.error, 1)}"
        systems.setdefault(one.system, {})[one.metric] = tables.percent(one.median, 1) + error
    made = checkdst_table(list(systems.items()))
    if to == "plain":
        show.table(made)
    else:
        show.text(made.write(to))


@robust.command(no_args_is_help=True)
@click.argument("paths", nargs=-1, required=True, metavar="RUN...")
@click.option("--pick", is_flag=True, help="Print only the checkpoint to keep: the least average slack.")
@click.option("--chart", metavar="FILE", help="The metrics over checkpoints (.svg, .png, .html).")
@options.JSON
def checkpoints(paths: tuple[str, ...], pick: bool, chart: str | None, json: bool) -> None:
    """One system over its training: curves, gains, and the checkpoint with the least average slack.

    RUN... are runs of `troth robust checkdst --out`, in the order of training.
    """
    from troth.report import charts
    from troth.robustness.checkpoints import in_table_2
    from troth.robustness.checkpoints import pick as choose
    from troth.storage import runs as store

    if chart is not None:
        charts.check_path(chart)
    picked = choose([(path, store.load(path)) for path in paths])
    if chart is not None:
        steps = [p.step for p in picked.checkpoints]
        by_step = None not in steps and len(set(steps)) == len(steps)
        rows = [
            {"checkpoint": p.step if by_step else p.name, "metric": metric, "value": value}
            for p in picked.checkpoints
            for metric, value in p.values.items()
            if in_table_2(metric)
        ]
        charts.lines(rows, x="checkpoint", y="value", colour="metric", path=chart, title="CheckDST over training")
        show.note(f"written: {chart}")
    if json:
        show.json(picked)
    elif pick:
        show.text(picked.least_slack)
        show.note(f"best JGA: {picked.best_jga}")
    else:
        cells = [
            (p.name, {**{m: tables.percent(v) for m, v in p.values.items()}, "slack": tables.percent(p.slack)})
            for p in picked.checkpoints
        ]
        show.table(checkdst_table(cells))
        show.text(f"least average slack: {picked.least_slack}; best JGA: {picked.best_jga}")
        gains = ", ".join(f"{metric} {100 * gain:+.1f}" for metric, gain in picked.gains.items())
        show.text(f"best JGA minus the first checkpoint: {gains}")


def _named(items: Sequence[str]) -> dict[str, str]:
    named: dict[str, str] = {}
    for item in items:
        name, equals, path = item.partition("=")
        if not equals or not name or not path:
            raise UserError(f"'{item}' has no name", hint="write it as NAME=PATH")
        if name in named:
            raise UserError(f"'{name}' is named twice", hint="each set once")
        named[name] = path
    return named


def _save(
    out: str,
    command: str,
    arguments: dict[str, Any],
    result: Robustness | Sensitivity,
    counts: dict[str, dict[str, int]],
    details: Sequence[Any],
) -> None:
    from troth.storage import runs as store

    store.save(
        out,
        command=command,
        arguments=arguments,
        scores=result.scores,
        rows=result.rows(),
        counts=counts,
        details=details,
        dialogues=result.dialogues(),
    )
    show.note(store.written(out))
