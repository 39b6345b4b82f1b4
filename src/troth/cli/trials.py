"""`troth meta rerank` and `templates`: trials of the reranker and of references from templates, on gold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from troth.cli import options, show
from troth.cli.generate import TEMPLATES, augment
from troth.core import table as tables

if TYPE_CHECKING:
    from troth.core.result import Result

F = TypeVar("F", bound=Callable[..., Any])


def trial(command: F) -> F:
    """The options that every trial on gold has."""
    for option in (
        options.JSON,
        options.OUT,
        options.number("--seed", 0, "Random seed: which turns are drawn, and how their acts are changed."),
        options.resamples(1000, 1),
        options.FORMAT,
        options.CACHE,
        options.REFS,
        options.NLI,
        options.SCHEMA,
        options.number("--turns", 2000, "Number of system turns to draw (0 = all)."),
        options.GOLD,
    ):
        command = option(command)
    return command


@click.command(no_args_is_help=True)
@trial
@augment("Whether the rule `gated` tries an act again in context if the response alone does not entail it.")
@options.number("--examples", 0, "Number of lists to show for each rule in which gold is not chosen.")
@options.option("--lost", "FILE", "New JSONL file for the lists in which gold is not chosen.", type=options.FILE)
def rerank(
    gold: str, turns: int, examples: int, lost: str | None, out: str | None, json: bool, **settings: Any
) -> None:
    """Test the reranker: does it choose gold among copies with a wrong value, a missing one, or yes for no?

    Gold comes last, so a tie is lost. `entailed` is the paper's rule; `retry` also tries in context; `gated` also
    requires the values; `rule` requires the values and uses no model. The copies are made so that `rule` finds every
    wrong or missing value, so only the first two rules show what the model can do.
    """
    from troth.meta.trials.rerank import rerank as run
    from troth.storage import files

    if lost is not None:
        files.check_new(lost)
    result = run(gold, turns=turns or None, out=out, **settings)
    if lost is not None:
        with files.new_file(lost) as file:
            for one in result.details:
                file.write(msgspec.json.encode(one) + b"\n")
    show_trial(result, json=json, out=out, unit="lists")
    for rule in () if json else result.systems:
        for one in [one for one in result.details if one["rule"] == rule][:examples]:
            show.text(f"\n{one['dialogue']}, turn {one['turn']}: lost by {rule} to {', '.join(one['kinds'])}")
            show.text(f"  gold    {' '.join(one['gold'].split())}")
            show.text(f"  chosen  {' '.join(one['chosen'].split())}")
            show.text(f"  gold has no point for: {'; '.join(one['missed']) or '–'}")


@click.command(no_args_is_help=True)
@trial
@TEMPLATES
@options.number("--examples", 0, "Number of template sentences to show that gold does not entail.")
def templates(gold: str, folder: str, turns: int, examples: int, out: str | None, json: bool, **settings: Any) -> None:
    """Test references: how many gold utterances are rejected with references from templates, and from the schema?

    `gold_rejected:plain` judges the utterance alone, `gold_rejected` also in context.
    """
    from troth.meta.trials.templates import template_references

    result = template_references(gold, folder, turns=turns or None, out=out, **settings)
    left = next(iter(result.counts.values()))["turns_left_out"]
    rest = f", {left} left out: an act has no template or no rule" if left else ""
    show_trial(result, json=json, out=out, unit="turns", rest=rest)
    for one in () if json else result.details[:examples]:
        show.text(f"“{' '.join(one['gold'].split())}” does not entail “{one['sentence']}”")


def show_trial(
    result: Result,
    *,
    json: bool,
    out: str | None,
    unit: str,
    rest: str = "",
    layout: Iterable[tables.Table] | None = None,
) -> None:
    """Prints the result of a trial; `unit`: what is counted in its last note, with `rest` after it."""
    show.result(result, json_form=json, out=out, layout=layout)
    show.note(f"{next(iter(result.counts.values()))[unit]} {unit}{rest}; {result.scores[0].signature}")
