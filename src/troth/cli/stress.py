"""`troth stress ground`: which small corruptions of supported answers metrics notice."""

from __future__ import annotations

from typing import Any

import click

from troth.cli import options, show
from troth.cli.ground import MODELS
from troth.core.groups import ALL
from troth.core.names import format_count
from troth.core.result import Result
from troth.core.table import Table, figure


@click.group(no_args_is_help=True)
def stress() -> None:
    """Test which corruptions of answers a metric notices.

    A checker of your own can be tested, too.
    """


@stress.command(**options.settings("troth.meta.trials.stress:StressSettings", models=MODELS))
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=options.FILE)
@options.number("--explain", 0, "Number of missed corruptions to show for each metric.")
@options.JSON
def ground(data: tuple[str, ...], explain: int, json: bool, models: dict[str, Any], **settings: Any) -> None:
    """Corrupt supported answers in small ways, and test metrics on them.

    Reports which kinds of corruptions each metric notices. DATA are supported answers with their documents, in any
    format of `troth ground`; answers with the label 0 are left out.
    """
    from troth.grounding.metrics import Models
    from troth.meta.trials.stress import stress_ground

    result = stress_ground(*data, models=Models(**models), **settings)
    show.result(result, json_form=json, out=settings["out"], layout=_tables(result))
    for missed in () if json else _select_missed(result, explain):
        show.text(f"missed by {missed.metric}: {missed.kind}: {missed.answer} → {missed.corrupted}")
    for system, counts in result.counts.items():
        pairs = f"{counts['pairs']} corruptions of {counts['answers']} answers"
        left_out = f"; {counts['left out']} left out (label 0, or no text)" if counts["left out"] else ""
        show.note(f"{system}: {pairs}; intervals over {format_count(counts['documents'], 'document')}{left_out}")
    if settings["corrupted"] is not None:
        show.note(f"written: {settings['corrupted']}")


def _tables(result: Result) -> list[Table]:
    """A row per kind, a column per metric: the share of pairs that were caught, then AUROC."""
    scores = {(score.metric, score.group): score for score in result.scores}
    names = [metric.variant for metric in result.metrics if metric.of == "caught"]
    groups = list(dict.fromkeys(group for _, group in scores))
    tables = []
    for measure, head in (("caught", "caught, % of pairs"), ("auroc", "AUROC")):
        rows = []
        for group in [*(group for group in groups if group != ALL), ALL]:
            cells = [scores.get((f"{measure}:{name}", group)) for name in names]
            pairs = scores.get((f"caught:{names[0]}", group))
            rows.append((group.name or group, str(pairs.n if pairs else 0), *map(figure, cells)))
        tables.append(Table((head, "pairs", *names), tuple(rows)))
    return tables


def _select_missed(result: Result, number: int) -> list[Any]:
    """The first missed pairs of each metric, of different kinds first."""
    selected: list[Any] = []
    for name in dict.fromkeys(missed.metric for missed in result.findings):
        rounds: dict[str, int] = {}
        order = []
        for index, missed in enumerate(result.findings):
            if missed.metric == name:
                rounds[missed.kind] = rounds.get(missed.kind, 0) + 1
                order.append((rounds[missed.kind], index))
        selected += [result.findings[index] for _, index in sorted(order)[:number]]
    return selected
