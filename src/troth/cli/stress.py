"""`troth stress ground`: which minimal corruptions of supported answers do metrics, or an own checker, notice?"""

from __future__ import annotations

from typing import Any

import click

from troth.cli import options, show
from troth.cli.ground import CONTEXT, FORMAT, MAP, MODELS, ON_ERROR
from troth.core.names import counted
from troth.core.result import Result
from troth.core.table import Table, figure


@click.group(no_args_is_help=True)
def stress() -> None:
    """Stress tests: which small corruptions of answers does a metric, or a checker of your own, notice?"""


@stress.command(no_args_is_help=True)
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=options.FILE)
@options.option(
    "--metrics", "NAMES", "Metrics, comma-separated; empty with --checker for the checker alone.",
    type=options.GROUNDING_METRICS, default="faith,coverage,nli",
)  # fmt: skip
@options.option("--checker", "URL", "Address of your own checker, which gets document, response and history as JSON.")
@options.option(
    "--corruptions", "NAMES", "Kinds of corruptions, comma-separated. Default: all.",
    type=options.Names("troth.perturb.answers:KINDS"), default="",
)  # fmt: skip
@options.number("--each", 1, "Corruptions of each kind for each answer, at most.", least=1)
@FORMAT
@MAP
@ON_ERROR
@CONTEXT
@MODELS
@options.number("--resamples", 1000, "Number of bootstrap resamples (over documents).", least=1)
@options.number("--seed", 0, "Random seed of the corruptions and of the bootstrap.")
@options.option("--corrupted", "FILE", "Write answers and corruptions to this new JSONL file.")
@options.number("--explain", 0, "Show this many corruptions of each metric that it missed.")
@options.OUT
@options.JSON
def ground(data: tuple[str, ...], explain: int, out: str | None, json: bool, **settings: Any) -> None:
    """Corrupt supported answers in small ways, and report which kinds of corruptions each metric notices.

    DATA are supported answers with their documents, in any format of `troth ground`; what has the label 0 is left out.
    """
    from troth.meta.trials.stress import stress_ground

    result = stress_ground(*data, out=out, **settings)
    show.result(result, json_form=json, out=out, layout=_tables(result))
    for one in () if json else _first(result, explain):
        show.text(f"missed by {one.metric}: {one.kind}: {one.answer} → {one.corrupted}")
    for system, counts in result.counts.items():
        many = f"{counts['pairs']} corruptions of {counts['answers']} answers"
        left_out = f"; {counts['left out']} left out (label 0, or no text)" if counts["left out"] else ""
        show.note(f"{system}: {many}; intervals over {counted(counts['documents'], 'document')}{left_out}")
    if settings["corrupted"] is not None:
        show.note(f"written: {settings['corrupted']}")


def _tables(result: Result) -> list[Table]:
    """A row per kind, a column per metric: the share of pairs that were caught, then AUROC."""
    found = {(score.metric, score.group): score for score in result.scores}
    names = [metric.variant for metric in result.metrics if metric.of == "caught"]
    groups = list(dict.fromkeys(group for _, group in found))
    tables = []
    for measure, head in (("caught", "caught, % of pairs"), ("auroc", "AUROC")):
        rows = []
        for group in [*(one for one in groups if one != "all"), "all"]:
            cells = [found.get((f"{measure}:{name}", group)) for name in names]
            pairs = found.get((f"caught:{names[0]}", group))
            rows.append((group.name or group, str(pairs.n if pairs else 0), *map(figure, cells)))
        tables.append(Table((head, "pairs", *names), tuple(rows)))
    return tables


def _first(result: Result, number: int) -> list[Any]:
    """The first missed pairs of each metric, of different kinds first."""
    shown: list[Any] = []
    for name in dict.fromkeys(one.metric for one in result.details):
        rounds: dict[str, int] = {}
        order = []
        for place, one in enumerate(result.details):
            if one.metric == name:
                rounds[one.kind] = rounds.get(one.kind, 0) + 1
                order.append((rounds[one.kind], place))
        shown += [result.details[place] for _, place in sorted(order)[:number]]
    return shown
