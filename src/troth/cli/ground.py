"""`troth ground`: are responses faithful to the document that they answer from?"""

from __future__ import annotations

import functools
from typing import Any

import click

from troth.cli import options, show
from troth.core.errors import UserError
from troth.core.names import counted

METRICS = options.option(
    "--metrics", "NAMES", "Metrics, comma-separated. Default: faith, coverage and facts, as far as they are installed.",
    type=options.GROUNDING_METRICS, default="",
)  # fmt: skip
FORMAT = options.option(
    "--format", "NAME", "Format of the data. Default: detected.", type=options.Names("troth.readers.grounded:FORMATS")
)
MAP = options.option(
    "--map",
    "NAMES",
    "Names that the file has for ours: document=contexts,response=answer,id=trace.",
    "columns",
    default="",
)
ON_ERROR = click.option(
    "--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
    help="At a row that cannot be read: stop, or skip it and count it.",
)  # fmt: skip
CONTEXT = options.option(
    "--context", "KINDS", "What answers in chat transcripts may rest on; everything seen before them counts.",
    default="tools+user+system",
)  # fmt: skip
TIMEOUT = click.option(
    "--timeout", type=options.Real(min=0, min_open=True), metavar="SECONDS",
    help="Longest time for one answer of a server (a language model or a checker).",
)  # fmt: skip
ROLES = {
    "encoder": "Encoder for BERTScore.",
    "critic": "Classifier for FaithCritic.",
    "questions": "Question generator for Q².",
    "answers": "Question answerer for Q².",
}


def MODEL_NAMES(command: options.F) -> options.F:  # noqa: N802
    """The options that name models, as one argument `models`: names by role."""

    @functools.wraps(command)
    def called(*args: Any, **kwargs: Any) -> Any:
        named = {role: kwargs.pop(role) for role in ("nli", "lm", *ROLES)}
        return command(*args, models={role: name for role, name in named.items() if name is not None}, **kwargs)

    decorated: Any = called
    for role, about in reversed(ROLES.items()):
        decorated = options.option(f"--{role}", "NAME", about, type=options.BACKENDS)(decorated)
    return options.NLI(options.LM(decorated))  # type: ignore[no-any-return]


def MODELS(command: options.F) -> options.F:  # noqa: N802
    """The options that name models and the cache of their answers, as one argument `models`."""

    @MODEL_NAMES
    @TIMEOUT
    @options.CACHE
    @functools.wraps(command)
    def called(*args: Any, models: dict[str, str], cache: str | None, timeout: float | None, **kwargs: Any) -> Any:
        from troth.grounding.metrics import Models

        return command(*args, models=Models(**models, cache=cache, timeout=timeout), **kwargs)

    return called  # type: ignore[return-value]


