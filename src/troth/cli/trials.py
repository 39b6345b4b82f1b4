"""`troth meta rerank` and `templates`: what the reranker and references from templates are worth, on gold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from troth.cli import options, show
from troth.cli.bars import progress
from troth.cli.generate import AUGMENTS
from troth.core import table as tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from troth.core.score import Score
    from troth.models import Nli

TURNS = click.option("--turns", type=click.IntRange(min=0), default=2000, show_default=True, help="Drawn; 0: all.")
SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of what is drawn.")


@click.command(no_args_is_help=True)
@options.GOLD
@TURNS
@click.option(
    "--augment",
    type=AUGMENTS,
    default="never",
    show_default=True,
    help="Of the row `gated`: whether what fails alone is asked again in context.",
)
@options.SCHEMA
@options.NLI
@options.CACHE
@options.FORMAT
@options.resamples(1000, 1)
@SEED
@click.option("--examples", type=click.IntRange(min=0), default=0, metavar="N", help="Show N lost lists of each rule.")
@click.option("--lost", metavar="FILE", help="Write all lists that are lost to this JSONL file.")
@options.JSON
def rerank(
    gold: str,
    turns: int,
    augment: Any,
    schema: str | None,
    nli: str,
    cache: str | None,
    format: str | None,
    resamples: int,
    seed: int,
    examples: int,
    lost: str | None,
    json: bool,
) -> None:
    """Does the reranker choose gold among copies of it with a wrong value, a missing one, a yes for a no?

    Gold stands last, so that a tie is lost. `entailed` is the paper's rule; `retry` also asks in context; `gated` also
    looks for the values; `rule` only looks for them and asks no model. Copies with a wrong or missing value are made so
    that `rule` finds them: what the model is worth is read from the first two.
    """
    from troth import models as backends
    from troth.meta.rerank import RULES, trial
    from troth.responses.sample import corpus
    from troth.storage import files

    if lost is not None:
        files.check_new(lost)
    model = backends.nli(nli, cache=cache)
    dialogues, services = corpus(gold, schema=schema, format=format)
    with progress("reranking") as step:
        made = trial(
            dialogues, services, model, turns=turns or None, seed=seed, augment=augment, resamples=resamples,
            progress=step,
        )  # fmt: skip
    if lost is not None:
        with files.new_file(lost) as file:
            for one in made.lost:
                file.write(msgspec.json.encode(one) + b"\n")
    if json:
        show.json(made.scores)
    else:
        show.tables(tables.of_scores(made.scores))
        for one in (one for rule in RULES for one in [one for one in made.lost if one.rule == rule][:examples]):
            show.text("")
            show.text(f"{one.dialogue}, turn {one.turn}: lost by {one.rule} to {', '.join(one.kinds)}")
            show.text(f"  gold    {' '.join(one.gold.split())}")
            show.text(f"  chosen  {' '.join(one.chosen.split())}")
            show.text(f"  gold has no point for: {'; '.join(one.missed) or '–'}")
    _note(made.scores, made.notes, f"{made.lists} lists", model)


@click.command(no_args_is_help=True)
@options.GOLD
@click.option("--templates", "folder", metavar="DIR", required=True, help="A .tsv file of templates for each service.")
@TURNS
@options.SCHEMA
@options.NLI
@options.CACHE
@options.FORMAT
@options.resamples(1000, 1)
@SEED
@click.option("--examples", type=click.IntRange(min=0), default=0, metavar="N", help="Show N templates that reject.")
@options.JSON
def templates(
    gold: str,
    folder: str,
    turns: int,
    schema: str | None,
    nli: str,
    cache: str | None,
    format: str | None,
    resamples: int,
    seed: int,
    examples: int,
    json: bool,
) -> None:
    """How many gold utterances are rejected if references are made from templates, and how many if from the schema?

    The lower, the better the references. `gold_rejected:plain` is by the utterance alone, `gold_rejected` with the
    retry in its context.
    """
    from troth import models as backends
    from troth.meta.templates import trial
    from troth.responses.sample import corpus
    from troth.responses.templates import read

    known = read(folder)
    model = backends.nli(nli, cache=cache)
    dialogues, services = corpus(gold, schema=schema, format=format)
    with progress("judging") as step:
        made = trial(
            dialogues, services, known, model, turns=turns or None, seed=seed, resamples=resamples, progress=step
        )  # fmt: skip
    if json:
        show.json(made.scores)
    else:
        show.tables(tables.of_scores(made.scores))
        for text, sentence in made.examples[:examples]:
            show.text(f"“{' '.join(text.split())}” does not entail “{sentence}”")
    left = f", {made.left_out} left out: an act has no template or no rule" if made.left_out else ""
    _note(made.scores, made.notes, f"{made.turns} turns{left}", model)


def _note(scores: Sequence[Score], notes: Sequence[str], what: str, model: Nli) -> None:
    for line in notes:
        show.note(line)
    if model.cut:
        show.note(f"{model.cut} pairs were longer than the model reads, and were cut")
    show.note(f"{what}; {scores[0].signature}")
