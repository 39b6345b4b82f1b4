"""Trains trackers: the data, the recipe and the loop brought together, for one seed or for several.

The folder of a run holds what `training` writes, and

    training.json   the settings; equal settings resume the run
    curve.json      the measures at each evaluation, as in CheckDST's figures 2 and 3
    first/          the first phase, of recipes that have one
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path as Folder
from typing import Any

import msgspec
from msgspec.structs import replace as replace_fields

from troth.core.data_options import format_option, schema_option, shots_option
from troth.core.digest import ordered_digest
from troth.core.errors import UserError
from troth.core.extras import require
from troth.core.names import Path, parse_names, path_of
from troth.core.options import keywords, option, record_arguments, resolve
from troth.readers.shots import Shots
from troth.storage.claims import Claim
from troth.systems.data import TrackerCorpus
from troth.systems.evaluation import JGA, SLACK, TrackerEvaluation
from troth.systems.loggers import check_installed, report_to
from troth.systems.presets import preset_first, preset_fit
from troth.systems.recipe import Recipe, TrackerModel, TrainableTracker, recipe_of
from troth.systems.runs import curve, fit_settings, training_claim, write_curve
from troth.systems.tracker import CARD, Tracker, TrackerCard, describe
from troth.systems.training import Fitting, Key, fit

FIRST = "first"
# Options that runs of earlier versions do not record: without a value, nor do we.
LATER = ("dev_schemas", "engines", "preset", "services")
BEST_LOSS, BEST_JGA = "best-loss", "best-jga"


@dataclass(frozen=True)
class TrainSettings:
    recipe: str = option(
        "span", "Kind of tracker; `troth ls recipes` lists them.", "NAME", complete=("troth.systems.recipe:RECIPES",)
    )
    model: Path = option("embedded", "Pretrained model: a folder, hf:ORG/MODEL, or the recipe's own.", "NAME")
    options: Mapping[str, Any] = option(
        {}, "Set an option of the recipe; may be given several times.", "OPTION=VALUE", flag="--set", repeat=True
    )
    dev: Path | None = option(None, "Dialogues by which the best checkpoint is chosen.", "FILE")
    dev_limit: int | None = option(100, "Number of dev dialogues to track, drawn by the seed.", least=0, zero="all")
    sets: str | Sequence[str] = option(
        (), "Perturbed versions of the dev data to measure on as well, and wordings of its schema: NED,SDI,PI,v1..v5.",
        "NAMES",
    )  # fmt: skip
    dev_schemas: Path | None = option(
        None, "Source of the wordings v1, v2, … of the dev data: a folder as SGD-X, backtranslate, corrupt, or a file "
        "of paraphrases.", "FROM",
    )  # fmt: skip
    services: str | Sequence[str] = option(
        (), "Train only on dialogues that are about these services and no others, comma-separated.", "NAMES"
    )
    shots: Shots | None = shots_option()
    augment: str | Sequence[str] | None = option(
        None,
        "Also train on other wordings of the schema (schema, oracle, backtranslate or corrupt) and on perturbed "
        "twins (names, disfluency, paraphrase), each with a share if it is not 1: schema,names=0.3.",
        "NAMES",
    )
    schemas: Path | None = option(
        None, "Folder with the schemas of the wordings, for schema and oracle, as in SGD-X.", "FOLDER"
    )
    engines: Sequence[str] = option(
        (), "Translator of backtranslate: apertium:eng-spa, or marian:THERE,BACK; may be given several times.", "NAME",
        flag="--engine", repeat=True,
    )  # fmt: skip
    schema: Path | None = schema_option()
    format: str | None = format_option("the dialogues")
    first: str | Sequence[str] = option(
        (), "Data of the first phase: dialogues, or TASK=FILE; `troth ls training tasks` lists tasks.", "SOURCES"
    )
    first_fit: Mapping[str, Any] = option(
        {}, "Settings of the first phase, for example epochs=2,rate=5e-5.", "FIELDS", flag="--first-set"
    )
    preset: str | None = option(
        None, "Settings of a paper; `troth ls training presets` lists them. Other options take precedence.", "NAME",
        complete=("troth.systems.presets:PRESETS",),
    )  # fmt: skip
    fit: Mapping[str, Any] = option({}, "Fields of `FitSettings`.", shape="python")
    seeds: Sequence[int] = option((0,), "Random seeds, comma-separated: one run per seed.", "NUMBERS")
    log_to: str | Sequence[str] = option((), "Also report to tensorboard, mlflow or wandb, comma-separated.", "NAMES")


class TrainedTracker(msgspec.Struct, frozen=True):
    """Result of a training run."""

    folder: str
    seed: int
    steps: int
    best: dict[str, float]  # by the folder of a kept model: the value that it was kept for


@keywords(TrainSettings)
def train_tracker(data: Path, out: Path, **options: Any) -> list[TrainedTracker]:
    """Trains a tracker on annotated dialogues and writes it to the folder `out`; several seeds to folders in it.

    A call with the same arguments resumes an interrupted run, with the same result. The options are those of
    `TrainSettings`; `fit` has the fields of `FitSettings` (epochs, batch, rate, evaluate_every, patience, …).
    `troth.track(out, …)` runs the tracker.

    >>> train_tracker("sgd/train", "my-tracker", dev="sgd/dev", fit={"epochs": 3})  # doctest: +SKIP
    """
    settings = resolve(TrainSettings, options)
    recipe = recipe_of(settings.recipe, settings.options)
    if not recipe.trains:
        raise UserError(f"recipe '{settings.recipe}' is not trained", hint="troth track runs it as it is")
    require("torch", "transformers", extra="train")
    for name in ("first", "first_fit"):
        if getattr(settings, name) and not recipe.first:
            what = f"is not used: recipe '{settings.recipe}' has no first phase"
            raise UserError(what, option=name, hint="leave it out")
    if recipe.first and not settings.first and type(recipe).own_first_examples is Recipe.own_first_examples:
        hint = "for example mrpc=FILE" if recipe.first == "tasks" else "a file or folder of dialogues"
        what = f"is needed: recipe '{settings.recipe}' has a first phase on {recipe.first}"
        raise UserError(what, option="first", hint=hint)
    check_installed(parse_names(settings.log_to))
    seeds, parent = list(settings.seeds), Folder(path_of(out))
    folders = {seed: parent if len(seeds) == 1 else parent / f"seed-{seed}" for seed in seeds}
    own = {name: dict(getattr(settings, name)) for name in ("options", "fit", "first_fit")}
    records = {seed: record_arguments(replace(settings, seeds=[seed]), data=path_of(data)) | own for seed in seeds}
    for record in records.values():
        for name in (name for name in LATER if not record[name]):
            del record[name]
    claims = {seed: training_claim(record) for seed, record in records.items()}
    preset_fit(settings.preset, few=False)  # an error for a misspelt name
    for seed, folder in folders.items():
        claims[seed].check(folder)
    return [_train(path_of(data), folder, settings, recipe, (seed, claims[seed])) for seed, folder in folders.items()]


def _train(
    data: str, folder: Folder, settings: TrainSettings, recipe: Recipe, run: tuple[int, Claim]
) -> TrainedTracker:
    seed, _ = run
    how = fit_settings({**preset_fit(settings.preset, few=settings.shots is not None), **settings.fit}, seed)
    corpus = TrackerCorpus.read(data, schema=settings.schema, format=settings.format)
    corpus = corpus.only(parse_names(settings.services)).sample(settings.shots, seed)
    corpus = corpus.augment(settings.augment, schemas=settings.schemas, engines=settings.engines, seed=seed)
    recipe = recipe.fit_to(corpus)
    card = TrackerCard(settings.recipe, msgspec.to_builtins(recipe), path_of(settings.model))
    dev = evaluation = None
    if settings.dev is not None:
        dev = TrackerCorpus.read(settings.dev, format=settings.format).first(settings.dev_limit, seed)
        evaluation = TrackerEvaluation(dev, settings.sets, schemas=settings.dev_schemas, seed=seed)
    model = _begin(folder, settings, recipe, run, corpus)
    tracker = Tracker(str(folder), card, model)
    with _without_gc():
        examples = list(model.examples(corpus.turns()))
    fitting = Fitting(
        model,
        examples,
        [] if dev is None else list(model.examples(dev.turns())),
        None if evaluation is None else lambda: evaluation(tracker),
        {} if evaluation is None else {BEST_JGA: lambda metrics: metrics.get(JGA, 0.0)},
        report_to(parse_names(settings.log_to), folder, asdict(how)),
        lambda kept, metrics: describe(kept, replace_fields(card, training=asdict(how), metrics=metrics)),
        _digests(corpus, evaluation),
        {SLACK: evaluation.slacks} if evaluation is not None and evaluation.has_sets else {},
    )
    state = fit(fitting, folder, how)
    if any(JGA in point for point in curve(folder)):
        write_curve(folder, gains=gains(folder))
    return TrainedTracker(str(folder), seed, state.step, state.best)


def _digests(corpus: TrackerCorpus, evaluation: TrackerEvaluation | None) -> dict[str, str]:
    """The inputs of a training run by their content: a run is resumed with the same only."""
    dev_records: list[Any] = []
    if evaluation is not None:
        dev = evaluation.corpus
        dev_records = [*dev.dialogues, dev.schema, dev.complete, *evaluation.wordings]
    learned = [*corpus.dialogues, corpus.schema, corpus.complete, corpus.wordings]
    return {"training data": ordered_digest(learned), "dev data": ordered_digest(dev_records)}


@contextmanager
def _without_gc() -> Iterator[None]:
    """Turns garbage collection off: it would scan all examples repeatedly while more of them are created."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _begin(
    folder: Folder, settings: TrainSettings, recipe: Recipe, run: tuple[int, Claim], corpus: TrackerCorpus
) -> TrainableTracker[Any]:
    """The model to train: pretrained, a tracker to train further, or the result of the first phase.

    The folder is claimed when everything has been read, so that bad input leaves nothing behind.
    """
    import torch

    (seed, claim), name, first = run, path_of(settings.model), folder / FIRST
    torch.manual_seed(seed)  # of weights that the pretrained model does not have
    further = (Folder(name) / CARD).is_file()
    model = _check_trainable(recipe.open(name, trained=further))
    phase: tuple[list[Any], list[Any]] | None
    if settings.first:
        phase = recipe.first_examples(model, parse_names(settings.first), seed)
    else:
        phase = None if further else recipe.own_first_examples(model, corpus, seed)
    if phase is None:
        claim.make(folder)
        return model
    examples, dev = phase
    first_fit = {"evaluate_every": 200, "patience": 3, **preset_first(settings.preset), **settings.first_fit}
    how = fit_settings(first_fit, seed)
    keep: dict[str, Key] = {BEST_LOSS: lambda metrics: -metrics["dev_loss"]}
    claim.make(folder)
    inputs = {"data of the first phase": ordered_digest([*examples, *dev])}
    fit(Fitting(model, examples, dev, keep=keep, inputs=inputs), first, how)
    return _check_trainable(recipe.open(str(first / BEST_LOSS), trained=True))


def _check_trainable(model: TrackerModel) -> TrainableTracker[Any]:
    if not isinstance(model, TrainableTracker):
        raise UserError(
            "an exported tracker cannot be trained further", hint="train from an encoder such as 'embedded'"
        )
    return model


def gains(folder: Path) -> dict[str, float]:
    """Differences between the evaluation with the best JGA and the first one, by measure (CheckDST, figure 3)."""
    points = [point for point in curve(folder) if JGA in point]
    if not points:
        raise UserError("has no measures over training", file=path_of(folder), hint="train with a dev set")
    best = max(points, key=lambda point: point[JGA])
    return {name: best[name] - value for name, value in points[0].items() if name in best and name != "step"}
