"""Runs as one table, for a terminal or a paper: plain text, Markdown, LaTeX, CSV, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from troth.core import table as tables
from troth.core.encoding import encode_json
from troth.core.errors import UserError, suggest_name
from troth.core.groups import WHOLE
from troth.core.metric import Better, Metric
from troth.core.names import parse_names, path_of, unique_names
from troth.core.options import check_choice, keywords, option, resolve
from troth.core.progress import note
from troth.core.result import Result
from troth.core.score import Score
from troth.core.sums import DialogueSums
from troth.report.sources import Run, open_run
from troth.stats import contests
from troth.storage import runs as stored

FORMS = ("plain", "markdown", "latex", "csv", "json")


@dataclass(frozen=True)
class TableSettings:
    to: str = option("plain", "Form of the table: plain, markdown, latex, csv or json.", "FORM", complete=FORMS)
    metrics: str | Iterable[str] | None = option(
        None, "Only these metrics, comma-separated.", "NAMES",
        complete=(
            "troth.tracking.metrics:METRICS", "troth.responses.metrics:METRICS", "troth.grounding.metrics:METRICS",
        ),
    )  # fmt: skip
    groups: str | Iterable[str] | None = option(
        None, "Only these groups, comma-separated: all, seen, service:…", "NAMES"
    )
    systems: str | Iterable[str] | None = option(None, "Only these systems, comma-separated.", "NAMES")
    sort: str | None = option(
        None, "Sort systems by this metric, best first; none: keep their order.  [default: none; in LaTeX the first "
        "metric]", "METRIC",
    )  # fmt: skip
    names: Mapping[str, Any] = option(
        {}, "Print a system or metric as TEXT; several with commas, or given several times.", "NAME=TEXT", repeat=True
    )
    intervals: bool = option(True, "Leave out the 95% interval after each number.", flag="--no-intervals")


@keywords(TableSettings)
def table(*runs: Run, **options: Any) -> str:
    """Runs as one table: plain text, or with `to` "markdown", "latex", "csv" or "json".

    A run is a `Result`, or the folder that one was saved to. Bold: the best score of each metric, and scores that are
    not significantly different from it. In LaTeX, systems are rows, and metrics have the names that the page prints.

    >>> import troth
    >>> from troth import demo
    >>> result = troth.dst(demo.path("gold"), demo.path("hasty"), demo.path("sturdy"), metrics="jga", profile="trade")
    >>> print(troth.table(result, to="markdown", intervals=False))
    | metric | hasty | sturdy |
    | --- | ---: | ---: |
    | jga | 33.33 | **55.37** |
    """
    settings = resolve(TableSettings, options)
    selected = select_scores(runs, settings)
    if settings.to == "json":
        return msgspec.json.format(encode_json(selected.scores), indent=1).decode()
    if settings.to == "csv":
        return tables.scores_csv(selected.scores)
    return "\n\n".join(part.write(settings.to) for part in lay_out(selected, settings, bold=True))


class SelectedScores(NamedTuple):
    """The scores of some runs that a table shows, each system under a name of its own."""

    scores: list[Score]
    metrics: dict[str, Metric]
    sums: list[tuple[DialogueSums, dict[str, str]]]  # of the runs that have rows, with the names of their systems


def select_scores(runs: Sequence[Run], settings: TableSettings) -> SelectedScores:
    """The scores of some metrics, groups and systems, with the systems sorted by a metric."""
    if not runs:
        raise UserError("no run is named", hint="name the folder of a saved run")
    check_choice("to", settings.to, FORMS)
    loaded = [
        (f"run {number}", run) if isinstance(run, Result) else (path_of(run), stored.load(path_of(run)))
        for number, run in enumerate(runs, 1)
    ]
    scored = [(path, score) for path, run in loaded for score in run.scores]
    unique = unique_names([(path, score.system) for path, score in scored])
    every = [msgspec.structs.replace(score, system=name) for name, (_, score) in zip(unique, scored, strict=True)]
    wanted = [parse_names(names) for names in (settings.metrics, settings.groups, settings.systems)]
    shown = [
        score
        for score in every
        if all(not names or value in names for names, value in zip(wanted, _score_key(score), strict=True))
    ]
    if not shown:
        raise UserError("no score is left to show", hint="compare metrics, groups and systems with those of the run")
    values = {
        (s.system, s.metric): (s.value, s.better) for s in shown if s.group == shown[0].group and s.value is not None
    }
    by_default = None if settings.to == "latex" else "none"
    order = sort_systems(list(dict.fromkeys(score.system for score in shown)), settings.sort or by_default, values)
    scores = sorted(shown, key=lambda score: order.index(score.system))
    recipes = {(score.metric, score.group, score.identity) for score in scores}
    if len(recipes) > len({(metric, group) for metric, group, _ in recipes}):
        what = "their numbers are not comparable, and none is marked best"
        note(f"these runs are scored by different recipes: {what}")
    labels = {(path, score.system): name for (path, score), name in zip(scored, unique, strict=True)}
    sums = [
        (open_run(run, 1).sums, {system: name for (folder, system), name in labels.items() if folder == path})
        for (path, _), run in zip(loaded, runs, strict=True)
        if isinstance(run, Result) or (Path(path) / "rows.parquet").is_file()
    ]
    return SelectedScores(scores, {metric.name: metric for _, run in loaded for metric in run.metrics}, sums)


def _score_key(score: Score) -> tuple[str, str, str]:
    return score.metric, score.group, score.system


def lay_out(selected: SelectedScores, settings: TableSettings, *, bold: bool) -> list[tables.Table]:
    """The tables of some scores; without `bold`, the best ones are not tested for and not marked."""
    scores, latex = selected.scores, settings.to == "latex"
    best: frozenset[contests.Marked] = frozenset()
    if bold:
        best = contests.unbeaten(scores, contests.pairwise(scores, DialogueSums.merged(selected.sums)))
    titles = {name: metric.label for name, metric in selected.metrics.items()} if latex else {}
    _check_names(settings.names, scores)
    names = titles | {name: str(text) for name, text in settings.names.items()}
    whole = [score for score in scores if latex and score.group in WHOLE]
    layout = [tables.system_table(whole, intervals=settings.intervals, best=best, names=names)] if whole else []
    rest = [score for score in scores if score not in whole]
    headline = [metric.name for metric in selected.metrics.values() if metric.headline]
    return layout + tables.score_tables(rest, intervals=settings.intervals, headline=headline, best=best, names=names)


def _check_names(names: object, scores: Sequence[Score]) -> None:
    """Raises an error for a name that no table has."""
    if not isinstance(names, Mapping):
        raise UserError("is not a mapping of names to texts", option="names", hint='for example {"pptod": "PPTOD"}')
    known = dict.fromkeys(name for score in scores for name in _printed_names(score))
    for name in names:
        if name not in known:
            hint = suggest_name(name, known) or "name a system or a metric"
            raise UserError(f"has '{name}', which the table does not have", option="names", hint=hint)


def _printed_names(score: Score) -> Iterator[str]:
    yield from (score.system, score.system.rpartition(":")[2], score.metric, score.group, score.group.name)


def sort_systems(
    systems: Sequence[str], sort: str | None, values: Mapping[tuple[str, str], tuple[float, Better]]
) -> list[str]:
    """Systems by a metric, best first; those without a value last. Without `sort`, by the first metric."""
    if sort == "none" or not values:
        return list(systems)
    metrics = list(dict.fromkeys(metric for _, metric in values))
    by = sort or metrics[0]
    if by not in metrics:
        hint = suggest_name(by, metrics) or "one of: " + ", ".join(metrics)
        raise UserError(f"names a metric that is not shown: '{by}'", option="sort", hint=hint)

    def rank(system: str) -> float:
        value, better = values.get((system, by), (math.inf, "lower"))
        return value if better == "lower" else -value

    return sorted(systems, key=rank)
