"""What `import troth` gives. Written by `python -m docs_build.stub`; do not edit."""

import os
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from troth import demo as demo
from troth import integrations as integrations
from troth import meta as meta
from troth import models as models
from troth import readers as readers
from troth import stats as stats
from troth.agents.rules import MatchingRule
from troth.agents.score import Transcripts
from troth.core.errors import UserError as UserError
from troth.core.metric import Metric as Metric
from troth.core.names import Path
from troth.core.records import Dialogue
from troth.core.records import Gold
from troth.core.records import Grounded
from troth.core.records import Schema
from troth.core.result import Result as Result
from troth.core.score import Score as Score
from troth.core.version import __version__ as __version__
from troth.grounding.calibration import Calibration
from troth.grounding.metrics import Models
from troth.grounding.score import OnError
from troth.integrations.evaluate import Computable
from troth.models import Lm
from troth.models import Nli
from troth.perturb.users.run import Families
from troth.perturb.users.run import Perturbation
from troth.readers.responses import Key
from troth.readers.responses import Response
from troth.readers.shots import Shots
from troth.report.compare import compare as compare
from troth.report.compare import gate as gate
from troth.report.compare import level_gate as level_gate
from troth.report.gates import apply_gates as apply_gates
from troth.report.sources import Run
from troth.report.write import report as report
from troth.responses.multiwoz.score import MissingDialogues
from troth.responses.references import Refs
from troth.responses.score import Missing
from troth.responses.sgsacc import Augment
from troth.robustness.checkdst import Perturbed
from troth.robustness.checkdst import TestSet
from troth.robustness.sgdx import Variants
from troth.storage.history import record_run as record_run
from troth.storage.runs import open as open
from troth.systems.generators.card import Method
from troth.systems.generators.encodings import Encoding
from troth.systems.generators.respond import Responses
from troth.systems.generators.train import TrainedGenerator
from troth.systems.track import TrackedSet
from troth.systems.tracker import Tracker
from troth.systems.train import TrainedTracker
from troth.tracking.check import check as check
from troth.tracking.explain import explain as explain
from troth.tracking.profiles import PROFILES as PROFILES
from troth.tracking.profiles import Profile as Profile
from troth.tracking.score import ProfileLike
from troth.tracking.slot_errors import slot_errors as slot_errors
from typing import Any

__all__: list[str]

def agent(
    *transcripts: Transcripts,
    gold: Path | Sequence[Path] | None = None,
    tools: Path | None = None,
    rule: str | MatchingRule | None = None,
    solved: str | None = None,
    metrics: str | Iterable[str] | None = None,
    by: str | Iterable[str] = (),
    writing: str | Iterable[str] | None = None,
    context: str | Iterable[str] = 'tools+user+system',
    format: str | None = None,
    judge: str | Lm | None = None,
    policy: Path | None = None,
    votes: int = 3,
    budget: str | int | None = None,
    cache: Path | None = '',
    timeout: float | None = None,
    on_error: str = 'stop',
    resamples: int = 1000,
    seed: int = 0,
    out: Path | None = None,
) -> Result: ...

def checkdst(
    original: TestSet | Mapping[str, TestSet] | None,
    perturbed: Perturbed,
    *,
    unit: str | None = None,
    missing: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    explorer: bool = True,
    out: Path | None = None,
    name: str = 'system',
    profile: str | Profile | None = None,
    schema: Path | None = None,
    nohf: str = 'default',
    coref: str = 'annotated',
    slots: str | Iterable[str] | None = None,
) -> Result: ...

