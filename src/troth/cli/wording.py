"""`troth meta wording`: how well SGSAcc tells true acts from tampered ones, under every wording of the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from troth.cli import options
from troth.cli.trials import show_trial
from troth.core import table as tables
from troth.core.errors import UserError
from troth.core.groups import ALL, SEEN, UNSEEN, Group

if TYPE_CHECKING:
    from troth.core.score import Score


@options.command("troth.meta.trials.wording:WordingSettings")
@options.GOLD
@options.JSON
def wording(gold: str, json: bool, **settings: Any) -> None:
    """Test whether SGSAcc tells true acts from tampered ones.

    The test is repeated under every wording of the schema. GOLD is a folder of dialogues with the system's acts, and
    its schema. Without --from, only the original schema is tested.
    """
    from troth.meta.trials.wording import wording as run

    context = click.get_current_context()
    if context.get_parameter_source("variants") is not ParameterSource.DEFAULT and settings["folder"] is None:
        raise UserError("--variants needs --from", hint="name the folder of SGD-X with --from")
    result = run(gold, **settings)
    show_trial(result, json=json, out=settings["out"], unit="turns", layout=_table_2(result.scores))


def _table_2(scores: Sequence[Score]) -> Iterator[tables.Table]:
    """Table 2 with one row per wording and judge; then a table by kind for each wording."""
    from troth.meta.trials.truth import F1, FALSE_ACCEPTS, PRECISION, RECALL
    from troth.meta.trials.wording import VALID_ACTS, VALID_TURNS

    cells = {(score.system, score.metric, score.group): score for score in scores}
    systems = list(dict.fromkeys(score.system for score in scores))
    order = [metric.name for metric in (PRECISION, RECALL, F1, FALSE_ACCEPTS, VALID_ACTS, VALID_TURNS)]
    for group in (ALL, Group("all+absent"), SEEN, UNSEEN):
        if columns := [name for name in order if any((system, name, group) in cells for system in systems)]:
            rows = tuple(
                (system, *(tables.figure(cells.get((system, name, group))) for name in columns)) for system in systems
            )
            yield tables.Table((group, *columns), rows)
    for wording in dict.fromkeys(system.partition("/")[0] for system in systems):
        judges = [system for system in systems if system.partition("/")[0] == wording]
        yield _by_kind(wording, [(name, judge) for name in (F1.name, FALSE_ACCEPTS.name) for judge in judges], cells)


def _by_kind(
    wording: str, heads: Sequence[tuple[str, str]], cells: Mapping[tuple[str, str, Group], Score]
) -> tables.Table:
    """F1 and the rate of false acceptances by kind; one column per metric and judge."""
    first, system = heads[0]
    kinds = [group for name, metric, group in cells if (name, metric) == (system, first) and group.kind == "kind"]

    def percent(metric: str, judge: str, kind: Group) -> str:
        score = cells.get((judge, metric, kind))
        return tables.percent(None if score is None else score.value)

    rows = tuple(
        (kind.name, str(cells[system, first, kind].n), *(percent(*head, kind) for head in heads)) for kind in kinds
    )
    names = [f"{metric.partition('_')[0]} {judge.partition('/')[2]}" for metric, judge in heads]
    return tables.Table((f"{wording}: kind", "cases", *names), rows)
