"""`troth meta annotate` and `agree`: a sheet for people to fill in, and how far they agree with the metric."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from troth.cli import options, show
from troth.core import table as tables


@click.command(no_args_is_help=True)
@click.argument("run", metavar="RUN", type=options.FILE)
@click.option("--out", metavar="SHEET", required=True, help="New .csv file; its key is written beside it.")
@options.number("--pairs", 400, "Number of pairs, half of them faithful by the metric.", least=2)
@options.number("--seed", 0, "Random seed of the drawn pairs.")
@click.option(
    "--of", type=click.Choice(["validated", "excluded", "all"]), default="validated", show_default=True,
    help="Draw from turns that pass validation, that fail it, or both.",
)  # fmt: skip
@options.option("--system", "NAME", "Whose responses, if the run holds several systems.")
@options.JSON
def annotate(run: str, out: str, pairs: int, json: bool, **settings: Any) -> None:
    """A sheet of responses and acts for people to mark, half of them faithful by SGSAcc and half not.

    RUN was made by `troth nlg --out RUN`. The key, SHEET.key.json, has the metric's verdicts: keep it from annotators.
    """
    from troth.meta.annotate import annotate as write
    from troth.meta.annotate import key_file

    key = write(run, out, pairs=pairs, **settings)
    faithful = sum(one.faithful for one in key.pairs.values())
    unfaithful = len(key.pairs) - faithful
    if json:
        counts = {"pairs": len(key.pairs), "faithful": faithful, "unfaithful": unfaithful}
        show.json({**counts, "sheet": out, "key": key_file(out)})
    show.note(f"{len(key.pairs)} pairs: {faithful} of {key.faithful} that {key.metric} marks faithful, "
              f"{unfaithful} of {key.unfaithful} unfaithful")  # fmt: skip
    if len(key.pairs) < pairs:
        show.note(f"fewer than {pairs}: the run does not have as many, half and half")
    show.note(f"written: {out} (a copy for each annotator), {key_file(out)} (not for them)")


@click.command(no_args_is_help=True)
@click.argument("sheets", nargs=-1, required=True, metavar="SHEET...", type=options.FILE)
@options.option("--key", "FILE", "The sheet's key: also compare with the metric.", type=options.FILE)
@options.resamples(1000, 1)
@options.SEED
@options.number("--examples", 10, "Number of disagreements to show.")
@options.option("--disagreements", "FILE", "Write all disagreements to this new JSONL file.", type=options.FILE)
@options.OUT
@options.JSON
def agree(
    sheets: tuple[str, ...],
    key: str | None,
    examples: int,
    disagreements: str | None,
    out: str | None,
    json: bool,
    **settings: Any,
) -> None:
    """How far people agree with the metric, and with each other.

    Each SHEET is one annotator's copy, filled in.
    """
    from troth.meta.agreement import agree as run
    from troth.storage import files

    if disagreements is not None:
        files.check_new(disagreements)
    result = run(*sheets, key=key, out=out, **settings)
    if disagreements is not None:
        with files.new_file(disagreements) as file:
            for one in result.details:
                file.write(msgspec.json.encode(one) + b"\n")
    rows = []
    for score in result.scores:
        value, low, high = (tables.number(number, score.scale) for number in (score.value, score.low, score.high))
        rows.append((score.metric, score.group, value, f"{low} … {high}", str(score.n)))
    table = tables.Table(("metric", "group", "value", "95% interval", "pairs"), tuple(rows), labels=2)
    show.result(result, json_form=json, out=out, layout=[table])
    for one in () if json else result.details[:examples]:
        people, metric = (
            " ".join("yes" if vote else "no" for vote in some) for some in (one["votes"], [one["metric"]])
        )
        show.text(f"\n{one['id']} ({one['dialogue']}, turn {one['turn']}): people {people}; metric {metric}")
        show.text(f"  before  {' '.join(one['previous'].split())}")
        show.text(f"  said    {' '.join(one['utterance'].split())}")
        show.text(f"  act     {one['words']}")
    counts = next(iter(result.counts.values()))
    who = f"{counts['annotators']} annotator{'s' if counts['annotators'] > 1 else ''}, {counts['pairs']} pairs"
    if key is None:
        show.note(f"{who}; without --key nothing is said of the metric")
        return
    show.note(f"{who}; {len(result.details)} disagreements with the metric")
    show.note(result.scores[0].signature)
