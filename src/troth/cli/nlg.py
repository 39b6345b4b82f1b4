"""`troth nlg`: whether responses are true to what they were to say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.groups import WHOLE
from troth.core.names import tallied

if TYPE_CHECKING:
    from troth.core.result import Result
    from troth.responses.metrics import JudgedResponse
    from troth.storage.explorer import ActView

_GROUPS = options.Names(also=("service", "domain", "act", "slot", "kind"))


@click.command(no_args_is_help=True)
@options.GOLD
@click.argument("responses", nargs=-1, required=True, metavar="RESPONSES...", type=options.FILE)
@options.option(
    "--metrics", "NAMES", "Metrics to score, with commas; ser and sgsacc include their variants. Default: all.",
    type=options.RESPONSE_METRICS,
)  # fmt: skip
@options.SCHEMA
@options.TRAIN_SCHEMA
@options.option("--by", "NAMES", "Also score by service, domain, act, slot, kind; with commas.", type=_GROUPS)
@click.option(
    "--missing", type=click.Choice(["part", "zero", "skip"]), default="part", show_default=True,
    help="Turns without a response: wrong if any system answers in the dialogue (part), wrong (zero), left out (skip).",
)  # fmt: skip
@options.option("--ids", "FILE", "`dialogue turn` per line, for files with one response per line.", type=options.FILE)
@options.NLI
@options.CACHE
@click.option(
    "--augment", type=click.Choice(["retry", "never"]), default="retry", show_default=True,
    help="Whether acts that a response alone does not entail are asked again in context.",
)  # fmt: skip
@options.REFS
@click.option(
    "--negatives", type=click.IntRange(1, 100), default=1, show_default=True,
    help="Tampered twins per act, for validation.",
)  # fmt: skip
@click.option("--no-gold-text", is_flag=True, help="Use gold's acts alone, as in production: any candidate will do.")
@options.FORMAT
@options.option(
    "--pred-format",
    "NAME",
    "Format of the responses: jsonl, csv or lines. Default: detected.",
    type=options.Names(also=("jsonl", "csv", "lines")),
)
@options.resamples(1000, 1)
@options.number("--seed", 0, "Random seed of the bootstrap and of the tampered values.")
@options.MODEL_WORKERS
@options.number("--explain", 0, "Number of unfaithful responses to show per system.")
@options.option("--acts", "FILE", "Write every act's verdict to this new JSONL file.", type=options.FILE)
@options.OUT
@options.JSON
def nlg(
    gold: str,
    responses: tuple[str, ...],
    no_gold_text: bool,
    explain: int,
    acts: str | None,
    out: str | None,
    json: bool,
    **settings: Any,
) -> None:
    """Responses to given acts: slot error rate, SGSAcc, BLEU, for one system or several.

    GOLD has the system's turns with their acts, and its schema beside it. Each RESPONSES is a file, or NAME=FILE:
    JSONL, CSV, or one response per line.
    """
    from troth.responses.score import nlg as run

    if json and explain:
        raise UserError("--explain is for reading, --json for programs", hint="--acts FILE writes every act as JSON")
    if acts is not None:
        _check_acts(acts, settings["metrics"])
    result = run(gold, *responses, gold_text=not no_gold_text, out=out, **settings)
    if acts is not None:
        _write(acts, result)
    show.result(result, json_form=json, out=out, layout=_tables(result))
    for line in _explained(result, explain) if explain else ():
        show.text(line)
    _note(result)


def _check_acts(acts: str, metrics: str | None) -> None:
    from troth.responses.metrics import chosen
    from troth.storage.files import check_new

    if not any("nli" in metric.needs for metric in chosen(metrics)):
        raise UserError("--acts are SGSAcc's verdicts, which --metrics leaves out", hint="add sgsacc to --metrics")
    check_new(acts)


def _write(path: str, result: Result) -> None:
    from troth.responses.explorer import act_rows, judged
    from troth.storage.files import new_file

    validated = any("negatives" in metric.needs for metric in result.metrics)
    with new_file(path) as file:
        for row in act_rows(judged(result.explorer().dialogues), validated=validated):
            file.write(msgspec.json.encode(row) + b"\n")
    show.note(f"written: {path}")


def _note(result: Result) -> None:
    """What was missing, and the recipes."""
    for system, counts in result.counts.items():
        named = tallied(counts)
        show.note(f"{system}: {', '.join(one for one in named if 'excluded' not in one)}")
        left = [one.replace(" excluded", "") for one in named if "excluded" in one]
        if left:
            show.note(f"{system}: not validated: {', '.join(left)}")
    shown = [metric.name for metric in result.metrics if metric.variant != "coverage"]
    whole = [
        score for score in result.scores if score.group == "all" and score.metric in shown and score.value is not None
    ]
    for signature in dict.fromkeys(s.signature for s in sorted(whole, key=lambda score: shown.index(score.metric))):
        show.note(signature)


# -- tables ------------------------------------------------------------------------------------------------------------


def _tables(result: Result) -> Iterator[tables.Table]:
    """Table 1 of the paper by services and by domains, a row per system; then a row per metric; then other groups."""
    from troth.responses.metrics import BLEU, SER, SGSACC, SGSACC_VALIDATED

    first = [metric.name for metric in (BLEU, SER, SGSACC_VALIDATED, SGSACC)]  # in the paper's order
    scores, best = result.scores, result.unbeaten()
    main = [score for score in scores if score.metric in first and score.group in WHOLE]
    for split in (("all", "seen", "unseen"), ("all", "seen_domain", "unseen_domain")):
        mine = [score for score in main if score.group in split]
        if mine and (split[1] == "seen" or {score.group for score in mine} != {"all"}):
            order = sorted(mine, key=lambda score: (first.index(score.metric), split.index(score.group)))
            yield tables.by_system(order, best=best)
    yield from tables.of_scores([score for score in scores if score not in main], best=best)


# -- responses one by one ----------------------------------------------------------------------------------------------


def _explained(result: Result, number: int) -> Iterator[str]:
    """The first unfaithful responses of each system, act by act."""
    from troth.responses.explorer import judged

    for system, said in judged(result.explorer().dialogues).items():
        for one in [one for one in said if one.unfaithful][:number]:
            place = f"{one.dialogue}, turn {one.answer.index}"
            yield from ("", f"{system}: {place}" if len(result.systems) > 1 else place)
            yield from _response(one)


def _response(one: JudgedResponse) -> Iterator[str]:
    yield f"  before    {_line(one.previous)}"
    yield f"  gold      {_line(one.gold)}"
    yield f"  response  {'– none –' if one.answer.text is None else _line(one.answer.text) or '– empty –'}"
    for act in one.answer.acts:
        inside = f"({act.slot} = {', '.join(act.values)})" if act.values else f"({act.slot})" if act.slot else ""
        missed = f"; missing: {', '.join(act.missed)}" if act.missed else ""
        yield f"  {_judgement(act)}  {_line(act.act + inside + missed)}"
        if act.reference is not None:
            yield f"            “{_line(act.reference)}”"
            yield f"            {'; '.join(_reasons(act))}"


def _judgement(act: ActView) -> str:
    if act.present is None:  # no model was asked
        return "WRONG   " if act.missed else "right   "
    return "no rule " if act.entailed is None else "true    " if act.entailed else "NOT TRUE"


def _reasons(act: ActView) -> Iterator[str]:
    for where, probabilities in (("alone", act.plain), ("in context", act.augmented)):
        if probabilities is not None:
            entailment, neutral, contradiction = probabilities
            yield f"{where}: entailment {entailment:.2f}, neutral {neutral:.2f}, contradiction {contradiction:.2f}"
    if not act.present:
        yield "not all values are there"
    if act.excluded:
        yield f"not validated: {act.excluded}"


def _line(text: str) -> str:
    return " ".join(text.split())
