"""`troth meta eval`: metrics of grounded responses against people's labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from troth.cli import options, show
from troth.cli.ground import CONTEXT, FORMAT, MAP, METRICS, MODELS, ON_ERROR
from troth.core.names import counted
from troth.core.result import Result
from troth.core.score import Score
from troth.core.table import Table, figure, number, signed, tidy
from troth.storage.runs import describe_files

Found = Mapping[tuple[str, str], Score]  # by metric and group


RECALL = click.option(
    "--recall", type=options.Real(min=0, max=1, min_open=True),
    help="Share of the unfaithful that a threshold should flag. Default: the best F1 of the faithful.",
)  # fmt: skip
PRECISION = click.option(
    "--precision", type=options.Real(min=0, max=1, min_open=True),
    help="Share of what a threshold flags that should be unfaithful.",
)  # fmt: skip


@click.command("eval", no_args_is_help=True)
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=options.FILE)
@click.option(
    "--dev", multiple=True, metavar="DEV", help="Other labelled data, for the thresholds; may be given repeatedly."
)
@METRICS
@RECALL
@PRECISION
@FORMAT
@MAP
@ON_ERROR
@CONTEXT
@MODELS
@options.number("--resamples", 10_000, "Number of bootstrap resamples (over documents).", least=1)
@options.SEED
@click.option("--to", type=click.Choice(["plain", "markdown", "latex", "csv"]), default="plain", show_default=True,
              help="Form of the tables; csv: one line per score.")  # fmt: skip
@options.OUT
@options.JSON
def evaluate(data: tuple[str, ...], to: str, out: str | None, json: bool, **settings: Any) -> None:
    """Metrics against people's labels: AUROC, correlations, and with --dev precision, recall, F1 and accuracy.

    DATA is labelled data in any format of `troth ground`, all files together. Metrics are compared with the first one.
    """
    from troth.meta.labels.evaluate import evaluate as run

    result = run(*data, out=out, **settings)
    if json:
        show.json(result.scores)
    elif to == "csv":
        show.text(tidy(result.scores))
    else:
        for place, (heading, table) in enumerate(_tables(result)):
            show.text("\n" * bool(place) + heading)
            if to == "plain":
                show.table(table)
            else:
                show.text(table.write(to))
    for line in ([describe_files(out)] if out is not None else []) + list(map(str, result.notes)):
        show.note(line)
    for system, counts in result.counts.items():
        many = f"{counts['responses']} labelled responses, {counts['positive']} positive"
        show.note(f"{system}: {many}; intervals over {counted(counts['documents'], 'document')}")
    for name in _names(result):
        show.note(result[f"auroc:{name}"].recipe)


# -- tables, laid out as in the paper ----------------------------------------------------------------------------------


def _names(result: Result) -> list[str]:
    """The metrics that were measured."""
    return [metric.variant for metric in result.metrics if metric.of == "auroc"]


def _tables(result: Result) -> Iterator[tuple[str, Table]]:
    found = {(score.metric, score.group): score for score in result.scores}
    names = _names(result)
    groups = {kind: _groups(found, kind) for kind in ("source", "slice", "bin")}
    fitted = any(group == "dev" for _, group in found)
    several = len(groups["source"]) > 1
    if fitted:
        measures = ("Precision", "Recall", "F1", "Accuracy")
        yield "With the threshold from dev (table 1)", _table(found, names, measures)
        flagged = ("Unfaithful_recall", "Unfaithful_precision", "False_alarms")
        yield "The same verdicts, for who looks for the unfaithful", _table(found, names, flagged)
        if several:
            yield "F1 by source (table 2)", _by_group(found, names, "f1", "source", groups["source"])
    yield "Without calibration (table 3)", _table(found, names, ("Spearman", "Pearson", "AUROC"))
    if several:
        yield "AUROC by source", _by_group(found, names, "auroc", "source", groups["source"])
    if fitted:
        yield "From dev (table 9)", _table(found, names, ("Min", "Max", "Threshold"), "dev")
    if result.details:
        yield "Against the first metric", _compared(result.details)
    lines = []
    for name in groups["slice"]:
        cells = [found.get((f"auroc:{metric}", f"slice:{name}")) for metric in names]
        n = max((cell.n for cell in cells if cell is not None), default=0)
        lines.append((name.replace("_", " "), str(n), *map(figure, cells)))
    yield "AUROC by slice", Table(("slice", "n", *names), tuple(lines))
    curves = [(place, *(_point(found, name, place) for name in names)) for place in sorted(groups["bin"], key=int)]
    if fitted:
        curves.append(("ece", *(figure(found.get((f"ece:{name}", "all"))) for name in names)))
    heading = "Reliability: mean score → share of positives, in bins of equal size"
    heading += "; ece: expected calibration error, by dev" if fitted else ""
    yield heading, Table(("bin", *names), tuple(curves))


def _groups(found: Found, kind: str) -> list[str]:
    names = [(group.kind, ":", group.name) for _, group in found]
    return list(dict.fromkeys(name for own, _, name in names if own == kind))


def _table(found: Found, names: Sequence[str], measures: Sequence[str], group: str = "all") -> Table:
    """A row per metric, a column per measure."""
    rows = [(name, *(figure(found.get((f"{one.lower()}:{name}", group))) for one in measures)) for name in names]
    return Table(("metric", *(one.replace("_", " ").lower() if "_" in one else one for one in measures)), tuple(rows))


def _by_group(found: Found, names: Sequence[str], measure: str, kind: str, groups: Sequence[str]) -> Table:
    """A row per metric, a column per group."""
    rows = [(name, *(figure(found.get((f"{measure}:{name}", f"{kind}:{one}"))) for one in groups)) for name in names]
    return Table(("metric", *groups), tuple(rows))


def _compared(differences: Sequence[Any]) -> Table:
    columns = ("metric", "against", "measure", "difference", "95% interval", "p (boot)", "p (rand)", "p (Holm)")
    rows = []
    for one in differences:
        known = one.low is not None and one.high is not None
        interval = f"{signed(one.low, 'number')} … {signed(one.high, 'number')}" if known else "–"
        tests = (one.p_bootstrap, one.p_randomization, one.p_holm)
        values = (signed(one.difference, "number"), interval, *("–" if p is None else f"{p:.4f}" for p in tests))
        rows.append((one.metric, one.base, one.measure.upper(), *values))
    return Table(columns, tuple(rows), labels=3)


def _point(found: Found, name: str, place: str) -> str:
    """A point of the reliability curve."""
    mean, positive = (found.get((f"{side}:{name}", f"bin:{place}")) for side in ("mean", "positive"))
    return "–" if mean is None or positive is None else f"{number(mean.value, mean.scale)} → {figure(positive)}"
