"""`troth generate ground` and `troth generate sweep`: responses faithful to their document, by PMI-Decode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core.names import format_count, parse_names
from troth.core.score import Score
from troth.core.table import Table, number

if TYPE_CHECKING:
    from troth.core.result import Result

NONE = "none"
MODELS, SETTING = "troth.grounding.metrics:Models", "troth.systems.decoding.settings:Setting"
SWEEP = "troth.systems.decoding.sweep:SweepSettings"


@options.command(
    options.SettingsSource("troth.systems.decoding.generate:GenerateSettings", leave_out=("cache",)),
    options.SettingsSource(SWEEP, only=("metrics",)),
    setting=SETTING,
    models=MODELS,
)
@click.argument("data", metavar="DATA", type=options.FILE)
@click.option("--out", metavar="FILE", required=True, help="New JSONL file for the responses, for `troth ground`.")
@options.JSON
def ground(
    data: str, out: str, metrics: Any, models: dict[str, Any], setting: dict[str, Any], json: bool, **settings: Any
) -> None:
    """Generate responses from documents by PMI-Decode.

    Every document and history of DATA gets a response; responses in DATA are not read. The model is any decoder or
    encoder-decoder of transformers. Faithfulness is scored afterwards by more than the metric that decoding optimises.
    """
    from troth.grounding.metrics import Models, make_graders
    from troth.grounding.score import ground as score
    from troth.systems.decoding.generate import GenerateSettings, respond
    from troth.systems.decoding.settings import Setting

    names, opened = _metric_names(metrics), Models(**models)
    if names:
        make_graders(names, opened)  # an unknown name or model is an error before anything is generated
    generation = respond(data, out, GenerateSettings(setting=Setting(**setting), cache=opened.cache, **settings))
    if names:
        show.result(score(out, metrics=names, models=opened), json_form=json)
    elif json:
        show.json(generation)
    show.note(f"{format_count(generation.responses, 'response')} of {format_count(generation.tokens, 'token')} in all")
    for line in (*generation.notes, generation.signature, f"written: {out}"):
        show.note(line)


def _metric_names(metrics: Any) -> list[str]:
    names = parse_names(metrics)
    return [] if names == [NONE] else names


@options.command(
    options.SettingsSource(SWEEP, leave_out=("cache", "context", "columns", "on_error", "out")),
    setting=options.SettingsSource(SETTING, leave_out=("alpha", "top_p")),
    models=MODELS,
)
@click.argument("data", metavar="DATA", type=options.FILE)
@click.option(
    "--pick", is_flag=True,
    help="Name the setting with the highest sum of relevance and normalised pmi_faith, or, without pmi_faith, of the "
    "first metric.",
)  # fmt: skip
@options.option("--chart", "FILE", "Draw every metric over α, with one curve per p: .svg, .png, .html.")
@options.JSON
def sweep(
    data: str,
    pick: bool,
    chart: str | None,
    metrics: Any,
    models: dict[str, Any],
    setting: dict[str, Any],
    json: bool,
    **settings: Any,
) -> None:
    """Generate responses with every α and p, and score them.

    Shows how faithful, how relevant and how grammatical the responses are (table 5 of the paper).
    """
    from troth.grounding.metrics import Models
    from troth.report import charts
    from troth.systems.decoding.settings import Setting
    from troth.systems.decoding.sweep import SweepSettings
    from troth.systems.decoding.sweep import sweep as run

    names, opened = _metric_names(metrics), Models(**models)
    if pick and not names:
        raise click.UsageError(f"--pick needs a metric of faithfulness, and --metrics is '{metrics}'")
    if chart is not None:
        charts.check_path(chart)
    decoding = Setting(**setting, alpha=0.0, top_p=1.0)
    swept = SweepSettings(setting=decoding, metrics=names, models=opened, cache=opened.cache, **settings)
    result = run(data, swept)
    if json:
        show.json({"scores": result.scores, "picked": result.findings})
    else:
        show.tables(_tables(result, swept.alphas, swept.ps))
    if chart is not None:
        rows = [
            {"α": alpha, "p": f"{p:g}", "metric": metric.name, "mean": _score(result, metric.name, alpha, p).value}
            for metric in result.metrics
            for p in dict.fromkeys(swept.ps)
            for alpha in dict.fromkeys(swept.alphas)
        ]
        charts.panels(rows, x="α", y="mean", colour="p", panel="metric", path=chart, title="PMI-Decode")
        show.note(f"written: {chart}")
    for line in (*map(str, result.notes), *([_describe_picked(result)] if pick else [])):
        show.note(line)


def _describe_picked(result: Result) -> str:
    if not result.findings:
        return "nothing to pick by: plain decoding has fewer than two values of the metric, or relevance is unknown"
    picked = result.findings[0]
    scale = f"plain decoding has {picked.low:.3f} for 0 and {picked.high:.3f} for 1"
    return f"picked: α {picked.alpha:g}, p {picked.top_p:g}, by {picked.by} ({scale}) and relevance"


def _score(result: Result, metric: str, alpha: float, p: float) -> Score:
    return result.score(metric, system=f"α {alpha:g}, p {p:g}")


def _tables(result: Result, alphas: Sequence[float], ps: Sequence[float]) -> Iterator[Table]:
    """One table per metric: a row per p, a column per α; with the number of responses where some have no score."""
    responses = next(iter(result.counts.values()))["responses"]

    def cell(score: Score) -> str:
        return number(score.value, score.scale) + (f" (n {score.n})" if 0 < score.n < responses else "")

    for metric in result.metrics:
        lines = [(p, [cell(_score(result, metric.name, alpha, p)) for alpha in alphas]) for p in dict.fromkeys(ps)]
        rows = tuple((f"p {p:g}", *cells) for p, cells in lines)
        yield Table((f"{metric.name}, n {responses}", *(f"α {alpha:g}" for alpha in alphas)), rows)
