"""`troth nlg`: whether responses say what their acts ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.groups import WHOLE
from troth.core.names import format_counts

if TYPE_CHECKING:
    from troth.core.result import Result
    from troth.responses.metrics import JudgedResponse
    from troth.storage.explorer import ActView


@options.command("troth.responses.score:ResponseSettings")
@options.GOLD
@click.argument("responses", nargs=-1, required=True, metavar="RESPONSES...", type=options.FILE)
@options.number("--explain", 0, "Number of unfaithful responses to show per system.")
@options.option("--acts", "FILE", "Write every act's verdict to this new JSONL file.", type=options.FILE)
@options.JSON
def nlg(gold: str, responses: tuple[str, ...], explain: int, acts: str | None, json: bool, **settings: Any) -> None:
    """Score responses to given acts: slot error rate, SGSAcc, BLEU.

    Scores one system or several. GOLD has the system's turns with their acts, and its schema beside it. Each RESPONSES
    is a file, or NAME=FILE: JSONL, CSV, or one response per line.
    """
    from troth.responses.score import nlg as run
    from troth.storage.files import check_distinct

    if json and explain:
        raise UserError("--explain is for reading, --json for programs", hint="--acts FILE writes every act as JSON")
    check_distinct(acts, settings["out"])
    if acts is not None:
        _check_acts(acts, settings["metrics"])
    result = run(gold, *responses, **settings)
    if acts is not None:
        _write_acts(acts, result)
    show.result(result, json_form=json, out=settings["out"], layout=_tables(result))
    for line in _explain(result, explain) if explain else ():
        show.text(line)
    _note(result)


def _check_acts(acts: str, metrics: str | None) -> None:
    from troth.responses.metrics import select_metrics
    from troth.storage.files import check_new

    if not any("nli" in metric.needs for metric in select_metrics(metrics)):
        raise UserError("--acts are SGSAcc's verdicts, which --metrics leaves out", hint="add sgsacc to --metrics")
    check_new(acts)


def _write_acts(path: str, result: Result) -> None:
    from troth.responses.explorer import collect_responses, judged_acts
    from troth.storage.files import new_file

    validated = any("negatives" in metric.needs for metric in result.metrics)
    with new_file(path) as file:
        for act in judged_acts(collect_responses(result.explorer().dialogues), validated=validated):
            file.write(msgspec.json.encode(act) + b"\n")
    show.note(f"written: {path}")


def _note(result: Result) -> None:
    """Prints counts of missing and excluded turns, and the recipes."""
    for system, counts in result.counts.items():
        texts = format_counts(counts)
        show.note(f"{system}: {', '.join(text for text in texts if 'excluded' not in text)}")
        if excluded := [text.replace(" excluded", "") for text in texts if "excluded" in text]:
            show.note(f"{system}: not validated: {', '.join(excluded)}")
    names = [metric.name for metric in result.metrics if metric.variant != "coverage"]
    whole = [
        score for score in result.scores if score.group == "all" and score.metric in names and score.value is not None
    ]
    for signature in dict.fromkeys(s.signature for s in sorted(whole, key=lambda score: names.index(score.metric))):
        show.note(signature)


def _tables(result: Result) -> Iterator[tables.Table]:
    """Table 1 of the paper by services and by domains, a row per system; then a row per metric; then other groups."""
    from troth.responses.metrics import BLEU, SER, SGSACC, SGSACC_VALIDATED

    first = [metric.name for metric in (BLEU, SER, SGSACC_VALIDATED, SGSACC)]  # in the paper's order
    scores, best = result.scores, result.unbeaten()
    main = [score for score in scores if score.metric in first and score.group in WHOLE]
    for split in (("all", "seen", "unseen"), ("all", "seen_domain", "unseen_domain")):
        own = [score for score in main if score.group in split]
        if own and (split[1] == "seen" or {score.group for score in own} != {"all"}):
            order = sorted(own, key=lambda score: (first.index(score.metric), split.index(score.group)))
            yield tables.system_table(order, best=best)
    yield from tables.score_tables([score for score in scores if score not in main], best=best)


def _explain(result: Result, number: int) -> Iterator[str]:
    """The first unfaithful responses of each system, act by act."""
    from troth.responses.explorer import collect_responses

    for system, responses in collect_responses(result.explorer().dialogues).items():
        for response in [response for response in responses if response.unfaithful][:number]:
            turn = f"{response.dialogue}, turn {response.answer.index}"
            yield from ("", f"{system}: {turn}" if len(result.systems) > 1 else turn)
            yield from _describe_response(response)


def _describe_response(response: JudgedResponse) -> Iterator[str]:
    text = response.answer.text
    yield f"  before    {_line(response.previous)}"
    yield f"  gold      {_line(response.gold)}"
    yield f"  response  {'– none –' if text is None else _line(text) or '– empty –'}"
    for act in response.answer.acts:
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
