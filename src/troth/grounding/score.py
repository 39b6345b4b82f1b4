"""Scores grounded responses: the mean of each metric per system, with intervals, signatures and one row per response.

Intervals are over documents: responses from one document share its difficulty, so they are drawn together. What a
metric cannot score has no part in its mean, and is counted with the reason.
"""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from troth.core.data_options import format_option
from troth.core.errors import UserError
from troth.core.names import Path, format_count, is_path, name_paths, parse_names, path_of
from troth.core.options import (
    keywords,
    option,
    python_only,
    resamples_option,
    resolve,
    run_folder,
    seed_option,
    workers_option,
)
from troth.core.records import Grounded
from troth.core.result import Note, Result, notes_of
from troth.core.signature import identity
from troth.core.tasks import Task
from troth.engine import in_process
from troth.grounding import explorer
from troth.grounding.calibration import Calibration, DataFile, Fitted, load_default
from troth.grounding.calibration import load as load_calibration
from troth.grounding.graded import grade_systems
from troth.grounding.metrics import Grader, Models, default_metrics, make_graders
from troth.grounding.spread import grade_in_blocks, grade_on_workers
from troth.models import DEFAULT_CACHE, Lm, Nli
from troth.readers import grounded as readers
from troth.readers.grounded.chat import CONTEXT, parse_context
from troth.readers.grounded.mapped import parse_columns
from troth.stats.estimates import Resampling, build_result
from troth.storage.runs import check_out

TASK = Task(
    "ground", "grounding", "responses", "troth.report.page.grounding",
    no_explorer="Runs of troth ground have responses and documents, and no dialogues: see Grounding.",
)  # fmt: skip
OnError = Literal["stop", "skip"]
RECORDS = 'in memory: responses=[Grounded("1", document, response), …], with Grounded from troth.core.records'


@dataclass(frozen=True)
class ScoringSettings:
    metrics: str | Iterable[str] = option(
        (), "Metrics, comma-separated. Default: faith, coverage and facts, as far as they are installed.", "NAMES",
        complete=("troth.grounding.metrics:METRICS",),
    )  # fmt: skip
    format: str | None = format_option("the data", "troth.readers.grounded:FORMATS")
    context: str | Iterable[str] = option(
        "+".join(CONTEXT),
        "Sources that support an answer in chat transcripts; everything seen before it counts.",
        "KINDS",
    )
    columns: str | Mapping[str, str] = option(
        "", "Names of the fields in the file: document=contexts,response=answer,id=trace.", "NAMES", flag="--map"
    )
    on_error: OnError = option(
        "stop", "At a row that cannot be read: stop, or skip it and count it.", choices=get_args(OnError)
    )
    nli: str | Nli | None = option(None, "Entailment model, in place of that of `models`.", shape="python")
    lm: str | Lm | None = option(None, "Language model, in place of that of `models`.", shape="python")
    cache: Path | None = option(
        DEFAULT_CACHE, "File that caches model answers; None: memory only. Replaces that of `models`.", shape="python"
    )
    models: Models = field(default_factory=Models, metadata=python_only("All models that metrics ask."))
    out: Path | None = run_folder()

    def load(self, paths: Sequence[Path]) -> ResponseSet:
        """All responses of some files or folders, read as the settings say."""
        columns = parse_columns(self.columns) if isinstance(self.columns, str) else self.columns
        return load(paths, self.format, self.kinds, columns=columns, skip=self.on_error == "skip")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of context that answers in chat transcripts may rest on."""
        return parse_context(self.context)

    @cached_property
    def graders(self) -> list[Grader]:
        names = parse_names(self.metrics)
        if not names and isinstance(self.metrics, str):
            raise UserError("no metric is named", hint="for example faith; without the option, the default metrics")
        return make_graders(names or default_metrics(), self.all_models)

    @cached_property
    def all_models(self) -> Models:
        models = self.models
        if self.nli is None and self.lm is None and self.cache == DEFAULT_CACHE:
            return models  # with the models that it has opened
        cache = models.cache if self.cache == DEFAULT_CACHE else self.cache
        return replace(models, nli=self.nli or models.nli, lm=self.lm or models.lm, cache=cache)

    def arguments(self) -> dict[str, Any]:
        """The settings as a run's record keeps them."""
        names = ",".join(grader.metric.name for grader in self.graders)
        further = {"format": self.format, "context": "+".join(self.kinds), "models": self.all_models.names()}
        read = {"columns": self.columns} if self.columns else {}
        return {"metrics": names, **further, **read}


