"""Scores grounded responses: the mean of each metric per system, with intervals, signatures and one row per response.

Intervals are over documents: responses from one document share its difficulty, so they are drawn together. What a
metric cannot score has no part in its mean, and is counted with the reason.
"""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from troth.core.errors import UserError
from troth.core.names import Path, counted, labelled, listed, path_of
from troth.core.options import resolve
from troth.core.records import Grounded
from troth.core.signature import identity
from troth.engine import in_process
from troth.grounding import explorer
from troth.grounding.calibration import Calibration, DataFile, Fitted
from troth.grounding.calibration import load as load_calibration
from troth.grounding.graded import graded, rows
from troth.grounding.metrics import Grader, Models, default_metrics, graders
from troth.grounding.spread import in_blocks, spread
from troth.models import DEFAULT_CACHE, Lm, Nli
from troth.readers import grounded as readers
from troth.readers.grounded.chat import CONTEXT
from troth.readers.grounded.chat import chosen as chosen_context
from troth.readers.grounded.mapped import parsed
from troth.stats.estimates import Resampling
from troth.storage.result import Result, check_out

OnError = Literal["stop", "skip"]


class ScoringOptions(TypedDict, total=False):
    """Keywords that `ground`, `meta.evaluate` and `meta.fit` share; see `ScoringSettings`."""

    metrics: str | Iterable[str]
    format: str | None
    context: str | Iterable[str]
    columns: str | Mapping[str, str]
    on_error: OnError
    nli: str | Nli
    lm: str | Lm
    cache: Path | None
    models: Models
    out: Path | None


@dataclass(frozen=True)
class ScoringSettings:
    metrics: str | Iterable[str] = ()  # names; `troth ls` lists them; none: `default_metrics`
    format: str | None = None  # of the data; None: detected
    context: str | Iterable[str] = CONTEXT  # of chat transcripts: what answers may rest on
    columns: str | Mapping[str, str] = ""  # names that a file has for ours: document=contexts,response=answer
    on_error: OnError = "stop"  # at a row that cannot be read: stop, or skip and count it
    nli: str | Nli | None = None  # entailment model
    lm: str | Lm | None = None  # language model
    cache: Path | None = DEFAULT_CACHE  # file that keeps models' answers; None: only this process does
    models: Models = field(default_factory=Models)  # all models; `nli`, `lm` and `cache` replace its own
    out: Path | None = None  # where to save the result

    def load(self, paths: Sequence[Path]) -> ResponseSet:
        """All responses of some files or folders, read as the settings say."""
        columns = parsed(self.columns) if isinstance(self.columns, str) else self.columns
        if self.on_error not in ("stop", "skip"):
            raise UserError(f"on_error is '{self.on_error}'", hint="stop or skip")
        return load(paths, self.format, self.kinds, columns=columns, skip=self.on_error == "skip")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of context that answers in chat transcripts may rest on."""
        return chosen_context(self.context)

    @cached_property
    def graders(self) -> list[Grader]:
        return graders(listed(self.metrics) or default_metrics(), self.all_models)

    @cached_property
    def all_models(self) -> Models:
        own = self.models
        if self.nli is None and self.lm is None and self.cache == DEFAULT_CACHE:
            return own  # with the models that it has opened
        cache = own.cache if self.cache == DEFAULT_CACHE else self.cache
        return replace(own, nli=self.nli or own.nli, lm=self.lm or own.lm, cache=cache)

    def arguments(self) -> dict[str, Any]:
        """What a run's record keeps of the settings."""
        names = ",".join(grader.metric.name for grader in self.graders)
        further = {"format": self.format, "context": "+".join(self.kinds), "models": self.all_models.names()}
        read = {"columns": self.columns} if self.columns else {}
        return {"metrics": names, **further, **read}


class GroundOptions(ScoringOptions, total=False):
    """Keywords of `ground`; see `GroundSettings`."""

    calibration: Path | Calibration | None
    resamples: int
    seed: int
    workers: int


@dataclass(frozen=True)
class GroundSettings(ScoringSettings):
    calibration: Path | Calibration | None = None  # of `meta.fit`: gives each response a verdict
    resamples: int = 1000  # of the bootstrap, over documents
    seed: int = 0  # of the bootstrap
    workers: int = 1  # each with models of its own; 0: one per core


