"""`troth nlg`: are responses true to what they were to say?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.cli.perturb_schema import progress
from troth.report import tables

if TYPE_CHECKING:
    from troth.backends import Verdict
    from troth.records import Score
    from troth.runner.nlg import Result
    from troth.runner.nlg_scores import System, Turn
    from troth.scorers.sgsacc import ActVerdict

TABLE_1 = ("bleu", "ser", "sgsacc_validated", "sgsacc")  # in the paper's order
LOWER = ("ser", "ser_applicable")  # the lower the better
SEED_HELP = "Of the resampling, and of the values that acts are tampered with."


@click.command(no_args_is_help=True)
@options.GOLD
@click.argument("responses", nargs=-1, required=True, metavar="RESPONSES...")
@click.option("--metrics", metavar="NAMES", help="With commas: ser, bleu, sgsacc with their kin, or single names.")
@options.SCHEMA
@click.option("--train-schema", metavar="FILE", help="The training services: tells seen from unseen.")
@click.option("--by", metavar="NAMES", help="Also by service, domain, act, slot, kind; with commas.")
@click.option("--missing", type=click.Choice(["part", "zero", "skip"]), default="part", show_default=True,
              help="Turns without a response: wrong if their dialogue has any; wrong; left out.")  # fmt: skip
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
    from troth.runner import files
    from troth.runner import nlg as runner

    if acts is not None:
        files.refuse(acts)
    with progress("judging") as step:
        result = runner.nlg(
            gold, *responses, metrics=_split(metrics), schema=schema, train_schema=train_schema, by=_split(by) or (),
            missing=missing, nli=nli, cache=cache, gold_text=not no_gold_text, augment=augment, negatives=negatives,
            ids=ids, formats=(format, pred_format), resamples=resamples, seed=seed, progress=step,
        )  # fmt: skip
    if out is not None:
        arguments = {"gold": gold, "responses": list(responses), "by": by, "missing": missing, "augment": augment}
        arguments |= {"negatives": negatives, "nli": nli, "gold_text": not no_gold_text, "ids": ids, "seed": seed}
        arguments |= {"format": format, "pred_format": pred_format}
        _save(out, result, {**arguments, "schema": schema, "train_schema": train_schema, "resamples": resamples})
    if acts is not None:
        _write(acts, result)
    if json:
        show.json(result.scores)
    else:
        show.tables(_tables(result.scores))
        for line in _explained(result, explain):
            show.text(line)
    _note(result)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]


# -- tables ------------------------------------------------------------------------------------------------------------


def _tables(scores: Sequence[Score]) -> Iterator[tables.Table]:
    """Table 1 of the paper, a row a system; then the rest, a row a metric; then a table for each kind of group."""
    main = [score for score in scores if score.metric in TABLE_1 and score.group in ("all", "seen", "unseen")]
    if main:
        yield _table_1(main)
    yield from tables.of_scores([score for score in scores if score not in main], headline=())
    sorts = [score for score in scores if score.group in ("categorical", "noncategorical")]
    if sorts:
        yield from tables.of_scores([msgspec.structs.replace(s, group=f"slots:{s.group}") for s in sorts], headline=())


def _table_1(scores: Sequence[Score]) -> tables.Table:
    found = {(score.system, score.metric, score.group): score for score in scores}
    groups = [group for group in ("all", "seen", "unseen") if any(score.group == group for score in scores)]
    heads = [(metric, group) for metric in TABLE_1 for group in groups if any(s.metric == metric for s in scores)]
    systems = list(dict.fromkeys(score.system for score in scores))
    rows = tuple((name, *(_cell(found.get((name, *head))) for head in heads)) for name in systems)
    best = set()
    for column, head in enumerate(heads, 1):
        best |= {(row, column) for row in _best([found.get((name, *head)) for name in systems], head[0] in LOWER)}
    columns = tuple(metric if len(groups) == 1 else f"{metric} {group}" for metric, group in heads)
    return tables.Table(("system", *columns), rows, 1, frozenset(best))


def _best(cells: Sequence[Score | None], lower: bool) -> list[int]:
    """Which systems no other beats beyond noise."""
    known = [cell for cell in cells if cell is not None and cell.value is not None]
    if len(known) < 2 or len({cell.recipe for cell in known}) > 1:
        return []
    values = [cell.value for cell in known if cell.value is not None]
    top = min(values) if lower else max(values)
    return [
        place
        for place, cell in enumerate(cells)
        if cell is not None and cell.low is not None and cell.high is not None
        and (cell.value == top or (cell.low <= top if lower else cell.high >= top))
    ]  # fmt: skip


def _cell(score: Score | None) -> str:
    if score is None or score.value is None or score.low is None or score.high is None:
        return tables.percent(score.value if score else None)
    return f"{tables.percent(score.value)} ±{tables.percent((score.high - score.low) / 2)}"


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
    """Every act's verdict; each probability under its name."""
    for system in result.systems:
        for verdict in system.verdicts():
            row = {"system": system.name, **msgspec.structs.asdict(verdict)}
            for name in ("plain", "augmented"):
                row[name] = row[name]._asdict() if row[name] is not None else None
            yield row


def _write(path: str, result: Result) -> None:
    from troth.runner.files import new_file

    with new_file(path) as file:
        for row in _rows(result):
            file.write(msgspec.json.encode(row) + b"\n")
    show.note(f"written: {path}")


def _save(out: str, result: Result, arguments: dict[str, Any]) -> None:
    from troth.runner import answers, store

    counts = {system.name: system.counts for system in result.systems}
    details = [row for row in _rows(result) if not row["entailed"]]
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
    found = {score.metric: score.signature for score in reversed(result.scores) if score.group == "all"}
    for metric in ("ser", "bleu", "sgsacc", "sgsacc_validated"):
        if metric in found:
            show.note(found[metric])