@dataclass(frozen=True)
class GroundSettings(ScoringSettings):
    calibration: Path | Calibration | None = option(
        None, "Calibration file of `troth meta fit` (default = troth's own); adds a verdict on each response.", "FILE"
    )
    resamples: int = resamples_option(over="documents")
    seed: int = seed_option()
    workers: int = workers_option()


@keywords(GroundSettings)
def ground(
    *data: Path, responses: Sequence[Grounded] | Mapping[str, Sequence[Grounded]] | None = None, **options: Any
) -> Result:
    """Scores responses against the documents that they answer from; each file is one system.

    `data`: files, folders or `NAME=FILE`, in any format of grounded responses. In memory: `responses=[Grounded, …]`,
    or a mapping of system names to such lists. With a `calibration`, `faithful:METRIC` is the share of responses that
    it calls faithful. The options are those of `GroundSettings`.

        >>> from troth.demo import path
        >>> result = ground(path("documents/careful.jsonl"), metrics="u_f1,coverage")
        >>> result["coverage"].value > result["u_f1"].value
        True
    """
    settings = resolve(GroundSettings, options)
    out = None if settings.out is None else check_out(settings.out)
    match_calibration(settings.calibration, settings.graders)  # reports a calibration that does not fit before reading
    corpus = read_grounded(data if responses is None else responses, settings)
    if any(read.has_chats for read in corpus.values()):
        _check_context(settings)
    result = score_grounded(corpus, settings)
    return result.save_if(out)


def read_grounded(
    data: Sequence[Path] | Sequence[Grounded] | Mapping[str, Sequence[Grounded]], settings: ScoringSettings
) -> dict[str, ResponseSet]:
    """The responses of each system, from files or from memory."""
    if not data:
        raise UserError("no data is named", hint="for example responses.jsonl, or name=responses.jsonl")
    if isinstance(data, Mapping):
        return {name: ResponseSet(_check_records(items), ()) for name, items in data.items()}
    paths = [item for item in data if is_path(item)]
    if len(paths) < len(data):
        return {"responses": ResponseSet(_check_records(data), ())}
    return {name: settings.load([path]) for name, path in name_paths(paths, "file")}


def _check_records(items: Iterable[Any]) -> list[Grounded]:
    """The items, if all of them are responses in memory."""
    records = list(items)
    if not records:
        raise UserError("there are no responses", hint=RECORDS)
    for item in records:
        if not isinstance(item, Grounded):
            raise UserError(f"a response is a Grounded record, not a {type(item).__name__}", hint=RECORDS)
    return records


def score_grounded(corpus: Mapping[str, ResponseSet], settings: GroundSettings) -> Result:
    """The result of a corpus of grounded responses."""
    judges = match_calibration(settings.calibration, settings.graders)
    items = {name: read.items for name, read in corpus.items()}
    names = [grader.metric.name for grader in settings.graders]
    every, workers = [item for own in items.values() for item in own], settings.workers
    shared = None if in_process(workers) else grade_on_workers(every, names, settings.all_models, workers)
    systems = grade_systems(items, settings.graders, judges, by=grade_in_blocks if shared is None else shared.look_up)
    notes = [note for name, read in corpus.items() for note in notes_of(name, read.notes())]
    notes += [note for system in systems for note in notes_of(system.name, system.notes())]
    notes += map(Note, collect_remarks(settings.graders) if shared is None else shared.remarks)
    unjudged = [name for name in names if judges is not None and name not in judges]
    notes += [Note(f"no verdict: the calibration has no {', '.join(unjudged)}")] if unjudged else []
    calibration = None if isinstance(settings.calibration, Calibration | None) else path_of(settings.calibration)
    return build_result(
        TASK.name,
        [
            replace(cells, counts={**cells.counts, **corpus[cells.name].counts()})
            for cells in (system.system_cells() for system in systems)
        ],
        Resampling(settings.resamples, settings.seed, "document"),
        metrics=[column.metric for column in systems[0].columns],
        notes=notes,
        arguments={"data": [read.name for read in corpus.values()], "calibration": calibration, **settings.arguments(),
                   "resamples": settings.resamples, "seed": settings.seed},
        explorer=lambda: explorer.archive(systems),
    )  # fmt: skip