def ground(*data: Path, **options: Unpack[GroundOptions]) -> Result:
    """Scores responses against the documents that they answer from; each file is one system.

    `data`: files, folders or `NAME=FILE`, in any format of grounded responses. `metrics`: names of metrics.
    `calibration`: what `meta.fit` made; it gives each response a verdict, and `faithful:METRIC` is the share of
    faithful ones. `context`: what answers in chat transcripts may rest on: tools, user, system. `columns`:
    the names that a file has for ours (`document=contexts,response=answer`); `on_error`: "skip" leaves out rows that
    cannot be read, and counts them. `nli`, `lm`, `cache`,
    `models`: the models to ask. `resamples`, `seed`: of the intervals, which are over documents (conversations, where
    documents grow with them). `out`: a folder to save the run to.

        >>> from troth.demo import path
        >>> result = ground(path("documents/careful.jsonl"), metrics="u_f1,coverage")
        >>> result["coverage"].value > result["u_f1"].value
        True
    """
    settings = resolve(GroundSettings, options)
    if not data:
        raise UserError("no data is named", hint="for example responses.jsonl, or name=responses.jsonl")
    out = None if settings.out is None else check_out(settings.out)
    judges = fitted(settings.calibration, settings.graders)
    files = {name: settings.load([path]) for name, path in labelled(data, "file")}
    items = {name: one.items for name, one in files.items()}
    names = [grader.metric.name for grader in settings.graders]
    every, workers = [item for own in items.values() for item in own], settings.workers
    shared = None if in_process(workers) else spread(every, names, settings.all_models, workers)
    systems = graded(items, settings.graders, judges, by=in_blocks if shared is None else shared.of)
    how = Resampling(settings.resamples, settings.seed)
    notes = [f"{name}: {note}" for name, one in files.items() for note in one.notes()]
    notes += [f"{system.name}: {note}" for system in systems for note in system.notes()]
    notes += remarks(settings.graders) if shared is None else shared.remarks
    unjudged = [one.metric.name for one in settings.graders if judges is not None and one.metric.name not in judges]
    notes += [f"no verdict: the calibration has no {', '.join(unjudged)}"] if unjudged else []
    calibration = None if isinstance(settings.calibration, Calibration | None) else path_of(settings.calibration)
    result = Result(
        "ground",
        [score for system in systems for score in system.scores(how)],
        [column.metric for column in systems[0].columns],
        {system.name: system.counts() | files[system.name].counts() for system in systems},
        notes,
        arguments={"data": [path_of(one) for one in data], "calibration": calibration, **settings.arguments(),
                   "resamples": how.resamples, "seed": how.seed},
        make_rows=lambda: rows(systems),
        make_explorer=lambda: explorer.archive(systems),
    )  # fmt: skip
    if out is not None:
        result.save(out)
    return result


def fitted(calibration: Path | Calibration | None, graders: Sequence[Grader]) -> Mapping[str, Fitted] | None:
    """What the calibration says of each metric that it knows; None without a calibration."""
    if calibration is None:
        return None
    recipes = {grader.metric.name: identity(grader.metric, grader.recipe) for grader in graders}
    if isinstance(calibration, Calibration):
        return calibration.matching(recipes)
    path = path_of(calibration)
    try:
        return load_calibration(path).matching(recipes)
    except UserError as error:
        raise error.at(file=path) from error


def remarks(graders: Iterable[Grader]) -> list[str]:
    """What graders have to say after scoring, by metric."""
    return [f"{grader.metric.name}: {remark}" for grader in graders for remark in grader.remarks]


class ResponseSet(NamedTuple):
    """Responses, and the files that they come from."""

    items: list[Grounded]
    files: tuple[DataFile, ...]
    skipped: tuple[str, ...] = ()  # errors of rows that were left out

    def counts(self) -> dict[str, int]:
        return {"skipped": len(self.skipped)} if self.skipped else {}

    def notes(self) -> list[str]:
        return [f"{counted(len(self.skipped), 'row')} skipped; the first: {self.skipped[0]}"] if self.skipped else []


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
        for document, found in readers.batches(path, format, context, columns=columns, skipped=skipped):
            name, digest = pathlib.Path(document.name).name, hashlib.sha256(document.data).hexdigest()
            files.append(DataFile(name, len(found), digest, sum(item.label is not None for item in found)))
            items += found
    if not items:
        first = f"; the first row: {skipped[0]}" if skipped else ""
        raise UserError(f"no response in it{first}", file=path_of(paths[0]), hint="see docs/formats.md for the layouts")
    return ResponseSet(items, tuple(files), tuple(skipped or ()))
