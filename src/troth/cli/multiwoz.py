"""`troth multiwoz`: Inform, Success, Combined and lexical richness of whole dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core.errors import UserError
from troth.core.names import format_counts

if TYPE_CHECKING:
    from troth.core.result import Result


@options.command("troth.responses.multiwoz.score:MultiwozSettings")
@click.argument("predictions", nargs=-1, required=True, metavar="PRED...", type=options.FILE)
@options.number("--explain", 0, "Number of missed goals to show per system.")
@options.JSON
def multiwoz(predictions: tuple[str, ...], explain: int, json: bool, **settings: Any) -> None:
    """Score dialogues on MultiWOZ: Inform, Success, Combined, richness.

    Scores one system or several as mwzeval does, in total and by domain. Each PRED is a file in mwzeval's format, or
    NAME=FILE: delexicalised responses with their states.
    """
    from troth.responses.multiwoz.score import multiwoz as run

    if json and explain:
        raise UserError("--explain is for reading, --json for programs", hint="run.json of --out has every missed goal")
    result = run(*predictions, **settings)
    show.result(result, json_form=json, out=settings["out"])
    for line in _explain(result, explain) if explain else ():
        show.text(line)
    for system, counts in result.counts.items():
        show.note(f"{system}: {', '.join(format_counts(counts))}")
    whole = [score for score in result.scores if score.group == "all" and score.value is not None]
    for score in reversed({score.identity: score for score in reversed(whole)}.values()):
        show.note(score.signature)


def _explain(result: Result, number: int) -> Iterator[str]:
    """Why goals were missed, by reason; then the first of them."""
    for system in result.systems:
        mine = [finding for finding in result.findings if finding.system == system]
        kinds = Counter(
            "not given" if one.inform else "wrong venue" if one.offered else "no venue offered" for one in mine
        )
        yield from ("", f"{system}: " + (", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"))
        yield from (f"  {one.dialogue}  {one.domain:<10}  {one.reason}" for one in mine[:number])
