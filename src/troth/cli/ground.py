"""`troth ground`: are responses true to the document that they answer from?"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from troth.cli import options, show
from troth.cli.bars import steps
from troth.core.errors import UserError
from troth.core.table import Table

if TYPE_CHECKING:
    from troth.core.score import Score
    from troth.grounding.metrics import Models
    from troth.grounding.score import Result

METRICS = click.option(
    "--metrics",
    metavar="NAMES",
    default="u_f1,bleu,rouge_l",
    show_default=True,
    help="With commas; see docs/grounding.md.",
)
FORMAT = click.option("--format", metavar="NAME", help="The data's format, if it should not be detected.")


def MODELS(command: options.F) -> options.F:  # noqa: N802
    """The options that name models, as one argument `models`: what to make `Models` of."""
    kinds = {
        "encoder": "BERTScore's encoder.",
        "critic": "FaithCritic's classifier.",
        "questions": "Q²'s question generator.",
        "answers": "Q²'s question answerer.",
    }

    @options.CACHE
    @functools.wraps(command)
    def called(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in ("nli", "lm", *kinds)}
        models = {name: value for name, value in given.items() if value is not None}
        return command(*args, models=models | {"cache": kwargs.pop("cache")}, **kwargs)

    made: Any = called
    for name, about in reversed(kinds.items()):
        made = click.option(f"--{name}", metavar="NAME", help=about)(made)
    return options.NLI(options.LM(made))  # type: ignore[no-any-return]


def named(models: dict[str, Any]) -> dict[str, str]:
    """What run.json keeps of them."""
    return {name: value for name, value in models.items() if name != "cache"}


@click.command(no_args_is_help=True)
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@METRICS
@click.option("--calibration", metavar="FILE", help="Of `troth meta fit`: gives each response a verdict.")
@FORMAT
@MODELS
@options.resamples(1000, 1)
@options.SEED
@click.option("--rows", metavar="FILE", help="Write every response with its scores to this JSONL file.")
@click.option(
    "--words", metavar="FILE", help="Write every word of every response, supported or not, to this JSONL file."
)
@click.option("--explain", type=click.IntRange(min=0), default=0, metavar="N", help="Show N responses word by word.")
@options.OUT
@options.JSON
def ground(
    data: tuple[str, ...],
    metrics: str,
    calibration: str | None,
    format: str | None,
    models: dict[str, Any],
    resamples: int,
    seed: int,
    rows: str | None,
    words: str | None,
    explain: int,
    out: str | None,
    json: bool,
) -> None:
    """Responses against the document that they answer from, for one system or several.

    Each DATA is a file, a folder, or NAME=FILE: our JSONL, CSV, chat transcripts with their passages, BEGIN,
    FaithDial, Wizard of Wikipedia, MultiDoc2Dial, Topical-Chat; or - for standard input.
    """
    from troth.grounding import score as runner
    from troth.grounding.metrics import Models
    from troth.responses import answers
    from troth.storage import files
    from troth.storage import runs as store

    if json and explain:
        raise UserError("--json and --explain exclude each other", hint="--words FILE has every word for programs")
    for file in (rows, words):
        if file is not None:
            files.check_new(file)
    opened = Models(**models)
    with steps() as step:
        result = runner.ground(
            *data, metrics=split(metrics), calibration=calibration, format=format, models=opened,
            resamples=resamples, seed=seed, steps=step,
        )  # fmt: skip
    if out is not None:
        arguments: dict[str, Any] = {
            "data": list(data),
            "metrics": metrics,
            "calibration": calibration,
            "format": format,
        }
        arguments |= {"models": named(models), "resamples": resamples, "seed": seed}
        counts = {system.name: system.counts() for system in result.systems}
        store.save(
            out, command="ground", arguments=arguments, scores=result.scores, rows=result.rows(), counts=counts,
            dialogues=answers.of_documents(result.systems),
        )  # fmt: skip
        show.note(store.written(out))
    if rows is not None:
        runner.write_responses(result, rows)
        show.note(f"written: {rows}")
    if json:
        show.json(result.scores)
    else:
        show.tables(_tables(result))
    if words is not None or explain:
        _by_words(result, opened, words, explain)
    _note(result)


def _by_words(result: Result, models: Models, file: str | None, number: int) -> None:
    """The responses word by word; shown are those that their document makes least likely."""
    from troth.cli import words
    from troth.grounding import words as runner

    items = {system.name: system.items for system in result.systems}
    with steps() as step:
        found = runner.explained(
            items, models.lm, progress=None if step is None else lambda done, total: step("words", done, total)
        )
    if file is not None:
        runner.write(found, file)
        show.note(f"written: {file}")
    if number:
        words.draw(runner.least(found, number))
        show.note(words.LEGEND)


def split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def cell(score: Score | None) -> str:
    """Three digits, as the paper prints them, and the half-width of the interval."""
    if score is None or score.value is None:
        return "–"
    half = "" if score.low is None or score.high is None else f" ±{(score.high - score.low) / 2:.3f}"
    return f"{score.value:.3f}{half}"


def _tables(result: Result) -> Iterator[Table]:
    """A row a metric and a column a system; then, where there are several, the sources and the labels."""
    scores = result.scores
    found = {(score.system, score.metric, score.group): score for score in scores}
    systems = list(dict.fromkeys(score.system for score in scores))
    metrics = list(dict.fromkeys(score.metric for score in scores))
    main = [(name, *(cell(found[system, name, "all"]) for system in systems)) for name in metrics]
    counts = [str(len(system.items)) for system in result.systems]
    yield Table(("metric", *systems), (*main, ("responses", *counts)))
    for kind in ("source", "label"):
        groups = sorted({score.group for score in scores if score.group.startswith(f"{kind}:")})
        if len(groups) < 2:
            continue
        heads = [(name, system) for name in metrics for system in systems]
        columns = [name if len(systems) == 1 else f"{name} {system}" for name, system in heads]
        lines = []
        for group in groups:
            cells = [found.get((system, name, group)) for name, system in heads]
            n = str(max((one.n for one in cells if one is not None), default=0))
            lines.append((group.partition(":")[2], n, *map(cell, cells)))
        yield Table((kind, "n", *columns), tuple(lines))


def _note(result: Result) -> None:
    for line in result.notes:
        show.note(line)
    for system in result.systems:
        counts = system.counts()
        show.note(f"{system.name}: {counts['responses']} responses; intervals over {counts['documents']} documents")
    for recipe in dict.fromkeys(score.recipe for score in result.scores if score.group == "all"):
        show.note(recipe)
