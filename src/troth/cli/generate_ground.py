"""`troth generate ground` and `troth generate sweep`: responses true to their document, by PMI-Decode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from troth.cli import ground as scoring
from troth.cli import options, show
from troth.cli.bars import progress, steps
from troth.core.table import Table

if TYPE_CHECKING:
    from troth.grounding.generate import Swept
    from troth.grounding.sweep import Cell

F = TypeVar("F", bound=Callable[..., Any])

MODES = ("greedy", "beam", "sample", "beam-sample")
FORMAT = click.option("--format", metavar="NAME", help="The data's format, if it should not be detected.")
UNIT = click.FloatRange(0, 1)
NONE = "none"
METRICS_HELP = f"Of faithfulness, with commas; {NONE}: no such. One that is not optimised should be among them."


def decoding(command: F) -> F:
    """The options of a generation, but for α and p."""
    made = [
        click.option("--model", metavar="NAME", default="embedded", show_default=True, help="See `troth ls backends`."),
        click.option("--decode", "mode", type=click.Choice(MODES), default="greedy", show_default=True),
        click.option("--beams", type=click.IntRange(2, 64), default=4, show_default=True),
        click.option("--temperature", type=click.FloatRange(0, 10, min_open=True), default=1.0, show_default=True),
        click.option("--max-tokens", type=click.IntRange(1, 4096), default=64, show_default=True),
        click.option(
            "--prompt",
            type=click.Choice(["plain", "chat"]),
            default="plain",
            show_default=True,
            help="PMI-Faith's own words, or the model's template for conversations.",
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of what is drawn."),
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The first N contexts only."),
        click.option("--metrics", metavar="NAMES", default="pmi_faith,nli", show_default=True, help=METRICS_HELP),
        FORMAT,
        scoring.MODELS,
        options.JSON,
    ]
    for option in reversed(made):
        command = option(command)
    return command


@click.command(no_args_is_help=True)
@click.argument("data", metavar="DATA")
@click.option("--alpha", type=UNIT, default=0.25, show_default=True, help="Weight of faithfulness; 0: plain decoding.")
@click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), default=0.6, show_default=True,
              help="Tokens are chosen among the likeliest that sum to this.")  # fmt: skip
@click.option("--out", metavar="FILE", required=True, help="A new file: responses as JSONL, for `troth ground`.")
@decoding
def ground(
    data: str,
    alpha: float,
    top_p: float,
    out: str,
    model: str,
    mode: Any,
    beams: int,
    temperature: float,
    max_tokens: int,
    prompt: Any,
    seed: int,
    limit: int | None,
    metrics: str,
    format: str | None,
    models: dict[str, Any],
    json: bool,
) -> None:
    """A response to every document and history of DATA, by PMI-Decode; what DATA has for a response is not looked at.

    Any decoder or encoder-decoder of transformers. Faithfulness is scored afterwards by more than what is optimised.
    """
    from troth.grounding import generate as decode
    from troth.grounding.metrics import Models
    from troth.grounding.score import ground as score
    from troth.storage import files

    files.check_new(out)
    wanted, asked = _names(metrics), Models(**models)
    if wanted:
        decode.named(wanted, asked)
    responder = decode.responder(model, cache=models["cache"], style=prompt)
    setting = _setting(mode, alpha, top_p, beams, temperature, max_tokens, seed)
    with progress("generating") as step:
        made = decode.respond(data, out, responder, setting, format=format, limit=limit, progress=step)
    if wanted:
        with steps() as step:
            found = score(out, metrics=wanted, models=asked, steps=step)
        if json:
            show.json(found.scores)
        else:
            rows = tuple((one.metric, scoring.cell(one)) for one in found.scores if one.group == "all")
            show.table(Table(("metric", "mean"), rows))
        for line in found.notes:
            show.note(line)
    elif json:
        show.json(made)
    show.note(f"{made.responses} responses of {made.tokens} tokens in all")
    for line in (*made.notes, made.signature, f"written: {out}"):
        show.note(line)


@click.command(no_args_is_help=True)
@click.argument("data", metavar="DATA")
@click.option("--alphas", metavar="NUMBERS", default="0,0.25,0.5,1", show_default=True, help="With commas.")
@click.option("--ps", metavar="NUMBERS", default="0.6,0.75,0.9,1", show_default=True, help="With commas.")
@click.option("--grammar", metavar="MODULE:FUNCTION", help="A checker: from a text to True where it is right.")
@click.option("--pick", is_flag=True, help="Name the setting with the highest sum of relevance and pmi_faith, "
              "normalised; without pmi_faith, of the first of --metrics.")  # fmt: skip
@click.option("--chart", metavar="FILE", help="Draw every metric over α, a curve for each p: .svg, .png, .html.")
@decoding
def sweep(
    data: str,
    alphas: str,
    ps: str,
    grammar: str | None,
    pick: bool,
    chart: str | None,
    model: str,
    mode: Any,
    beams: int,
    temperature: float,
    max_tokens: int,
    prompt: Any,
    seed: int,
    limit: int | None,
    metrics: str,
    format: str | None,
    models: dict[str, Any],
    json: bool,
) -> None:
    """Responses to DATA with every α and p: how faithful, how relevant, how grammatical (table 5 of the paper)."""
    from troth.grounding import generate as decode
    from troth.grounding.metrics import Models
    from troth.report import charts

    wanted = _names(metrics)
    if pick and not wanted:
        raise click.UsageError(f"--pick needs a metric of faithfulness, and --metrics is '{metrics}'")
    if chart is not None:
        charts.check_path(chart)
    responder = decode.responder(model, cache=models["cache"], style=prompt)
    with progress("generating") as step:
        found = decode.sweep(
            data,
            responder,
            _setting(mode, 0.0, 1.0, beams, temperature, max_tokens, seed),
            alphas=_numbers(alphas, "--alphas"),
            ps=_numbers(ps, "--ps"),
            metrics=wanted,
            models=Models(**models),
            grammar=grammar,
            format=format,
            limit=limit,
            progress=step,
        )
    if json:
        parts = ("cells", "picked", "by", "bounds", "signature")
        show.json({name: getattr(found, name) for name in parts})
    else:
        show.tables(_tables(found))
    if chart is not None:
        rows = [
            {"α": one.alpha, "p": f"{one.top_p:g}", "metric": name, "mean": one.means[name]}
            for name in found.metrics
            for one in found.cells
        ]
        charts.panels(rows, x="α", y="mean", colour="p", panel="metric", path=chart, title="PMI-Decode")
        show.note(f"written: {chart}")
    for line in found.notes:
        show.note(line)
    if pick:
        show.note(_picked(found))
    show.note(found.signature)


def _names(metrics: str) -> list[str]:
    return [] if metrics.strip() in ("", NONE) else scoring.split(metrics)


def _picked(found: Swept) -> str:
    if found.bounds is None:
        return f"nothing to pick by: plain decoding has no two values of {found.by}"
    if found.picked is None:
        return "nothing to pick by: no relevance is known"
    one, low, high = found.picked, found.bounds.low, found.bounds.high
    scale = f"plain decoding has {low:.3f} for 0 and {high:.3f} for 1"
    return f"picked: α {one.alpha:g}, p {one.top_p:g}, by {found.by} ({scale}) and relevance"


def _setting(mode: Any, alpha: float, top_p: float, beams: int, temperature: float, max_tokens: int, seed: int) -> Any:
    from troth.models.hub import lacking

    try:
        from troth.grounding.pmi_decode import Setting
    except ImportError as error:
        raise lacking(error) from error
    return Setting(mode, alpha, top_p, beams, temperature, max_tokens, seed)


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise click.UsageError(f"{option}: '{text}' are no numbers with commas") from error


def _tables(found: Swept) -> Iterator[Table]:
    """A table for each metric: a row a p and a column an α; and over how many responses, where not over all."""
    alphas = list(dict.fromkeys(one.alpha for one in found.cells))
    ps = list(dict.fromkeys(one.top_p for one in found.cells))
    cells = {(one.alpha, one.top_p): one for one in found.cells}
    for name in filter(None, (*found.metrics, found.normal)):

        def shown(one: Cell, name: str = name) -> str:
            value, n = one.means[name], one.counts[name]
            return "–" if value is None else f"{value:.3f}" + (f" (n {n})" if n < found.responses else "")

        rows = tuple((f"p {p:g}", *(shown(cells[alpha, p]) for alpha in alphas)) for p in ps)
        yield Table((f"{name}, n {found.responses}", *(f"α {alpha:g}" for alpha in alphas)), rows)
