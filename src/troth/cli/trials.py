"""`troth meta rerank` and `templates`: tests of the reranker and of references from templates, on gold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from troth.cli import options, show
from troth.cli.generate import TEMPLATES
from troth.core import table as tables

if TYPE_CHECKING:
    from troth.core.result import Result


@options.command("troth.meta.trials.rerank:RerankSettings")
@options.GOLD
@options.number("--examples", 0, "Number of lists to show for each rule in which gold is not chosen.")
@options.option("--lost", "FILE", "New JSONL file for the lists in which gold is not chosen.", type=options.FILE)
@options.JSON
def rerank(gold: str, examples: int, lost: str | None, json: bool, **settings: Any) -> None:
    """Test whether the reranker chooses gold among corrupted copies.

    The copies have a wrong value, a missing value, or yes for no. Gold comes last, so a tie is lost. `entailed` is the
    paper's rule; `retry` also tries in context; `gated` also requires the values; `rule` requires the values and uses
    no model. The copies are made so that `rule` finds every wrong or missing value, so only the first two rules show
    what the model can do.
    """
    from troth.meta.trials.rerank import rerank as run
    from troth.storage import files

    files.check_distinct(lost, settings["out"])
    if lost is not None:
        files.check_new(lost)
    result = run(gold, **settings)
    if lost is not None:
        with files.new_file(lost) as file:
            for row in result.findings:
                file.write(msgspec.json.encode(row) + b"\n")
    show_trial(result, json=json, out=settings["out"], unit="lists")
    for rule in () if json else result.systems:
        for lost_list in [finding for finding in result.findings if finding.rule == rule][:examples]:
            where = f"{lost_list.dialogue}, turn {lost_list.turn}"
            show.text(f"\n{where}: lost by {rule} to {', '.join(lost_list.kinds)}")
            show.text(f"  gold    {' '.join(lost_list.gold.split())}")
            show.text(f"  chosen  {' '.join(lost_list.chosen.split())}")
            show.text(f"  gold has no point for: {'; '.join(lost_list.missed) or '–'}")


@options.command("troth.meta.trials.trial:TrialSettings")
@options.GOLD
@TEMPLATES
@options.number("--examples", 0, "Number of template sentences to show that gold does not entail.")
@options.JSON
def templates(gold: str, folder: str, examples: int, json: bool, **settings: Any) -> None:
    """Test how many gold utterances are rejected by references.

    Compares references from templates with references from the schema. `gold_rejected:plain` judges the utterance
    alone, `gold_rejected` also in context.
    """
    from troth.meta.trials.templates import template_references

    result = template_references(gold, folder, **settings)
    left = next(iter(result.counts.values()))["turns_left_out"]
    rest = f", {left} left out: an act has no template or no rule" if left else ""
    show_trial(result, json=json, out=settings["out"], unit="turns", rest=rest)
    for rejected in () if json else result.findings[:examples]:
        show.text(f"“{' '.join(rejected.gold.split())}” does not entail “{rejected.sentence}”")


def show_trial(
    result: Result,
    *,
    json: bool,
    out: str | None,
    unit: str,
    rest: str = "",
    layout: Iterable[tables.Table] | None = None,
) -> None:
    """Prints the result of a trial; its last note counts `unit`, followed by `rest`."""
    show.result(result, json_form=json, out=out, layout=layout)
    show.note(f"{next(iter(result.counts.values()))[unit]} {unit}{rest}; {result.scores[0].signature}")
