"""`troth meta wording`: how well SGSAcc tells true acts from tampered ones, whatever the schema's wording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from troth.cli import options, show
from troth.cli.bars import progress
from troth.core import table as tables
from troth.core.errors import UserError

if TYPE_CHECKING:
    from troth.core.score import Score
    from troth.meta.wording import Judgement

METRICS = ("precision", "recall", "f1", "false_accepts", "valid_acts", "valid_turns")


@click.command(no_args_is_help=True)
@options.GOLD
@click.option("--from", "folder", metavar="SGDX", help="A folder with variants' schemas: SGDX/v1/dev/schema.json.")
@click.option("--variants", metavar="NAMES", help="Which of --from: v1..v5, or v1,v3.  [default: v1..v5]")
@click.option("--turns", type=click.IntRange(min=0), default=2000, show_default=True, help="System turns; 0: all.")
@options.SCHEMA
@click.option("--train-schema", metavar="FILE", help="The training services: tells seen from unseen.")
@options.NLI
@options.CACHE
@options.FORMAT
@options.resamples(1000, 1)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the turns and the values.")
@options.OUT
@options.JSON
def wording(
    gold: str,
    folder: str | None,
    variants: str | None,
    turns: int,
    schema: str | None,
    train_schema: str | None,
    nli: str,
    cache: str | None,
    format: str | None,
    resamples: int,
    seed: int,
    out: str | None,
    json: bool,
) -> None:
    """Does the entailment model tell true acts from tampered ones, under every wording of the schema?

    GOLD is a folder of dialogues with the system's acts, and its schema. Without --from the original schema is judged
    alone.
    """
    from troth.meta import wording as runner
    from troth.storage import runs as store

    if out is not None:
        store.refuse(out)
    if variants is not None and folder is None:
        raise UserError("--variants are those of --from", hint="name SGD-X's folder with --from")
    with progress("judging") as step:
        result = runner.wording(
            gold, folder=folder, variants=variants or "v1..v5", schema=schema, train_schema=train_schema, nli=nli,
            cache=cache, turns=turns or None, format=format, resamples=resamples, seed=seed, progress=step,
        )  # fmt: skip
    if out is not None:
        arguments = {"gold": gold, "from": folder, "variants": variants, "turns": turns, "nli": nli, "seed": seed}
        arguments["format"] = format
        _save(out, result, {**arguments, "schema": schema, "train_schema": train_schema, "resamples": resamples})
    if json:
        show.json(result.scores)
    else:
        show.tables(_tables(result.scores))
    for line in result.notes:
        show.note(line)
    show.note(f"{result.turns} turns; {result.scores[0].signature}")


def _save(out: str, result: Judgement, arguments: dict[str, object]) -> None:
    from troth.storage import runs as store

    counts = {system: {"turns": result.turns} for system in dict.fromkeys(score.system for score in result.scores)}
    store.save(
        out, command="meta wording", arguments=arguments, scores=result.scores, rows=result.rows(), counts=counts
    )
    show.note(f"written: {out}/run.json, {out}/rows.parquet")


def _tables(scores: Sequence[Score]) -> Iterator[tables.Table]:
    """Table 2, a row a wording and judge; then a table by kind for each wording."""
    found = {(score.system, score.metric, score.group): score for score in scores}
    systems = list(dict.fromkeys(score.system for score in scores))
    for group in ("all", "all+absent", "seen", "unseen"):
        mine = [system for system in systems if (system, "f1", group) in found]
        if mine:
            names = [name for name in METRICS if (mine[0], name, group) in found]
            rows = tuple((system, *(tables.figure(found[system, name, group]) for name in names)) for system in mine)
            yield tables.Table((group, *names), rows)
    for wording in dict.fromkeys(system.partition("/")[0] for system in systems):
        yield _by_kind(wording, [system for system in systems if system.partition("/")[0] == wording], found)


def _by_kind(wording: str, systems: Sequence[str], found: dict[tuple[str, str, str], Score]) -> tables.Table:
    """F1 by kind, and how often what is not true is accepted; a column a judge."""
    groups = [group for system, metric, group in found if (system, metric) == (systems[0], "f1")]
    kinds = [group for group in groups if group.startswith("kind:")]
    heads = [(metric, system) for metric in ("f1", "false_accepts") for system in systems]
    rows = tuple(
        (
            kind.partition(":")[2],
            str(found[systems[0], "f1", kind].n),
            *(tables.percent(found[system, metric, kind].value) for metric, system in heads),
        )
        for kind in kinds
    )
    names = [f"{'f1' if metric == 'f1' else 'false'} {system.partition('/')[2]}" for metric, system in heads]
    return tables.Table((f"{wording}: kind", "cases", *names), rows)