def match_calibration(calibration: Path | Calibration | None, graders: Sequence[Grader]) -> Mapping[str, Fitted] | None:
    """The calibration of each metric that it knows; None without a calibration."""
    if calibration is None:
        return None
    recipes = _recipes(graders)
    with _naming_file(calibration):
        return _open_calibration(calibration).match_recipes(recipes)


def _check_context(settings: GroundSettings) -> None:
    """Raises an error where the calibration was fitted on chats that were read with another context."""
    if settings.calibration is not None:
        with _naming_file(settings.calibration):
            _open_calibration(settings.calibration).check_context("+".join(settings.kinds))


def _open_calibration(calibration: Path | Calibration) -> Calibration:
    return calibration if isinstance(calibration, Calibration) else load_calibration(path_of(calibration))


@contextmanager
def _naming_file(calibration: Path | Calibration) -> Iterator[None]:
    """Errors in the block name the file of a calibration that is not in memory."""
    try:
        yield
    except UserError as error:
        raise error.at(file=None if isinstance(calibration, Calibration) else path_of(calibration)) from error


def match_default(graders: Sequence[Grader]) -> dict[str, Fitted]:
    """The package's calibration of metrics that are scored with the recipe and model it was fitted for."""
    calibration, recipes = load_default(), _recipes(graders)
    entries = () if calibration is None else calibration.metrics
    return {entry.metric: entry for entry in entries if recipes.get(entry.metric) == entry.signature}


def _recipes(graders: Sequence[Grader]) -> dict[str, str]:
    return {grader.metric.name: identity(grader.metric, grader.recipe) for grader in graders}


def collect_remarks(graders: Iterable[Grader]) -> list[str]:
    """The remarks of graders after scoring, with the name of their metric."""
    return [f"{grader.metric.name}: {remark}" for grader in graders for remark in grader.remarks]


class ResponseSet(NamedTuple):
    """Responses, and the files that they come from."""

    items: list[Grounded]
    files: tuple[DataFile, ...]
    skipped: tuple[str, ...] = ()  # errors of rows that were left out
    name: str = ""  # the file or folder that was named

    @property
    def has_chats(self) -> bool:
        """Whether chat transcripts were read, whose answers rest on the context that the settings choose."""
        return bool(self.files) and any(item.conversation for item in self.items)

    def counts(self) -> dict[str, int]:
        return {"skipped": len(self.skipped)} if self.skipped else {}

    def notes(self) -> list[str]:
        count = format_count(len(self.skipped), "row")
        return [f"{count} skipped; the first: {self.skipped[0]}"] if self.skipped else []


def load(
    paths: Sequence[Path],
    format: str | None = None,
    context: Sequence[str] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    skip: bool = False,
) -> ResponseSet:
    """All responses of some files or folders, in their order; `context`: what answers in chats may rest on.

    `columns`: the names that files have for ours. `skip`: rows that cannot be read are left out, with their errors.
    """
    items: list[Grounded] = []
    files: list[DataFile] = []
    skipped: list[str] | None = [] if skip else None
    for path in map(path_of, paths):
        for document, responses in readers.batches(path, format, context, columns=columns, skipped=skipped):
            name, digest = pathlib.Path(document.name).name, hashlib.sha256(document.data).hexdigest()
            files.append(DataFile(name, len(responses), digest, sum(item.label is not None for item in responses)))
            items += responses
    if not items:
        first = f"; the first row: {skipped[0]}" if skipped else ""
        raise UserError(f"no response in it{first}", file=path_of(paths[0]), hint="see docs/formats.md for the layouts")
    return ResponseSet(items, tuple(files), tuple(skipped or ()), path_of(paths[0]))