def dst(
    gold: Gold,
    *preds: Path,
    pred: Sequence[Dialogue] | Mapping[str, Sequence[Dialogue]] | None = None,
    unit: str | None = None,
    missing: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    explorer: bool = True,
    out: Path | None = None,
    profile: ProfileLike | Sequence[ProfileLike] | None = None,
    match: str | None = None,
    norm: str | None = None,
    fga: str | None = None,
    metrics: str | Iterable[str] | None = None,
    rates: Sequence[float] | None = None,
    by: str | Iterable[str] = (),
    only: str | Iterable[str] = (),
    without: str | Iterable[str] = (),
    schema: Path | Schema | None = None,
    train_schema: Path | None = None,
    format: str | None = None,
    pred_format: str | None = None,
    unknown: str = 'error',
    common: bool = False,
) -> Result: ...

def ground(
    *data: Path,
    responses: Sequence[Grounded] | Mapping[str, Sequence[Grounded]] | None = None,
    metrics: str | Iterable[str] = (),
    format: str | None = None,
    context: str | Iterable[str] = 'tools+user+system',
    columns: str | Mapping[str, str] = '',
    on_error: OnError = 'stop',
    nli: str | Nli | None = None,
    lm: str | Lm | None = None,
    cache: Path | None = '',
    models: Models = ...,
    out: Path | None = None,
    calibration: Path | Calibration | None = None,
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
) -> Result: ...

def load(
    metric: str | Iterable[str],
    *,
    against: str | None = None,
    profile: str | Profile | None = None,
    schema: Path | Schema | None = None,
    models: Models = ...,
    resamples: int = 1000,
    seed: int = 0,
) -> Computable: ...

def merge(
    *runs: str | os.PathLike[str] | Result,
    resamples: int = 1000,
    seed: int = 0,
    out: Path | None = None,
) -> Result: ...

def multiwoz(
    *files: Path,
    predictions: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] | None = None,
    goals: Path | Mapping[str, Any] | None = None,
    booked: Path | Mapping[str, Any] | None = None,
    database: Path | Mapping[str, Any] | None = None,
    references: Path | Mapping[str, Any] | None = None,
    states: Path | Iterable[Dialogue] | None = None,
    metrics: str | Iterable[str] | None = None,
    missing: MissingDialogues = 'part',
    resamples: int = 1000,
    seed: int = 0,
    out: Path | None = None,
) -> Result: ...

def nlg(
    gold: Gold,
    *files: Path,
    responses: Mapping[str, Mapping[Key, str | Response]] | None = None,
    metrics: str | Iterable[str] | None = None,
    schema: Path | Schema | None = None,
    train_schema: Path | Schema | None = None,
    by: str | Iterable[str] = (),
    missing: Missing = 'part',
    ids: Path | None = None,
    nli: str | Nli = 'embedded',
    cache: Path | None = '',
    augment: Augment = 'retry',
    refs: Refs = 'b',
    negatives: int = 1,
    gold_text: bool = True,
    format: str | None = None,
    pred_format: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    out: Path | None = None,
) -> Result: ...

def respond(
    model: Path | Sequence[Path],
    data: Path,
    out: Path,
    *,
    beams: int = 4,
    count: int | None = None,
    rerank: bool = False,
    gated: bool = False,
    exact: bool = False,
    base: Path | None = None,
    templates: Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    schema: Path | None = None,
    format: str | None = None,
    nli: str | Nli = 'embedded',
    cache: Path | None = '',
) -> Responses: ...

def run_agent(
    agent: str | Callable[..., Any],
    tasks: Path,
    *,
    tools: Path | None = None,
    variants: str | Iterable[str] | None = None,
    from_: Path | None = None,
    users: Any = (),
    trials: int = 1,
    limit: int | None = None,
    gold: Path | Sequence[Path] | None = None,
    format: str | None = None,
    budget: str | int | None = None,
    parallel: int = 4,
    steps: int = 10,
    temperature: float = 0.0,
    timeout: float = 120.0,
    retries: int = 2,
    key_variable: str = 'OPENAI_API_KEY',
    seed: int = 0,
    out: Path = 'agent-run',
) -> Result: ...

