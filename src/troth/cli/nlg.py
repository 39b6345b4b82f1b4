"""`troth nlg`: are responses true to what they were to say?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.cli.bars import progress
from troth.core import table as tables
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.core.score import Score
    from troth.models import Verdict
    from troth.responses.metrics import System, Turn
    from troth.responses.score import Result
    from troth.responses.sgsacc import ActVerdict

TABLE_1 = ("bleu", "ser", "sgsacc_validated", "sgsacc")  # in the paper's order
SEED_HELP = "Of the resampling, and of the values that acts are tampered with."


@click.command(no_args_is_help=True)
@options.GOLD
@click.argument("responses", nargs=-1, required=True, metavar="RESPONSES...")
@click.option("--metrics", metavar="NAMES", help="With commas: ser, bleu, sgsacc with their kin, or single names.")
@options.SCHEMA
@click.option("--train-schema", metavar="FILE", help="The training services: tells seen from unseen.")
@click.option("--by", metavar="NAMES", help="Also by service, domain, act, slot, kind; with commas.")
@click.option("--missing", type=click.Choice(["part", "zero", "skip"]), default="part", show_default=True,
              help="Turns without a response: wrong if a system has any in the dialogue; wrong; left out.")  # fmt: skip
@click.option("--ids", metavar="FILE", help="`dialogue turn` a line, for files with one response a line.")
@options.NLI
@options.CACHE
@click.option("--augment", type=click.Choice(["retry", "never"]), default="retry", show_default=True,
              help="What is not entailed is asked again in its context.")  # fmt: skip
@click.option("--negatives", type=click.IntRange(1, 100), default=1, show_default=True, help="Tampered twins an act.")
@click.option("--no-gold-text", is_flag=True, help="Use gold's acts alone, as in production: any candidate will do.")
@options.FORMAT
@options.PRED_FORMAT
@options.resamples(1000, 1)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=SEED_HELP)
@click.option("--explain", type=click.IntRange(min=0), default=0, metavar="N", help="Show N unfaithful responses.")
@click.option("--acts", metavar="FILE", help="Write every act's verdict to this JSONL file.")
@options.OUT
@options.JSON
def nlg(
    gold: str,
    responses: tuple[str, ...],
    metrics: str | None,
    schema: str | None,
    train_schema: str | None,
    by: str | None,
    missing: Any,
    ids: str | None,
    nli: str,
    cache: str | None,
    augment: Any,
    negatives: int,
    no_gold_text: bool,
    format: str | None,
    pred_format: str | None,
    resamples: int,
    seed: int,
    explain: int,
    acts: str | None,
    out: str | None,
    json: bool,
) -> None:
    """Responses to given acts: slot error rate, SGSAcc, BLEU, for one system or several.

    GOLD has the system's turns with their acts, and its schema beside it. Each RESPONSES is a file, or NAME=FILE:
    JSONL, CSV, or one response a line.
    """
    from troth.responses import score as runner

    _refuse(metrics, acts, out, explain=explain, json=json)
    given: dict[str, Any] = {
        "schema": schema, "train_schema": train_schema, "missing": missing, "nli": nli, "augment": augment,
        "gold_text": not no_gold_text, "negatives": negatives, "ids": ids, "resamples": resamples, "seed": seed,
    }  # fmt: skip
    with progress("judging") as step:
        result = runner.nlg(
            gold, *responses, metrics=_split(metrics), by=_split(by) or (), cache=cache, formats=(format, pred_format),
            progress=step, **given,
        )  # fmt: skip
    if out is not None:
        files = {"gold": gold, "responses": list(responses), "format": format, "pred_format": pred_format}
        _save(out, result, {**files, "metrics": metrics, "by": by, **given})
    if acts is not None:
        _write(acts, result)
    if json:
        show.json(result.scores)
    else:
        _show(result, explain)
    _note(result)


def _refuse(metrics: str | None, acts: str | None, out: str | None, *, explain: int, json: bool) -> None:
    """Told before any work is done."""
    from troth.responses.score import chosen_metrics
    from troth.storage import files
    from troth.storage import runs as store

    if json and explain:
        raise UserError("--explain is for reading, --json for programs", hint="--acts FILE writes every act as JSON")
    if acts is not None:
        if not any(name.startswith("sgsacc") for name in chosen_metrics(_split(metrics))):
            raise UserError("--acts are SGSAcc's verdicts, which --metrics leaves out", hint="add sgsacc to --metrics")
        files.check_new(acts)
    if out is not None:
        store.refuse(out)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


def _show(result: Result, explain: int) -> None:
    show.tables(_tables(result.scores))
    for line in _explained(result, explain):
        show.text(line)


# -- tables ------------------------------------------------------------------------------------------------------------


def _tables(scores: Sequence[Score]) -> Iterator[tables.Table]:
    """Table 1 of the paper, a row a system; then the rest, a row a metric; then a table for each kind of group."""
    main = [score for score in scores if score.metric in TABLE_1 and score.group in ("all", "seen", "unseen")]
    if main:
        yield _table_1(main)
    yield from tables.of_scores([score for score in scores if score not in main], headline=())


def _table_1(scores: Sequence[Score]) -> tables.Table:
    found = {(score.system, score.metric, score.group): score for score in scores}
    groups = [group for group in ("all", "seen", "unseen") if any(score.group == group for score in scores)]
    heads = [(metric, group) for metric in TABLE_1 for group in groups if any(s.metric == metric for s in scores)]
    systems = list(dict.fromkeys(score.system for score in scores))
    rows = tuple((name, *(tables.figure(found.get((name, *head))) for head in heads)) for name in systems)
    best = set()
    for column, head in enumerate(heads, 1):
        best |= {(row, column) for row in tables.unbeaten([found.get((name, *head)) for name in systems])}
    columns = tuple(metric if len(groups) == 1 else f"{metric} {group}" for metric, group in heads)
    return tables.Table(("system", *columns), rows, 1, frozenset(best))


# -- responses one by one ----------------------------------------------------------------------------------------------


def _explained(result: Result, number: int) -> Iterator[str]:
    """The first unfaithful responses of each system, act by act."""
    for system in result.systems:
        for turn in [turn for turn in system.turns if _unfaithful(turn)][:number]:
            yield ""
            yield from _turn(system, turn, several=len(result.systems) > 1)


def _unfaithful(turn: Turn) -> bool:
    judged = [told.verdict for told in turn.acts if told.verdict is not None]
    if judged:
        return any(verdict.reference is not None and not verdict.entailed for verdict in judged)
    return turn.response is None or any(told.missed for told in turn.acts)


def _turn(system: System, turn: Turn, *, several: bool) -> Iterator[str]:
    place = f"{turn.unit.dialogue}, turn {turn.unit.turn}"
    yield f"{system.name}: {place}" if several else place
    yield f"  before    {_line(turn.unit.previous)}"
    yield f"  gold      {_line(turn.unit.gold)}"
    yield f"  response  {'– none –' if turn.response is None else _line(turn.response) or '– empty –'}"
    for told in turn.acts:
        act = told.due.act
        inside = f"({act.slot} = {', '.join(act.values)})" if act.values else f"({act.slot})" if act.slot else ""
        name = act.act + inside
        missed = f"; missing: {', '.join(value.text for value in told.missed)}" if told.missed else ""
        if told.verdict is None:
            yield f"  {'WRONG' if told.missed else 'right'}     {_line(name)}{_line(missed)}"
        else:
            yield f"  {_judgement(told.verdict)}  {_line(name)}{_line(missed)}"
            yield from _reasons(told.verdict)


def _judgement(verdict: ActVerdict) -> str:
    if verdict.reference is None:
        return "no rule "
    return "true    " if verdict.entailed else "NOT TRUE"


def _reasons(verdict: ActVerdict) -> Iterator[str]:
    if verdict.reference is None:
        return
    yield f"            “{_line(verdict.reference)}”"
    asked = [f"alone: {_probabilities(verdict.plain)}"] if verdict.plain else []
    asked += [f"in context: {_probabilities(verdict.augmented)}"] if verdict.augmented else []
    asked += ["not all values are there"] if not verdict.present else []
    asked += [f"not validated: {verdict.excluded}"] if verdict.excluded else []
    yield f"            {'; '.join(asked)}"


def _probabilities(verdict: Verdict) -> str:
    return (
        f"entailment {verdict.entailment:.2f}, neutral {verdict.neutral:.2f}, contradiction {verdict.contradiction:.2f}"
    )


def _line(text: str) -> str:
    return " ".join(text.split())


# -- files and notes ---------------------------------------------------------------------------------------------------


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    """Every act's verdict with the texts it is about; each probability under its name."""
    validated = "sgsacc_validated" in result.metrics
    for system in result.systems:
        for turn in system.turns:
            texts = {"response": turn.response, "gold": turn.unit.gold, "previous": turn.unit.previous}
            for verdict in (told.verdict for told in turn.acts if told.verdict is not None):
                row = {"system": system.name, **msgspec.structs.asdict(verdict), **texts}
                for name in ("plain", "augmented"):
                    row[name] = row[name]._asdict() if row[name] is not None else None
                if not validated:  # nobody looked: null would say that the act is valid
                    del row["excluded"]
                yield row


