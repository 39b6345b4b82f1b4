"""`troth dst`, `troth explain`, `troth check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.names import counted, tallied
from troth.tracking.profiles import CHOICES

if TYPE_CHECKING:
    from troth.tracking.explain import RuleStep

_GROUPS = options.Names(also=("service", "domain", "slot", "turn"))


def _rule(name: str) -> options.Names:
    return options.Names(also=CHOICES[name])


@click.command(no_args_is_help=True)
@options.GOLD
@click.argument("pred", nargs=-1, metavar="[PRED]...", type=options.FILE)
@options.PROFILE
@options.option("--profiles", "NAMES", "Several scoring recipes, comma-separated, or all.", type=options.ALL_PROFILES)
@options.option("--match", "NAME", "How values are compared: fuzzy-indel, fuzzy-difflib or exact.", type=_rule("match"))
@options.option("--unit", "NAME", "Unit that is right or wrong as a whole: frame or turn.", type=_rule("unit"))
@options.option(
    "--norm", "NAME", "Normaliser of slot names and values: none, multiwoz, mwzeval or checkdst.", type=_rule("norm")
)
@options.SCHEMA
@options.TRAIN_SCHEMA
@options.option("--lambda", "LIST", "Rates λ of FGA, comma-separated.  [default: 0.25,0.5,0.75,1]", "rates")
@options.option("--forget", "T,P", "Add FGA at the λ that forgives the share P of an error after T turns.")
@options.option("--fga", "RULE", "FGA as in the authors' code (code), or as in the paper (paper).", type=_rule("fga"))
@options.option(
    "--missing", "RULE", "Missing predictions score 0 (zero), or are left out as in the public script (skip).",
    type=_rule("missing"),
)  # fmt: skip
@click.option(
    "--unknown", type=click.Choice(["error", "ignore"]), default="error", show_default=True,
    help="Predicted slots that are not in the schema: stop, or leave them out and count them.",
)  # fmt: skip
@click.option("--common", is_flag=True, help="Score only the dialogues that gold and all predictions have.")
@options.option("--metrics", "NAMES", "Metrics, comma-separated. Default: all.", type=options.TRACKING_METRICS)
@options.option("--by", "NAMES", "Add scores by service, domain, slot or turn, comma-separated.", type=_GROUPS)
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
    rates: str | None,
    forget: str | None,
    metrics: str | None,
    out: str | None,
    json: bool,
    **settings: Any,
) -> None:
    """Score state tracking: every metric of the field, with intervals, for one system or several.

    GOLD is a file, a folder, an archive, or - for standard input. Each PRED is a path, or NAME=PATH. Without PRED, GOLD
    must hold gold and predictions.
    """
    from troth.tracking.metrics import DEFAULT_RATES
    from troth.tracking.score import dst as run

    if profile and profiles:
        raise UserError("--profile and --profiles exclude each other", hint="give one of them")
    result = run(
        gold,
        *pred,
        profile=profiles or profile,
        metrics=metrics,
        rates=_rates(rates, forget) or DEFAULT_RATES,
        explorer=out is not None,
        out=out,
        **settings,
    )
    show.result(result, json_form=json, out=out)
    for system, counts in result.counts.items():
        first = next(score for score in result.scores if score.system == system)
        show.note(f"{system}: {', '.join(tallied(counts))}; {first.signature}")


def _rates(rates: str | None, forget: str | None) -> list[float]:
    """The λ that are asked for; none for the default ones."""
    from troth.tracking.metrics import DEFAULT_RATES, recovery_rate

    texts = [] if rates is None else rates.split(",")
    chosen = [_number(text, "--lambda") for text in texts]
    for text, rate in zip(texts, chosen, strict=True):
        if not 0 <= rate < float("inf"):
            raise UserError(f"--lambda {text} is not a rate", hint="0 or more; the paper uses 0.25 to 1")
    if forget is not None:
        turns, _, share = forget.partition(",")
        rate = recovery_rate(_number(turns, "--forget"), _number(share, "--forget"))
        chosen = [*(chosen or DEFAULT_RATES), rate]
    return chosen


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        hint = "for example --lambda 0.5 or --forget 6,0.95"
        raise UserError(f"{option}: '{text}' is not a number", hint=hint) from None


@click.command(no_args_is_help=True)
@options.GOLD
@click.argument("pred", required=False, metavar="[PRED]", type=options.FILE)
@options.option("--from", "NAME", "First recipe. Default: that of the format.", "start", type=options.PROFILES)
@options.option("--to", "NAME", "Second recipe. Default: trade, or mwzeval after trade.", "end", type=options.PROFILES)
@options.option("--metric", "NAME", "Metric whose change is explained.", type=options.TRACKING_METRICS, default="jga")
@options.number("--examples", 3, "Number of example units and near misses to show for each rule.")
@options.SCHEMA
@options.FORMAT
@options.PRED_FORMAT
@options.JSON
def explain(gold: str, pred: str | None, examples: int, json: bool, **settings: Any) -> None:
    """Explain why two recipes give different scores: how much each rule changes the score, and on which units."""
    from troth.tracking.explain import explain as run

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
            place = f"{flip.dialogue}, turn {flip.turn}" + (f", {flip.service}" if flip.service else "")
            was, now = (tables.percent(v) for v in (flip.before, flip.after))
            slots = "; ".join(f"{one.slot}: {_quoted(one.pred)} for {_quoted(one.gold)}" for one in flip.slots[:2])
            show.text(f"{step.rule}: {place}: {was} → {now}" + (f" ({slots})" if slots else ""))


def _quoted(values: Sequence[str]) -> str:
    return " or ".join(f"'{value}'" for value in values) or "nothing"


def _step_row(step: RuleStep) -> tuple[str, ...]:
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
@options.number("--places", 3, "Number of places to show for each finding.")
@options.JSON
def check(gold: str, profile: str | None, schema: str | None, format: str | None, places: int, json: bool) -> None:
    """Check gold before you score against it: its score against itself, and oddities of its annotation."""
    from troth.tracking.check import check as run

    checked = run(gold, profile=profile, schema=schema, format=format)
    if json:
        show.json(checked)
        return
    show.tables(tables.of_scores(checked.ceiling, intervals=False))
    for score in checked.ceiling:
        if score.value is not None and score.value < 1.0:
            show.text(f"{score.metric} below 1: {score.reason}")
    if checked.unscored:
        show.text(f"without a part in this, since they cannot be scored: {counted(checked.unscored, 'dialogue')}")
    show.text(str(checked.statistics))
    show.text(f"{counted(checked.dialogues, 'dialogue')}, {counted(sum(f.count for f in checked.findings), 'finding')}")
    for finding in checked.findings:
        show.text(f"{finding.count} × {finding.kind}")
        for place in finding.places[:places]:
            where = f"{place.file}: dialogue {place.dialogue}" + ("" if place.turn is None else f", turn {place.turn}")
            show.text(f"  {where}: {place.what}")