def sgdx(
    gold: Gold,
    variants: Variants,
    *,
    unit: str | None = None,
    missing: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    explorer: bool = True,
    out: Path | None = None,
    name: str = 'system',
    profile: str | Profile | None = None,
    schema: Path | None = None,
    schemas: Path | None = None,
    metrics: str | Iterable[str] = 'jga',
    by: str | Iterable[str] = 'service',
    train_schema: Path | None = None,
    ss: str = 'zero',
) -> Result: ...

def stress_ground(
    *data: Path,
    metrics: str | Iterable[str] = ('faith', 'coverage', 'nli'),
    format: str | None = None,
    context: str | Iterable[str] = 'tools+user+system',
    columns: str | Mapping[str, str] = '',
    on_error: OnError = 'stop',
    nli: str | Nli | None = None,
    lm: str | Lm | None = None,
    cache: Path | None = '',
    models: Models = ...,
    out: Path | None = None,
    checker: str | None = None,
    corruptions: str | Iterable[str] = (),
    each: int = 1,
    corrupted: Path | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Result: ...

def table(
    *runs: Run,
    to: str = 'plain',
    metrics: str | Iterable[str] | None = None,
    groups: str | Iterable[str] | None = None,
    systems: str | Iterable[str] | None = None,
    sort: str | None = None,
    names: Mapping[str, Any] = ...,
    intervals: bool = True,
) -> str: ...

def track(
    model: Path | Tracker,
    data: Path,
    out: Path,
    *,
    sets: str | Sequence[str] = 'orig',
    schemas: Path | None = None,
    schema: Path | None = None,
    format: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    workers: int = 1,
) -> list[TrackedSet]: ...

def train_grounded(
    data: Path,
    out: Path,
    *,
    model: Path = 'embedded',
    limit: int | None = None,
    dev: Path | None = None,
    dev_limit: int | None = 200,
    format: str | None = None,
    length: int = 512,
    answer: int = 64,
    fit: Mapping[str, Any] = ...,
    seed: int = 0,
    log_to: str | Sequence[str] = (),
) -> TrainedGenerator: ...

def train_response(
    data: Path,
    out: Path,
    *,
    method: Method = 'ft',
    model: Path = 'embedded',
    encoding: Encoding = 'template',
    templates: Path | None = None,
    shots: Shots | None = None,
    dev: Path | None = None,
    dev_limit: int | None = 100,
    schema: Path | None = None,
    format: str | None = None,
    length: int = 256,
    answer: int = 64,
    nli: str | Nli = 'embedded',
    cache: Path | None = '',
    fit: Mapping[str, Any] = ...,
    seed: int = 0,
    log_to: str | Sequence[str] = (),
) -> TrainedGenerator: ...

def train_tracker(
    data: Path,
    out: Path,
    *,
    recipe: str = 'span',
    model: Path = 'embedded',
    options: Mapping[str, Any] = ...,
    dev: Path | None = None,
    dev_limit: int | None = 100,
    sets: str | Sequence[str] = (),
    dev_schemas: Path | None = None,
    services: str | Sequence[str] = (),
    shots: Shots | None = None,
    augment: str | Sequence[str] | None = None,
    schemas: Path | None = None,
    engines: Sequence[str] = (),
    schema: Path | None = None,
    format: str | None = None,
    first: str | Sequence[str] = (),
    first_fit: Mapping[str, Any] = ...,
    preset: str | None = None,
    fit: Mapping[str, Any] = ...,
    seeds: Sequence[int] = (0,),
    log_to: str | Sequence[str] = (),
) -> list[TrainedTracker]: ...

def perturb(
    data: Path,
    out: Path,
    *,
    with_: Families = (),
    seed: int = 0,
    schema: Path | None = None,
    format: str | None = None,
    to: str | None = None,
    nli: str | models.Nli | None = None,
    lm: str | models.Lm | None = None,
    cache: str | None = '',
    workers: int = 1,
) -> Perturbation: ...
