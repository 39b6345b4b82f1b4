"""`troth dst`, `troth explain`, `troth check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.names import format_count, format_counts

if TYPE_CHECKING:
    from troth.tracking.explain import RuleStep

SETTINGS = "troth.tracking.score:TrackingSettings"


@options.command(SETTINGS)
@options.GOLD
@click.argument("pred", nargs=-1, metavar="[PRED]...", type=options.FILE)
@options.option("--profiles", "NAMES", "Several scoring recipes, comma-separated, or all.", type=options.ALL_PROFILES)
@options.option("--forget", "T,P", "Add FGA at the λ that forgives the share P of an error after T turns.")
@options.JSON
def dst(
    gold: str, pred: tuple[str, ...], profiles: str | None, forget: str | None, json: bool, **settings: Any
) -> None:
    """Score state tracking with every metric of the field.

    Scores one system or several, with intervals. GOLD is a file, a folder, an archive, or - for standard input. Each
    PRED is a path, or NAME=PATH. Without PRED, GOLD must contain gold and predictions.
    """
    from troth.tracking.score import dst as run

    if settings["profile"] and profiles:
        raise UserError("--profile and --profiles exclude each other", hint="give one of them")
    settings["profile"] = profiles or settings["profile"]
    settings["rates"] = _parse_rates(settings["rates"], forget, every=settings["metrics"] is None)
    out = settings["out"]
    result = run(gold, *pred, explorer=out is not None, **settings)
    show.result(result, json_form=json, out=out)
    for system, counts in result.counts.items():
        first = next(score for score in result.scores if score.system == system)
        show.note(f"{system}: {', '.join(format_counts(counts))}; {first.signature}")


def _parse_rates(rates: Sequence[float] | None, forget: str | None, *, every: bool) -> list[float] | None:
    """The rates of FGA: those of both options; None for the usual ones. `every`: all metrics are scored."""
    from troth.tracking.metrics import DEFAULT_RATES, recovery_rate

    if forget is None:
        return None if rates is None else list(rates)
    turns, _, share = forget.partition(",")
    usual = DEFAULT_RATES if every else ()
    return [*(usual if rates is None else rates), recovery_rate(_number(turns), _number(share))]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"--forget: '{text}' is not a number", hint="for example --forget 6,0.95") from None


@options.command(options.SettingsSource(SETTINGS, only=("schema", "format", "pred_format")))
@options.GOLD
@click.argument("pred", required=False, metavar="[PRED]", type=options.FILE)
@options.option("--from", "NAME", "First recipe. Default: that of the format.", "start", type=options.PROFILES)
@options.option("--to", "NAME", "Second recipe. Default: trade, or mwzeval after trade.", "end", type=options.PROFILES)
@options.option("--metric", "NAME", "Metric whose change is explained.", type=options.TRACKING_METRICS, default="jga")
@options.number("--examples", 3, "Number of example units and near misses to show for each rule.")
@click.option("--slots", is_flag=True, help="Show which slots cause the errors under the first recipe instead.")
@options.JSON
def explain(gold: str, pred: str | None, examples: int, slots: bool, json: bool, **settings: Any) -> None:
    """Explain why two scoring recipes give different scores.

    Shows how much each rule changes the score, and on which units; with --slots, which slots make units wrong.
    """
    from troth.tracking.explain import explain as run

    if slots:
        _show_slot_errors(gold, pred, json, settings)
        return
    steps = run(gold, pred, **settings)
    if json:
        show.json(steps)
        return
    if not steps:
        show.text("the two profiles have the same rules")
        return
    rows = [_step_row(step) for step in steps]
    columns = ("rule", "from", "to", "before", "after", "change", "alone", "up", "down", "units")
    show.table(tables.Table(columns, tuple(rows), labels=3))
    for step in steps:
        for line in step.near_misses[:examples]:
            show.text(f"{step.rule}: {line}")
        for flip in step.flips[:examples]:
            unit = f"{flip.dialogue}, turn {flip.turn}" + (f", {flip.service}" if flip.service else "")
            before, after = (tables.percent(value) for value in (flip.before, flip.after))
            faults = "; ".join(f"{slot.slot}: {_quote(slot.pred)} for {_quote(slot.gold)}" for slot in flip.slots[:2])
            show.text(f"{step.rule}: {unit}: {before} → {after}" + (f" ({faults})" if faults else ""))


def _show_slot_errors(gold: str, pred: str | None, json: bool, settings: dict[str, Any]) -> None:
    from troth.tracking.slot_errors import slot_errors

    if settings["end"] is not None or settings["metric"] != "jga":
        raise UserError("--slots is about JGA under one recipe", hint="leave out --to and --metric")
    files = {name: settings[name] for name in ("schema", "format", "pred_format")}
    found = slot_errors(gold, pred, profile=settings["start"], **files)
    if json:
        show.json(found)
        return
    columns = ("slot", "wrong units", "wrong in it alone", "of all wrong units", "points of JGA")
    rows = [
        (one.slot, str(one.wrong), str(one.alone), tables.percent(one.share), f"{100 * one.cost:.2f}") for one in found
    ]
    show.table(tables.Table(columns, tuple(rows), labels=1)) if rows else show.text("no slot is wrong")


def _quote(values: Sequence[str]) -> str:
    return " or ".join(f"'{value}'" for value in values) or "nothing"


def _step_row(step: RuleStep) -> tuple[str, ...]:
    change = None if step.before is None or step.after is None else step.after - step.before
    signed = ["–" if value is None else f"{100 * value:+.2f}" for value in (change, step.alone)]
    flips = ["–" if count is None else str(count) for count in (step.raised, step.lowered)]
    scores = (tables.percent(step.before), tables.percent(step.after))
    return (step.rule, step.old, step.new, *scores, *signed, *flips, str(step.units_after))


@options.command(options.SettingsSource(SETTINGS, only=("profile", "schema", "format")))
@options.GOLD
@options.number("--examples", 3, "Number of examples to show of each kind of finding.")
@options.JSON
def check(gold: str, examples: int, json: bool, **settings: Any) -> None:
    """Check gold annotations before you score against them.

    Shows the score of gold against itself, and oddities of its annotation.
    """
    from troth.tracking.check import check as run

    checked = run(gold, **settings)
    if json:
        show.json(checked)
        return
    show.tables(tables.score_tables(checked.ceiling, intervals=False))
    for score in checked.ceiling:
        if score.value is not None and score.value < 1.0:
            show.text(f"{score.metric} below 1: {score.reason}")
    if checked.unscored:
        show.text(f"left out, because they cannot be scored: {format_count(checked.unscored, 'dialogue')}")
    show.text(str(checked.statistics))
    findings = format_count(sum(finding.count for finding in checked.findings), "finding")
    show.text(f"{format_count(checked.dialogues, 'dialogue')}, {findings}")
    for finding in checked.findings:
        show.text(f"{finding.count} × {finding.kind}")
        for example in finding.places[:examples]:
            turn = "" if example.turn is None else f", turn {example.turn}"
            show.text(f"  {example.file}: dialogue {example.dialogue}{turn}: {example.what}")