@click.command(no_args_is_help=True)
@click.argument("data", nargs=-1, required=True, metavar="DATA...", type=options.FILE)
@METRICS
@options.option("--calibration", "FILE", "Calibration file of `troth meta fit`; adds a verdict on each response.")
@FORMAT
@MAP
@ON_ERROR
@CONTEXT
@MODELS
@options.number("--resamples", 1000, "Number of bootstrap resamples (over documents).", least=1)
@options.SEED
@options.MODEL_WORKERS
@options.option("--rows", "FILE", "Write every response with its scores to this new JSONL file.")
@options.option("--words", "FILE", "Write every word of every response, with its support, to this new JSONL file.")
@options.number(
    "--explain", 0, "Explain this many responses, the least supported first: by the metric, else word by word."
)
@click.option("--statistics", is_flag=True, help="Only count responses, documents and words; score nothing.")
@options.OUT
@options.JSON
def ground(
    data: tuple[str, ...],
    models: Any,
    rows: str | None,
    words: str | None,
    explain: int,
    statistics: bool,
    out: str | None,
    json: bool,
    **settings: Any,
) -> None:
    """Score how faithful responses are to the documents that they answer from, for one system or several.

    Each DATA is a file, a folder, NAME=FILE, or - for standard input. Formats: our JSONL, CSV, chat transcripts with
    their passages, BEGIN, FaithDial, Wizard of Wikipedia, MultiDoc2Dial, Topical-Chat.
    """
    from troth.grounding.explorer import write_rows
    from troth.grounding.score import ground as run
    from troth.storage.files import check_new

    if statistics:
        if settings["columns"]:
            raise UserError(
                "--statistics does not read --map", hint="count files in one of the formats: docs/formats.md"
            )
        _statistics(data, settings["format"], json)
        return
    for file in filter(None, (rows, words)):
        check_new(file)
    result = run(*data, models=models, out=out, **settings)
    if rows is not None:
        write_rows(result, rows)
        show.note(f"written: {rows}")
    explained = _explained(result, settings["metrics"], models, explain) if explain else []
    if json and explain:
        show.json({"scores": result.scores, "explained": explained})
    else:
        show.result(result, json_form=json, out=out)
        for one in explained:
            show.text(f"{one['system']} {one['id']}: {one['metric']} {one['value']:.3f}: {one['response']}")
            for line in one["lines"]:
                show.text(f"  {line}")
    if words is not None or (explain and not explained and not json):
        _word_by_word(result, models, words, 0 if explained else explain)
    for system, counts in result.counts.items():
        over = counted(counts["documents"], "document")
        show.note(f"{system}: {counted(counts['responses'], 'response')}; intervals over {over}")
    for recipe in dict.fromkeys(score.identity for score in result.scores if score.group == "all"):
        show.note(recipe)


def _statistics(data: tuple[str, ...], format: str | None, json: bool) -> None:
    """Counts of each data set, as in table 6 of PMI-Faith's paper."""
    from troth.core.table import Table
    from troth.grounding.statistics import statistics

    counted = statistics(*data, format=format)
    if json:
        show.json(counted)
        return
    means = ("document_words", "history_words", "response_words")
    rows = [
        (one.data, str(one.responses), str(one.documents), *(f"{getattr(one, name):.1f}" for name in means))
        for one in counted
    ]
    heads = ("data", "responses", "documents", "words per document", "per history", "per response")
    show.table(Table(heads, tuple(rows)))


def _explained(result: Any, names: str, models: Any, number: int) -> list[dict[str, Any]]:
    """The lowest responses of each metric that can explain its numbers; of the first, where none was named."""
    from troth.core.names import listed
    from troth.core.records import Grounded
    from troth.grounding.metrics import METRICS, Explainer, graders

    scored = [metric.name for metric in result.metrics if metric.name in METRICS]
    able = [one for one in graders(scored, models) if isinstance(one, Explainer)]
    shown: list[dict[str, Any]] = []
    for one in able if listed(names) else able[:1]:
        metric = one.metric.name
        views = [view for view in result.explorer().responses if metric in view.values]
        for view in sorted(views, key=lambda view: view.values[metric])[:number]:
            lines = one.explain(Grounded(view.id, view.document, view.text, view.history))
            facts = {"system": view.system, "id": view.id, "metric": metric, "value": view.values[metric]}
            shown.append(facts | {"response": view.text, "claims": view.claims, "lines": list(lines)})
    return shown


def _word_by_word(result: Any, models: Any, file: str | None, number: int) -> None:
    """Writes all responses word by word, and shows those that their document makes least likely."""
    from troth.cli import words
    from troth.grounding.words import least_supported, word_by_word, words_by_rules, write

    views = result.explorer().responses
    asked = any("lm" in metric.needs for metric in result.metrics)  # a language model only where a metric asks one
    responses = word_by_word(views, models.language_model) if asked else words_by_rules(views)
    if file is not None:
        write(responses, file)
        show.note(f"written: {file}")
    if number and (least := least_supported(responses, number)):
        words.draw(least)
        show.note(words.LEGEND)
