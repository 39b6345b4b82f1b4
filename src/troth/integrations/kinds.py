"""The kinds of references that metrics in memory are scored against, each with the task that scores it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.metric import Metric
from troth.core.names import Path
from troth.core.options import option, python_only, resamples_option, seed_option
from troth.core.records import Schema
from troth.core.registry import Registry, import_path
from troth.core.score import Score
from troth.grounding.metrics import Models
from troth.grounding.score import ground
from troth.integrations import columns as tables
from troth.integrations.states import Columns, dialogues_of
from troth.responses.score import nlg
from troth.stats.estimates import Resampling, score_cells
from troth.tracking.metrics import metric as tracking_metric
from troth.tracking.profiles import Profile
from troth.tracking.score import dst

REGISTRIES = ("troth.tracking.metrics:METRICS", "troth.responses.metrics:METRICS", "troth.grounding.metrics:METRICS")
FLAT = "dialogue_ids=, or a list of states for each dialogue"


@dataclass(frozen=True)
class LoadSettings:
    against: str | None = option(
        None, "Kind of references, where the name of the metric does not tell: `bleu` also has documents."
    )
    profile: str | Profile | None = option(None, "Scoring recipe of state tracking, as in `troth.dst`.")
    schema: Path | Schema | None = option(None, "Schema of the services, for state tracking.")
    models: Models = field(
        default_factory=Models, metadata=python_only("Models that metrics of grounded responses ask.")
    )
    resamples: int = resamples_option()
    seed: int = seed_option()


def find_metrics(names: Sequence[str], against: str | None) -> tuple[str, list[Metric]]:
    """What the metrics take as references, and the metrics; the first kind that has them all."""
    if against is not None and against not in TASKS:
        raise UserError(f"against '{against}' is not known", hint="one of: " + ", ".join(TASKS))
    registries: list[Registry[Metric]] = [import_path(path) for path in REGISTRIES]
    declared = [registry.load(name) for registry in registries for name in registry]
    known = {
        kind: {metric.name: metric for metric in declared if metric.against == kind}
        for kind in ([against] if against else TASKS)
    }
    for kind, metrics in known.items():
        if kind == "states":  # FGA at any rate
            metrics |= {name: tracking_metric(name) for name in names if "@" in name}
        if all(name in metrics for name in names):
            return kind, [metrics[name] for name in names]
    every = list(dict.fromkeys(name for metrics in known.values() for name in metrics))
    for name in names:
        if name in every:
            continue
        if any(metric.name == name and not metric.against for metric in declared):
            raise UserError(f"'{name}' needs acts and a schema", hint="troth.nlg scores it from files")
        hint = suggest_name(name, every) or "known: " + ", ".join(every)
        raise UserError(f"no metric {f'against {against} ' if against else ''}is called '{name}'", hint=hint)
    raise UserError(f"{', '.join(names)} do not take the same references", hint="load them apart")


def _states(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    tables.refuse(columns, "histories")
    sides = dialogues_of(columns)
    for metric in metrics:
        if "fga" not in metric.ignores and not sides.grouped:
            raise UserError(f"'{metric.name}' needs to know which turns belong to one dialogue", hint=FLAT)
    result = dst(
        sides.golds, pred={"": sides.preds}, metrics=[metric.name for metric in metrics], profile=settings.profile,
        schema=settings.schema, resamples=settings.resamples, seed=settings.seed, explorer=False,
    )  # fmt: skip
    return _drop_bounds(result.scores, known=sides.grouped)


def _texts(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    """Corpus BLEU as `troth.nlg` has it: a missing response is an empty one, turns without gold are left out."""
    gold, responses = tables.responses(columns)
    result = nlg(
        gold, responses={"": responses}, metrics=[metric.name for metric in metrics], missing="zero",
        resamples=settings.resamples, seed=settings.seed,
    )  # fmt: skip
    return _drop_bounds(result.scores, known=columns.dialogue_ids is not None)


def _values(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    cells, dialogues = tables.value_cells(metrics, columns)
    scores = score_cells("", cells, dialogues, Resampling(settings.resamples, settings.seed))
    return _drop_bounds(scores, known=columns.dialogue_ids is not None)


def _documents(metrics: Sequence[Metric], columns: Columns, settings: LoadSettings) -> list[Score]:
    names, items = [metric.name for metric in metrics], tables.grounded(columns)
    result = ground(
        responses={"": items}, metrics=names, models=settings.models, resamples=settings.resamples, seed=settings.seed
    )
    return list(result.scores)


TASKS: Mapping[str, Callable[[Sequence[Metric], Columns, LoadSettings], list[Score]]] = {
    "states": _states, "texts": _texts, "values": _values, "documents": _documents,
}  # fmt: skip


def _drop_bounds(scores: Iterable[Score], *, known: bool) -> list[Score]:
    """Without known dialogues there is no interval: turns of one dialogue are not independent."""
    return [score if known else msgspec.structs.replace(score, low=None, high=None) for score in scores]
