"""Logs scores to experiment trackers: MLflow, Weights & Biases.

A score's key is `[SYSTEM/][KIND/GROUP/]METRIC`, with `_low` and `_high` for its interval: `jga`, `fga_0_5_low`,
`service/Hotels_1/jga`. The system is part of it only where there are several, so that runs of one system have the same
keys. Both tools show the part before a slash as a folder, and MLflow's file store refuses a key that is also a
folder. Anything but letters, digits and `_` becomes `_`: MLflow refuses `@`, Weights & Biases nests at a dot.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from troth.core.errors import UserError
from troth.core.extras import require
from troth.core.groups import ALL
from troth.core.result import Result
from troth.core.score import Score
from troth.core.version import __version__
from troth.storage import runs
from troth.storage.runs import open as open_run

LONGEST = 80  # letters of a name that go into a key; MLflow takes 250 for the whole
METRICS_AT_ONCE, TAGS_AT_ONCE = 1000, 100  # MLflow's limits for one request

Run = str | os.PathLike[str] | Result


@dataclass(frozen=True)
class LoggedRun:
    """Values of a run that are logged."""

    metrics: dict[str, float]
    signatures: dict[str, str]  # by key, of the scores over everything
    unscored: dict[str, str]  # by key: why there is no number
    about: dict[str, str]
    files: list[Path]


def to_mlflow(run: Run, *, report: str | os.PathLike[str] | None = None, step: int | None = None) -> dict[str, float]:
    """Log every score with its interval to the active MLflow run, or to a new one.

    `run`: a run's folder, whose files are logged as artifacts, or a result. `report`: a page of `troth report`.
    Signatures become tags. Returns the metrics as they are logged.
    """
    logged = entries(run, report)
    mlflow = require("mlflow")
    tags = {f"troth.{name}": value for name, value in logged.about.items()}
    tags |= {f"troth.signature.{key}": value for key, value in logged.signatures.items()}
    tags |= {f"troth.unscored.{key}": value for key, value in logged.unscored.items()}
    with nullcontext() if mlflow.active_run() else mlflow.start_run():
        for batch in _pieces(logged.metrics, METRICS_AT_ONCE):
            mlflow.log_metrics(batch, step=step)
        for batch in _pieces(tags, TAGS_AT_ONCE):
            mlflow.set_tags(batch)
        for file in logged.files:
            mlflow.log_artifact(str(file), artifact_path="troth")
    return logged.metrics


def to_wandb(run: Run, *, report: str | os.PathLike[str] | None = None, step: int | None = None) -> dict[str, float]:
    """Log every score with its interval to the active Weights & Biases run, or to a new one of the project `troth`.

    As `to_mlflow`; signatures go into the run's config, under `troth`, and files into one artifact.
    """
    logged = entries(run, report)
    wandb = require("wandb")
    is_new = wandb.run is None
    active: Any = wandb.init(project="troth") if is_new else wandb.run
    try:
        about = {**logged.about, "signatures": logged.signatures, "unscored": logged.unscored}
        active.config.update({"troth": about}, allow_val_change=True)
        active.log(logged.metrics, step=step)
        if logged.files:
            artifact = wandb.Artifact(name=f"troth-{active.id}", type="evaluation", metadata=about)
            for file in logged.files:
                artifact.add_file(str(file), name=file.name)
            active.log_artifact(artifact)
    finally:
        if is_new:
            active.finish()
    return logged.metrics


def entries(run: Run, report: str | os.PathLike[str] | None = None) -> LoggedRun:
    result = run if isinstance(run, Result) else open_run(run)
    files: list[Path] = []
    if not isinstance(run, Result):
        files = [Path(run) / name for name in runs.FILES if (Path(run) / name).is_file()]
    if report is not None:
        if not Path(report).is_file():
            raise UserError("no such file", file=os.fspath(report), hint="make it with troth report RUN --out FILE")
        files += [] if Path(report) in files else [Path(report)]
    if len({file.name for file in files}) < len(files):
        raise UserError("the run's folder has a file of that name", file=str(report), hint="give the page another name")
    systems = result.systems
    keys = _keys(result.scores, named=len(systems) > 1)
    return LoggedRun(
        metrics={
            key + ending: value
            for key, score in keys.items()
            for ending, value in (("", score.value), ("_low", score.low), ("_high", score.high))
            if value is not None
        },
        signatures={key: score.signature for key, score in keys.items() if score.group == ALL},
        unscored={key: score.reason or "" for key, score in keys.items() if score.value is None},
        about={
            "version": result.versions.get("troth", __version__),
            "command": result.task,
            "system": ", ".join(systems),
        },
        files=files,
    )


def _keys(scores: Sequence[Score], *, named: bool) -> dict[str, Score]:
    by_key: dict[str, Score] = {}
    for score in scores:
        group = [] if score.group == ALL else [part for part in (score.group.kind, score.group.name) if part]
        parts = [*([score.system] if named else []), *group, score.metric]
        key = "/".join(re.sub(r"\W+", "_", part)[:LONGEST] or "_" for part in parts)
        if key in by_key:
            what = " and ".join(f"'{s.metric}' of '{s.system}' ({s.group})" for s in (by_key[key], score))
            raise UserError(f"{what} would both be logged as '{key}'", hint="give the systems other names")
        by_key[key] = score
    return by_key


def _pieces(items: Mapping[str, Any], size: int) -> Iterator[dict[str, Any]]:
    left = iter(items.items())
    while piece := dict(islice(left, size)):
        yield piece
