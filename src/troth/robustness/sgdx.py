"""SGD-X over files: one system's predictions under several wordings of the schema, and how much they vary.

Units are joined by dialogue, turn and service. Every score is over the units that all variants have: those that one
lacks (under `missing:skip`) are taken out of all, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from troth import readers
from troth.core.data_options import train_schema_option
from troth.core.errors import UserError
from troth.core.groups import SEEN, UNSEEN, Group, fingerprint, parse_groups
from troth.core.metric import Metric
from troth.core.names import Path, is_path, path_of
from troth.core.options import keywords, option, resolve
from troth.core.parts import Parts, join
from troth.core.records import Dialogue, Gold
from troth.core.result import Finding, Note, Result
from troth.core.tasks import Task
from troth.perturb.schemas.files import SchemaSource, load, load_published
from troth.perturb.schemas.renaming import rename_dialogue
from troth.robustness.metrics import derive_variants
from troth.robustness.sensitivity import all_wrong, values, variation
from troth.robustness.settings import RobustnessSettings, parse_sets
from troth.stats.estimates import Cell
from troth.storage.explorer import Archive, Header
from troth.tracking import metrics as measures
from troth.tracking.cells import Grouping, TrackedSystem, reason, recipe, split_by_group
from troth.tracking.dialogues import DialogueRecorder, ScoredDialogues, views
from troth.tracking.feed import DialogueSource, PairConsumer, Predictions, feed
from troth.tracking.frames import Frames
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import check_sides
from troth.tracking.scorer import Scorer

TASK = Task("robust sgdx", "robustness", "dialogues", "troth.report.page.robustness", varies=True)
ORIGINAL = "orig"  # the name of predictions under the original schema


class VaryingUnit(Finding, frozen=True, tag="varying unit"):
    """A unit whose score depends on the wording of the schema."""

    dialogue: str
    turn: int
    service: str | None
    values: dict[str, float]  # variant to score
    variation: float


@dataclass(frozen=True)
class SgdxSettings(RobustnessSettings):
    """`profile` is "sgd" where none is named; `schema` may be a file of tools (function definitions)."""

    schemas: Path | None = option(
        None, "Folder with the variants' schemas, to map their names back.", "FOLDER", flag="--from"
    )
    schema: Path | None = option(None, "Schema (or file of tools) of gold, if it is not beside gold.", "FILE")
    metrics: str | Iterable[str] = option(
        "jga", "Metrics with a value per unit, comma-separated.", "NAMES", complete=("troth.tracking.metrics:METRICS",)
    )
    by: str | Iterable[str] = option(
        "service", "Add scores by service or domain, comma-separated.", "NAMES", complete=("service", "domain")
    )
    train_schema: Path | None = train_schema_option()
    ss: str = option(
        "zero", "How to count units that are wrong under every variant: as 0, or not at all.", choices=("zero", "skip")
    )


class _Common(NamedTuple):
    """A metric under each variant over the units that all of them have, and the original schema's over the same."""

    variants: dict[str, Parts]
    original: Parts | None
    unpaired: dict[str, int]  # units of each that are left out


@keywords(SgdxSettings)
def sgdx(gold: Gold, variants: Mapping[str, Path | Sequence[Dialogue]] | Iterable[str], **options: Any) -> Result:
    """Scores a tracker's predictions under variants of the schema: the mean over the variants, and how much units vary.

    `variants` is a mapping of names (v1, v2, …) to predictions, or a list of `NAME=PATH`; `orig` stands for predictions
    under the original schema. The options are those of `SgdxSettings`. `Result.findings` has the units that vary.

    >>> from troth import demo
    >>> variants = {"v1": demo.path("hasty"), "v2": demo.path("sturdy")}
    >>> result = sgdx(demo.path("gold"), variants, by="service", resamples=50)
    >>> f"{result['jga_v1-2'].value:.3f} {result['ss_jga'].value:.3f}"
    '0.578 0.689'
    """
    settings = resolve(SgdxSettings, options)
    measures.select_metrics(settings.metrics)
    return score_sgdx(read_sgdx(gold, variants, settings), settings)


class SgdxCorpus(NamedTuple):
    """Gold, the predictions under each wording of the schema by name, and the schema."""

    gold: DialogueSource
    variants: dict[str, DialogueSource]
    schema: SchemaSource
    seen: frozenset[str] | None  # services of the training schema


def read_sgdx(
    gold: Gold, variants: Mapping[str, Path | Sequence[Dialogue]] | Iterable[str], settings: SgdxSettings
) -> SgdxCorpus:
    """The corpus of a sensitivity run, from files or from dialogues in memory; then the schema must be given."""
    sources = {
        label: DialogueSource(path_of(side)) if is_path(side) else DialogueSource(dialogues=side, name=label)
        for label, side in parse_sets(variants).items()
    }
    if len(sources.keys() - {ORIGINAL}) < 2:
        raise UserError("sensitivity takes two variants or more", hint="for example v1=PRED v2=PRED")
    golds = DialogueSource(path_of(gold)) if is_path(gold) else DialogueSource(dialogues=gold, name="gold")
    check_sides(golds.path, [source.path for source in sources.values()])
    if settings.schema is None and not golds.path:
        raise UserError("dialogues in memory come without a schema", hint="give the schema")
    schema = load(golds.path if settings.schema is None else path_of(settings.schema))
    train = settings.train_schema
    return SgdxCorpus(golds, sources, schema, None if train is None else frozenset(readers.schema(path_of(train))))


