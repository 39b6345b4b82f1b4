"""`troth ground`: are responses faithful to the document that they answer from?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.core.errors import UserError
from troth.core.names import format_count

if TYPE_CHECKING:
    from troth.core.result import Result
    from troth.grounding.metrics import Models

MODELS = "troth.grounding.metrics:Models"
LINES = 12  # of an explained response, at most: a long one has hundreds of sentences


@options.command("troth.grounding.score:GroundSettings", models=MODELS)
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=options.FILE)
@options.option("--rows", "FILE", "Write every response with its scores to this new JSONL file.")
@options.option("--words", "FILE", "Write every word of every response, with its support, to this new JSONL file.")
@options.number(
    "--explain", 0, "Explain this many responses, the least supported first: by the metric, else word by word."
)
@click.option("--statistics", is_flag=True, help="Only count responses, documents and words; score nothing.")
@options.JSON
def ground(
    data: tuple[str, ...],
    rows: str | None,
    words: str | None,
    explain: int,
    statistics: bool,
    json: bool,
    models: dict[str, Any],
    **settings: Any,
) -> None:
    """Score how faithful responses are to their documents.

    Scores one system or several. Each DATA is a file, a folder, NAME=FILE, or - for standard input. Formats: our JSONL,
    CSV, chat transcripts with their passages, BEGIN, FaithDial, Wizard of Wikipedia, MultiDoc2Dial, Topical-Chat.
    """
    from troth.grounding.explorer import write_rows
    from troth.grounding.metrics import Models
    from troth.grounding.score import ground as run
    from troth.storage.files import check_distinct, check_new

    if statistics:
        if settings["columns"]:
            raise UserError(
                "--statistics does not read --map", hint="count files in one of the formats: docs/formats.md"
            )
        _show_statistics(data, settings["format"], json)
        return
    check_distinct(rows, words, settings["out"])
    for file in filter(None, (rows, words)):
        check_new(file)
    opened = Models(**models)
    result = run(*data, models=opened, **settings)
    if rows is not None:
        write_rows(result, rows)
        show.note(f"written: {rows}")
    explained = _explain(result, settings["metrics"], opened, explain) if explain else []
    if json and explain:
        show.json({"scores": result.scores, "explained": explained})
    else:
        show.result(result, json_form=json, out=settings["out"])
        for row in explained:
            show.text(f"{row['system']} {row['id']}: {row['metric']} {row['value']:.3f}: {row['response']}")
            for line in row["lines"][:LINES]:
                show.text(f"  {' '.join(line.split())}")
            if (more := len(row["lines"]) - LINES) > 0:
                show.text(f"  … {format_count(more, 'more line')}; --json has all")
    if words is not None or (explain and not explained and not json):
        _word_by_word(result, opened, words, 0 if explained else explain)
    for system, counts in result.counts.items():
        over = format_count(counts["documents"], "document")
        show.note(f"{system}: {format_count(counts['responses'], 'response')}; intervals over {over}")
    for recipe in dict.fromkeys(score.identity for score in result.scores if score.group == "all"):
        show.note(recipe)


def _show_statistics(data: tuple[str, ...], format: str | None, json: bool) -> None:
    """Prints counts of each data set, as in table 6 of PMI-Faith's paper."""
    from troth.core.table import Table
    from troth.grounding.statistics import statistics

    counts = statistics(*data, format=format)
    if json:
        show.json(counts)
        return
    means = ("document_words", "history_words", "response_words")
    rows = [
        (count.data, str(count.responses), str(count.documents), *(f"{getattr(count, name):.1f}" for name in means))
        for count in counts
    ]
    heads = ("data", "responses", "documents", "words per document", "per history", "per response")
    show.table(Table(heads, tuple(rows)))


def _explain(result: Result, names: str | Iterable[str], models: Models, number: int) -> list[dict[str, Any]]:
    """The lowest responses of each metric that can explain its numbers; of the first, where none was named."""
    from troth.core.names import parse_names
    from troth.core.records import Grounded
    from troth.grounding.metrics import METRICS, Explainer, make_graders

    metrics = [metric.name for metric in result.metrics if metric.name in METRICS]
    explainers = [grader for grader in make_graders(metrics, models) if isinstance(grader, Explainer)]
    rows: list[dict[str, Any]] = []
    for explainer in explainers if parse_names(names) else explainers[:1]:
        metric = explainer.metric.name
        views = [view for view in result.explorer().responses if metric in view.values]
        for view in sorted(views, key=lambda view: view.values[metric])[:number]:
            lines = explainer.explain(Grounded(view.id, view.document, view.text, view.history))
            facts = {"system": view.system, "id": view.id, "metric": metric, "value": view.values[metric]}
            rows.append(facts | {"response": view.text, "claims": view.claims, "lines": list(lines)})
    return rows


def _word_by_word(result: Result, models: Models, file: str | None, number: int) -> None:
    """Writes all responses word by word, and shows those that their document makes least likely."""
    from troth.cli import words
    from troth.grounding.words import least_supported, word_by_word, write

    views = result.explorer().responses
    has_model = any("lm" in metric.needs for metric in result.metrics)
    responses = word_by_word(views, models.language_model if has_model else None)
    if file is not None:
        write(responses, file)
        show.note(f"written: {file}")
    if number and (least := least_supported(responses, number)):
        words.draw(least)
        show.note(words.LEGEND)
