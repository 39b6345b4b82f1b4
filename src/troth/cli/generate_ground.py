"""`troth generate ground` and `troth generate sweep`: responses faithful to their document, by PMI-Decode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import ground as scoring
from troth.cli import options, show
from troth.core.names import counted
from troth.core.score import Score
from troth.core.table import Table, number
from troth.systems.decoding.settings import MODES, STYLES

if TYPE_CHECKING:
    from troth.storage.result import Result
    from troth.systems.decoding.settings import Setting

NONE = "none"
METRICS = f"Metrics of faithfulness, with commas; {NONE}: no metric. One should not be what decoding optimises."
PICK = (
    "Name the setting with the highest sum of relevance and normalised pmi_faith (without it: the first of --metrics)."
)


def decoding(command: options.F) -> options.F:
    """The options of a generation, except α and p."""
    decorated: Any = command
    for option in reversed([
        options.option("--model", "NAME", "Model that responds.", type=options.BACKENDS, default="embedded"),
        click.option("--decode", "mode", type=click.Choice(MODES), default="greedy", show_default=True),
        click.option("--beams", type=click.IntRange(2, 64), default=4, show_default=True),
        click.option("--temperature", type=options.Real(0, 10, min_open=True), default=1.0, show_default=True),
        click.option("--max-tokens", type=click.IntRange(1, 4096), default=64, show_default=True),
        click.option("--prompt", type=click.Choice(STYLES), default="plain", show_default=True,
                     help="PMI-Faith's own words, or the model's template for conversations."),
        options.number("--seed", 0, "Random seed of sampling."),
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N contexts."),
        options.option("--metrics", "NAMES", METRICS, type=options.GROUNDING_METRICS, default="pmi_faith,nli"),
        scoring.FORMAT,
        scoring.MODELS,
        options.JSON,
    ]):  # fmt: skip
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def _setting(given: dict[str, Any], **others: Any) -> Setting:
    """How to decode, of the options that say so, which are taken out."""
    from troth.systems.decoding.settings import Setting

    return Setting(
        **others, **{name: given.pop(name) for name in ("mode", "beams", "temperature", "max_tokens", "seed")}
    )


@click.command(no_args_is_help=True)
@click.argument("data", metavar="DATA", type=options.FILE)
@click.option("--alpha", type=options.Real(0, 1), default=0.25, show_default=True,
              help="Weight of faithfulness; 0 with --top-p 1: plain decoding.")  # fmt: skip
@click.option("--top-p", type=options.Real(0, 1, min_open=True), default=0.6, show_default=True,
              help="Choose among the likeliest tokens whose probabilities add up to this.")  # fmt: skip
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the responses, for `troth ground`.")
@decoding
def ground(
    data: str, alpha: float, top_p: float, out: str, metrics: str, models: Any, json: bool, **given: Any
) -> None:
    """Generates a response to every document and history of DATA by PMI-Decode; responses in DATA are not read.

    Any decoder or encoder-decoder of transformers. Faithfulness is scored afterwards by more than what is optimised.
    """
    from troth.grounding.metrics import graders
    from troth.grounding.score import ground as score
    from troth.systems.decoding.generate import GenerateSettings, respond

    scored = metrics.strip() not in ("", NONE)
    if scored:
        graders(metrics, models)  # an unknown name or model is an error before anything is generated
    setting = _setting(given, alpha=alpha, top_p=top_p)
    made = respond(data, out, GenerateSettings(setting=setting, cache=models.cache, **given))
    if scored:
        show.result(score(out, metrics=metrics, models=models), json_form=json)
    elif json:
        show.json(made)
    show.note(f"{counted(made.responses, 'response')} of {counted(made.tokens, 'token')} in all")
    for line in (*made.notes, made.signature, f"written: {out}"):
        show.note(line)


@click.command(no_args_is_help=True)
@click.argument("data", metavar="DATA", type=options.FILE)
@options.option("--alphas", "NUMBERS", "Values of α, with commas.", default="0,0.25,0.5,1")
@options.option("--ps", "NUMBERS", "Values of p, with commas.", default="0.6,0.75,0.9,1")
@options.option("--grammar", "MODULE:FUNCTION", "Checker: from a text to True where it is free of errors.")
@click.option("--pick", is_flag=True, help=PICK)
@options.option("--chart", "FILE", "Draw every metric over α, a curve for each p: .svg, .png, .html.")
@decoding
def sweep(
    data: str,
    alphas: str,
    ps: str,
    pick: bool,
    chart: str | None,
    metrics: str,
    models: Any,
    json: bool,
    **given: Any,
) -> None:
    """Responses to DATA with every α and p: how faithful, how relevant, how grammatical (table 5 of the paper)."""
    from troth.report import charts
    from troth.systems.decoding.sweep import SweepSettings
    from troth.systems.decoding.sweep import sweep as run

    wanted = "" if metrics.strip() == NONE else metrics
    if pick and not wanted.strip():
        raise click.UsageError(f"--pick needs a metric of faithfulness, and --metrics is '{metrics}'")
    if chart is not None:
        charts.check_path(chart)
    given |= {"alphas": _numbers(alphas, "--alphas"), "ps": _numbers(ps, "--ps")}
    setting = _setting(given, alpha=0.0, top_p=1.0)
    found = run(data, SweepSettings(setting=setting, metrics=wanted, models=models, cache=models.cache, **given))
    if json:
        show.json({"scores": found.scores, "picked": found.details})
    else:
        show.tables(_tables(found, given["alphas"], given["ps"]))
    if chart is not None:
        rows = [
            {"α": alpha, "p": f"{p:g}", "metric": metric.name, "mean": _score(found, metric.name, alpha, p).value}
            for metric in found.metrics
            for p in dict.fromkeys(given["ps"])
            for alpha in dict.fromkeys(given["alphas"])
        ]
        charts.panels(rows, x="α", y="mean", colour="p", panel="metric", path=chart, title="PMI-Decode")
        show.note(f"written: {chart}")
    for line in (*found.notes, *([_picked(found)] if pick else [])):
        show.note(line)


def _picked(found: Result) -> str:
    if not found.details:
        return "nothing to pick by: plain decoding has no two values of the metric, or no relevance is known"
    one = found.details[0]
    scale = f"plain decoding has {one.low:.3f} for 0 and {one.high:.3f} for 1"
    return f"picked: α {one.alpha:g}, p {one.top_p:g}, by {one.by} ({scale}) and relevance"


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise click.UsageError(f"{option}: '{text}' are no numbers with commas") from error


def _score(found: Result, metric: str, alpha: float, p: float) -> Score:
    return found.score(metric, system=f"α {alpha:g}, p {p:g}")


def _tables(found: Result, alphas: Sequence[float], ps: Sequence[float]) -> Iterator[Table]:
    """A table for each metric: a row per p and a column per α; with the number of responses where it is not all."""
    responses = next(iter(found.counts.values()))["responses"]

    def shown(one: Score) -> str:
        return number(one.value, one.scale) + (f" (n {one.n})" if 0 < one.n < responses else "")

    for metric in found.metrics:
        lines = [(p, [shown(_score(found, metric.name, alpha, p)) for alpha in alphas]) for p in dict.fromkeys(ps)]
        rows = tuple((f"p {p:g}", *cells) for p, cells in lines)
        yield Table((f"{metric.name}, n {responses}", *(f"α {alpha:g}" for alpha in alphas)), rows)