def _write(path: str, result: Result) -> None:
    from troth.storage.files import new_file

    with new_file(path) as file:
        for row in _rows(result):
            file.write(msgspec.json.encode(row) + b"\n")
    show.note(f"written: {path}")


def _save(out: str, result: Result, arguments: dict[str, Any]) -> None:
    from troth.responses import answers
    from troth.storage import runs as store

    counts = {system.name: system.counts for system in result.systems}
    details = [row for row in _rows(result) if row["reference"] is not None and not row["entailed"]]
    store.save(
        out, command="nlg", arguments=arguments, scores=result.scores, rows=result.rows(), counts=counts,
        details=details, dialogues=answers.of_acts(result.systems),
    )  # fmt: skip
    show.note(store.written(out))


def _note(result: Result) -> None:
    """What has no score and why, what was missing, and the recipes: told whatever form the scores have."""
    for line in result.notes:
        show.note(line)
    for reason in dict.fromkeys(score.reason for score in result.scores if score.reason):
        names = dict.fromkeys(score.metric for score in result.scores if score.reason == reason)
        show.note(f"not scored: {', '.join(names)}: {reason}")
    for system in result.systems:
        told = [(name.replace("_", " "), count) for name, count in system.counts.items() if count]
        plain = [f"{count} {name}" for name, count in told if "excluded" not in name]
        show.note(f"{system.name}: {', '.join(plain)}")
        left = [f"{count} {name.replace(' excluded', '')}" for name, count in told if "excluded" in name]
        if left:
            show.note(f"{system.name}: not validated: {', '.join(left)}")
    for metric in result.metrics:
        found = [score.signature for score in result.scores if (score.metric, score.group) == (metric, "all")]
        for signature in dict.fromkeys(found):
            show.note(signature)
