"""`troth meta eval`: metrics of grounded responses against people's labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from troth.cli import options, show
from troth.cli.ground import MODELS
from troth.core.groups import ALL, Group
from troth.core.names import format_count
from troth.core.result import Result
from troth.core.score import Score
from troth.core.table import Table, figure, format_difference, number, scores_csv
from troth.storage.runs import describe_files

Scores = Mapping[tuple[str, Group], Score]  # by metric and group


@options.command("troth.meta.labels.evaluate:EvaluateSettings", name="eval", models=MODELS)
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=options.FILE)
@click.option("--to", type=click.Choice(["plain", "markdown", "latex", "csv"]), default="plain", show_default=True,
              help="Form of the tables; csv: one line per score.")  # fmt: skip
@options.JSON
def evaluate(data: tuple[str, ...], to: str, json: bool, models: dict[str, Any], **settings: Any) -> None:
    """Measure how well metrics agree with people's labels.

    Gives AUROC and correlations, and with --dev precision, recall, F1 and accuracy. DATA is labelled data in any format
    of `troth ground`, all files together. Metrics are compared with the first one.
    """
    from troth.grounding.metrics import Models
    from troth.meta.labels.evaluate import evaluate as run

    out = settings["out"]
    result = run(*data, models=Models(**models), **settings)
    if json:
        show.json(result.scores)
    elif to == "csv":
        show.text(scores_csv(result.scores))
    else:
        for index, (heading, table) in enumerate(_tables(result)):
            show.text("\n" * bool(index) + heading)
            if to == "plain":
                show.table(table)
            else:
                show.text(table.write(to))
    for line in ([describe_files(out)] if out is not None else []) + list(map(str, result.notes)):
        show.note(line)
    for system, counts in result.counts.items():
        labels = f"{counts['responses']} labelled responses, {counts['positive']} positive"
        show.note(f"{system}: {labels}; intervals over {format_count(counts['documents'], 'document')}")
    for name in _metric_names(result):
        show.note(result[f"auroc:{name}"].identity)


def _metric_names(result: Result) -> list[str]:
    return [metric.variant for metric in result.metrics if metric.of == "auroc"]


def _tables(result: Result) -> Iterator[tuple[str, Table]]:
    scores: Scores = {(score.metric, score.group): score for score in result.scores}
    names = _metric_names(result)
    groups = {
        kind: list(dict.fromkeys(group.name for _, group in scores if group.kind == kind))
        for kind in ("source", "slice", "bin")
    }
    fitted = any(group == "dev" for _, group in scores)
    several = len(groups["source"]) > 1
    if fitted:
        measures = ("Precision", "Recall", "F1", "Accuracy")
        yield "With the threshold from dev (table 1)", _table(scores, names, measures)
        flagged = ("Unfaithful_recall", "Unfaithful_precision", "False_alarms")
        yield "The same verdicts, counted over unfaithful responses", _table(scores, names, flagged)
        if several:
            yield "F1 by source (table 2)", _by_group(scores, names, "f1", "source", groups["source"])
    yield "Without calibration (table 3)", _table(scores, names, ("Spearman", "Pearson", "AUROC"))
    if several:
        yield "AUROC by source", _by_group(scores, names, "auroc", "source", groups["source"])
    if fitted:
        yield "From dev (table 9)", _table(scores, names, ("Min", "Max", "Threshold"), Group("dev"))
    if result.findings:
        yield "Against the first metric", _difference_table(result.findings)
    lines = []
    for name in groups["slice"]:
        cells = [scores.get((f"auroc:{metric}", Group("slice", name))) for metric in names]
        n = max((cell.n for cell in cells if cell is not None), default=0)
        lines.append((name.replace("_", " "), str(n), *map(figure, cells)))
    yield "AUROC by slice", Table(("slice", "n", *names), tuple(lines))
    curves = [(bin, *(_point(scores, name, bin) for name in names)) for bin in sorted(groups["bin"], key=int)]
    if fitted:
        curves.append(("ece", *(figure(scores.get((f"ece:{name}", ALL))) for name in names)))
    heading = "Reliability: mean score → share of positives, in bins of equal size"
    heading += "; ece: expected calibration error, by dev" if fitted else ""
    yield heading, Table(("bin", *names), tuple(curves))


def _table(scores: Scores, names: Sequence[str], measures: Sequence[str], group: Group = ALL) -> Table:
    """A row per metric, a column per measure."""
    rows = [
        (name, *(figure(scores.get((f"{measure.lower()}:{name}", group))) for measure in measures)) for name in names
    ]
    heads = (measure.replace("_", " ").lower() if "_" in measure else measure for measure in measures)
    return Table(("metric", *heads), tuple(rows))


def _by_group(scores: Scores, names: Sequence[str], measure: str, kind: str, groups: Sequence[str]) -> Table:
    """A row per metric, a column per group."""
    rows = [
        (name, *(figure(scores.get((f"{measure}:{name}", Group(kind, group)))) for group in groups)) for name in names
    ]
    return Table(("metric", *groups), tuple(rows))


def _difference_table(differences: Sequence[Any]) -> Table:
    columns = ("metric", "against", "measure", "difference", "95% interval", "p (boot)", "p (rand)", "p (Holm)")
    rows = []
    for difference in differences:
        low, high = difference.low, difference.high
        known = low is not None and high is not None
        interval = f"{format_difference(low, 'number')} … {format_difference(high, 'number')}" if known else "–"
        tests = (difference.p_bootstrap, difference.p_randomization, difference.p_holm)
        values = format_difference(difference.difference, "number"), interval
        ps = ("–" if p is None else f"{p:.4f}" for p in tests)
        rows.append((difference.metric, difference.base, difference.measure.upper(), *values, *ps))
    return Table(columns, tuple(rows), labels=3)


def _point(scores: Scores, name: str, bin: str) -> str:
    mean, positive = (scores.get((f"{side}:{name}", Group("bin", bin))) for side in ("mean", "positive"))
    return "–" if mean is None or positive is None else f"{number(mean.value, mean.scale)} → {figure(positive)}"