def score_sgdx(corpus: SgdxCorpus, settings: SgdxSettings) -> Result:
    """The result of a system's predictions under several wordings of the schema."""
    metrics = measures.select_metrics(settings.metrics)
    by = parse_groups(settings.by, ("seen", "service", "domain"), train_schema=settings.train_schema)
    header = Header(seen=None if corpus.seen is None else tuple(sorted(corpus.seen)))
    systems, explored = _score_variants(corpus, settings)
    first = _common(metrics[0], {label: system.frames for label, system in systems.items()})
    grouping = Grouping(by, corpus.seen, corpus.schema.schema)
    return settings.build(
        TASK.name,
        (cell for metric in metrics for cell in _cells(metric, systems, grouping, settings.ss)),
        next(iter(systems.values())).frames.dialogues,
        counts={label: {**one.counts, "unpaired": first.unpaired[label]} for label, one in systems.items()},
        notes=_notes(first),
        findings=_varying(first),
        arguments={
            "gold": corpus.gold.label,
            "variants": [f"{label}={source.label}" for label, source in corpus.variants.items()],
        },
        explorer=(lambda: Archive(header, views(explored))) if settings.explorer else None,
    )


def _score_variants(
    corpus: SgdxCorpus, settings: SgdxSettings
) -> tuple[dict[str, TrackedSystem], list[ScoredDialogues]]:
    """Each variant's predictions under the original names, scored, and the dialogues, if kept. Gold is read once."""
    profile = find_profile(settings.profile or "sgd").with_rules(**settings.rules)
    schema, labels = corpus.schema.schema, list(corpus.variants)
    renamings = {}
    if settings.schemas is not None:
        reworded = [label for label in labels if label != ORIGINAL]
        variants = load_published(corpus.schema, path_of(settings.schemas), reworded)
        renamings = {variant.name: variant.renaming.back() for variant in variants}

    def make() -> list[PairConsumer]:
        scorer = Scorer(profile, schema)
        return [scorer, DialogueRecorder(profile, schema, scorer)] if settings.explorer else [scorer]

    predictions = [
        Predictions(source, make, partial(rename_dialogue, renaming=renamings[label]) if label in renamings else None)
        for label, source in corpus.variants.items()
    ]
    consumed = feed(corpus.gold, predictions, workers=settings.workers)
    systems = {label: TrackedSystem.of(settings.name, mine[0]) for label, mine in zip(labels, consumed, strict=True)}
    return systems, [
        ScoredDialogues(dialogues, systems[label].frames, settings.name, label)
        for label, (_, *recorders) in zip(labels, consumed, strict=True)
        for dialogues in recorders
    ]


def _common(metric: Metric, frames: Mapping[str, Frames]) -> _Common:
    parts: dict[str, Parts] = {label: metric.compute(one) for label, one in frames.items()}
    original = parts.pop(ORIGINAL, None)
    joined = join(parts)
    if original is None:
        return _Common(joined.parts, None, joined.unpaired)
    pair = join({"": next(iter(joined.parts.values())), ORIGINAL: original})
    return _Common(joined.parts, pair.parts[ORIGINAL], {**joined.unpaired, ORIGINAL: pair.unpaired[ORIGINAL]})


def _cells(metric: Metric, systems: Mapping[str, TrackedSystem], grouping: Grouping, rule: str) -> Iterator[Cell]:
    """What SGD-X derives from a metric, for all units and for each group that all variants have units of."""
    labels = [label for label in systems if label != ORIGINAL]
    derived = derive_variants(metric, labels, rule)
    by_group: dict[Group, dict[str, Frames]] = {}
    for label, system in systems.items():
        for group, frames in split_by_group(system.frames, grouping):
            by_group.setdefault(group, {})[label] = frames
    for group, mine in ((group, mine) for group, mine in by_group.items() if mine.keys() >= set(labels)):
        variants, original, _ = _common(metric, mine)
        frames, sets = mine[labels[0]], list(variants.values())
        train = {"train": fingerprint(grouping.seen or ())} if group in (SEEN, UNSEEN) else {}
        rules = (*recipe(metric, frames), {"variants": len(sets), "ss": rule}, train)
        why = next((f"{label}: {one.unscorable}" for label, one in systems.items() if one.unscorable), None)
        make = partial(Cell, recipe=rules, group=group, reason=why or reason(metric, frames.profile, grouping.schema))
        if original is not None:
            yield make(derived.original, original)
        yield make(derived.average, derived.average.compute(sets), shared=len(sets))
        yield from (make(one, one.compute(sets)) for one in (derived.sensitivity, derived.all_wrong))
        yield from (make(derived.variants[label], parts) for label, parts in variants.items())
        if original is not None:
            change, n = derived.drop.compute(original, sets), int(original.den.sum())
            yield Cell(derived.drop, change, rules, group, why or "the original's score is 0", n=n, in_rows=False)


def _varying(common: _Common) -> list[VaryingUnit]:
    """The units whose scores differ between variants, those that vary most first."""
    table, scored = values(list(common.variants.values()))
    spread = np.where(scored, variation(table), 0.0)
    at = np.flatnonzero(spread > 0)
    keys = next(iter(common.variants.values())).units.take(at).keys()
    units = [
        VaryingUnit(dialogue, turn, service or None, dict(zip(common.variants, each, strict=True)), size)
        for (dialogue, turn, service), each, size in zip(keys, table.T[at].tolist(), spread[at].tolist(), strict=True)
    ]
    return sorted(units, key=lambda unit: (-unit.variation, unit.dialogue, unit.turn))


def _notes(common: _Common) -> list[Note]:
    wrong = all_wrong(list(common.variants.values()))
    left_out = ((label, count) for label, count in common.unpaired.items() if count)
    return [
        Note(f"{wrong.num.sum():.0f} of {wrong.den.sum():.0f} units are wrong under every variant"),
        *(Note(f"{count} units are left out: not all variants have them", label) for label, count in left_out),
    ]
