"""`troth meta annotate` and `agree`: a sheet for people to fill in, and what they say of the metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables

if TYPE_CHECKING:
    from troth.meta.agreement import Agreement


@click.command(no_args_is_help=True)
@click.argument("run", metavar="RUN")
@click.option("--out", metavar="SHEET", required=True, help="A new .csv file; its key is written beside it.")
@click.option("--pairs", type=click.IntRange(min=2), default=400, show_default=True, help="Half of them faithful.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the drawing.")
@click.option("--of", type=click.Choice(["validated", "excluded", "all"]), default="validated", show_default=True,
              help="Draw from turns that pass validation, that fail it, or both.")  # fmt: skip
@click.option("--system", metavar="NAME", help="Whose responses, if the run holds several systems.")
@options.JSON
def annotate(run: str, out: str, pairs: int, seed: int, of: Any, system: str | None, json: bool) -> None:
    """A sheet of responses and acts for people to mark, half of them faithful by SGSAcc and half not.

    RUN was made by `troth nlg --out RUN`. The key, SHEET.key.json, says what the metric says: keep it from annotators.
    """
    from troth.meta import annotate as runner

    key = runner.annotate(run, out, pairs=pairs, seed=seed, of=of, system=system)
    faithful = sum(one.faithful for one in key.pairs.values())
    unfaithful = len(key.pairs) - faithful
    if json:
        counts = {"pairs": len(key.pairs), "faithful": faithful, "unfaithful": unfaithful}
        show.json({**counts, "sheet": out, "key": runner.key_file(out)})
    show.note(f"{len(key.pairs)} pairs: {faithful} of {key.faithful} that {key.metric} marks faithful, "
              f"{unfaithful} of {key.unfaithful} unfaithful")  # fmt: skip
    if len(key.pairs) < pairs:
        show.note(f"there are not {pairs} to be had half and half: the sheet has what there is")
    show.note(f"written: {out} (a copy for each annotator), {runner.key_file(out)} (not for them)")


@click.command(no_args_is_help=True)
@click.argument("sheets", nargs=-1, required=True, metavar="SHEET...")
@click.option("--key", metavar="FILE", help="The sheet's key: agreement with the metric, not among people alone.")
@options.resamples(1000, 1)
@options.SEED
@click.option("--examples", type=click.IntRange(min=0), default=10, show_default=True, help="Disagreements to show.")
@click.option("--disagreements", metavar="FILE", help="Write all of them to this JSONL file.")
@options.JSON
def agree(
    sheets: tuple[str, ...],
    key: str | None,
    resamples: int,
    seed: int,
    examples: int,
    disagreements: str | None,
    json: bool,
) -> None:
    """What people say: how far they agree with the metric, and with each other.

    Each SHEET is one annotator's copy, filled in.
    """
    from troth.meta.agreement import agree as run
    from troth.storage import files

    if disagreements is not None:
        files.check_new(disagreements)
    made = run(sheets, key=key, resamples=resamples, seed=seed)
    if disagreements is not None:
        with files.new_file(disagreements) as file:
            for one in made.disagreements:
                file.write(msgspec.json.encode(one) + b"\n")
    if json:
        show.json(made.scores)
    else:
        show.table(_table(made))
        _show(made, examples)
    _note(made, key)


def _table(made: Agreement) -> tables.Table:
    rows = []
    for score in made.scores:
        value, low, high = (
            tables.percent(number) if score.metric != "fleiss_kappa" else _kappa(number)
            for number in (score.value, score.low, score.high)
        )
        rows.append((score.metric, score.group, value, f"{low} … {high}", str(score.n)))
    return tables.Table(("metric", "group", "value", "95% interval", "pairs"), tuple(rows), labels=2)


def _kappa(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _show(made: Agreement, examples: int) -> None:
    for one in made.disagreements[:examples]:
        votes = " ".join("yes" if vote else "no" for vote in one.votes)
        show.text("")
        show.text(f"{one.id} ({one.dialogue}, turn {one.turn}): people {votes}; metric {'yes' if one.metric else 'no'}")
        show.text(f"  before  {' '.join(one.previous.split())}")
        show.text(f"  said    {' '.join(one.utterance.split())}")
        show.text(f"  act     {one.words}")


def _note(made: Agreement, key: str | None) -> None:
    for score in made.scores:
        if score.reason:
            show.note(f"not scored: {score.metric} of {score.group}: {score.reason}")
    people = f"{made.annotators} annotator{'s' if made.annotators > 1 else ''}, {made.pairs} pairs"
    if key is None:
        show.note(f"{people}; without --key nothing is said of the metric")
        return
    ties = (
        f", {len(made.undecided)} undecided (ties, left out: {', '.join(made.undecided[:5])})" if made.undecided else ""
    )
    show.note(f"{people}{ties}; {len(made.disagreements)} disagreements with the metric")
    show.note(made.scores[0].signature)
