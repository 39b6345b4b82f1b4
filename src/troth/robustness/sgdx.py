"""SGD-X over files: systems' predictions under several wordings of the schema, and how much they vary.

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
from troth.robustness.settings import ORIGINAL, RobustnessSettings, check_same_sets, set_label
from troth.stats.estimates import Cell, SystemCells
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


class VaryingUnit(Finding, frozen=True, tag="varying unit"):
    """A unit with a score that depends on the wording of the schema."""

    dialogue: str
    turn: int
    service: str | None
    values: dict[str, float]  # variant to score
    variation: float
    system: str = ""


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


Predicted = Path | Sequence[Dialogue]
Variants = Mapping[str, Predicted] | Mapping[str, Mapping[str, Predicted]] | Iterable[str]


@keywords(SgdxSettings)
def sgdx(gold: Gold, variants: Variants, **options: Any) -> Result:
    """Scores trackers' predictions under variants of the schema: the mean over the variants, and how much units vary.

    `variants` is a mapping of names (v1, v2, …) to predictions, or a list of `NAME=PATH`; `orig` stands for predictions
    under the original schema. For several systems, it is a mapping of their names to such mappings, or a list of
    `SYSTEM:NAME=PATH`. The options are those of `SgdxSettings`. `Result.findings` has the units that vary.

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
    """Gold, the predictions of each system under each wording of the schema, and the schema."""

    gold: DialogueSource
    systems: dict[str, dict[str, DialogueSource]]  # by system, then by wording
    schema: SchemaSource
    seen: frozenset[str] | None  # services of the training schema


def read_sgdx(gold: Gold, variants: Variants, settings: SgdxSettings) -> SgdxCorpus:
    """The corpus of a sensitivity run, from files or from dialogues in memory; then the schema must be given."""
    systems = {
        system: {
            label: DialogueSource(path_of(side)) if is_path(side) else DialogueSource(dialogues=side, name=label)
            for label, side in mine.items()
        }
        for system, mine in settings.parse_sets(variants).items()
    }
    if all(len(mine.keys() - {ORIGINAL}) < 2 for mine in systems.values()):
        raise UserError("sensitivity takes two variants or more", hint="for example v1=PRED v2=PRED")
    check_same_sets(systems)
    golds = DialogueSource(path_of(gold)) if is_path(gold) else DialogueSource(dialogues=gold, name="gold")
    check_sides(golds.path, [source.path for mine in systems.values() for source in mine.values()])
    if settings.schema is None and not golds.path:
        raise UserError("dialogues in memory come without a schema", hint="give the schema")
    schema = load(golds.path if settings.schema is None else path_of(settings.schema))
    train = settings.train_schema
    return SgdxCorpus(golds, systems, schema, None if train is None else frozenset(readers.schema(path_of(train))))


def score_sgdx(corpus: SgdxCorpus, settings: SgdxSettings) -> Result:
    """The result of systems' predictions under several wordings of the schema."""
    metrics = measures.select_metrics(settings.metrics)
    by = parse_groups(settings.by, ("seen", "service", "domain"), train_schema=settings.train_schema)
    header = Header(seen=None if corpus.seen is None else tuple(sorted(corpus.seen)))
    systems, explored = _score_variants(corpus, settings)
    common = {
        system: _common(metrics[0], {label: one.frames for label, one in mine.items()})
        for system, mine in systems.items()
    }
    grouping = Grouping(by, corpus.seen, corpus.schema.schema)
    label_of = partial(set_label, systems=list(systems))
    return settings.build(
        TASK.name,
        (
            SystemCells(
                system,
                (cell for metric in metrics for cell in _cells(metric, mine, grouping, settings.ss)),
                next(iter(mine.values())).frames.dialogues,
            )
            for system, mine in systems.items()
        ),
        counts={
            label_of(system, label): {**one.counts, "unpaired": common[system].unpaired[label]}
            for system, mine in systems.items()
            for label, one in mine.items()
        },
        notes=[note for system, one in common.items() for note in _notes(one, system, list(systems))],
        findings=[unit for system, one in common.items() for unit in _varying(one, system)],
        arguments={
            "gold": corpus.gold.label,
            "variants": [
                f"{label_of(system, label)}={source.label}"
                for system, mine in corpus.systems.items()
                for label, source in mine.items()
            ],
        },
        explorer=(lambda: Archive(header, views(explored))) if settings.explorer else None,
    )


def _score_variants(
    corpus: SgdxCorpus, settings: SgdxSettings
) -> tuple[dict[str, dict[str, TrackedSystem]], list[ScoredDialogues]]:
    """The predictions under the original names, scored, by system and variant, and the dialogues, if kept.

    Gold is read once.
    """
    profile = find_profile(settings.profile or "sgd").with_rules(**settings.rules)
    schema = corpus.schema.schema
    sources = {(system, label): source for system, mine in corpus.systems.items() for label, source in mine.items()}
    renamings = {}
    if settings.schemas is not None:
        reworded = [label for label in next(iter(corpus.systems.values())) if label != ORIGINAL]
        variants = load_published(corpus.schema, path_of(settings.schemas), reworded)
        renamings = {variant.name: variant.renaming.inverse() for variant in variants}

    def make() -> list[PairConsumer]:
        scorer = Scorer(profile, schema)
        return [scorer, DialogueRecorder(profile, schema, scorer)] if settings.explorer else [scorer]

    predictions = [
        Predictions(source, make, partial(rename_dialogue, renaming=renamings[label]) if label in renamings else None)
        for (_, label), source in sources.items()
    ]
    consumed = feed(corpus.gold, predictions, workers=settings.workers)
    systems: dict[str, dict[str, TrackedSystem]] = {}
    for (system, label), (scorer, *_) in zip(sources, consumed, strict=True):
        systems.setdefault(system, {})[label] = TrackedSystem.from_scorer(system, scorer)
    return systems, [
        ScoredDialogues(dialogues, systems[system][label].frames, system, label)
        for (system, label), (_, *recorders) in zip(sources, consumed, strict=True)
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
            none = why or "the original's score is 0"
            yield Cell(derived.drop, change, rules, group, none, n=n, relative=True, in_rows=False)


def _varying(common: _Common, system: str) -> list[VaryingUnit]:
    """The units with scores that differ between variants, largest variation first."""
    table, scored = values(list(common.variants.values()))
    spread = np.where(scored, variation(table), 0.0)
    at = np.flatnonzero(spread > 0)
    keys = next(iter(common.variants.values())).units.take(at).keys()
    units = [
        VaryingUnit(dialogue, turn, service or None, dict(zip(common.variants, each, strict=True)), size, system)
        for (dialogue, turn, service), each, size in zip(keys, table.T[at].tolist(), spread[at].tolist(), strict=True)
    ]
    return sorted(units, key=lambda unit: (-unit.variation, unit.dialogue, unit.turn))


def _notes(common: _Common, system: str, systems: Sequence[str]) -> list[Note]:
    wrong = all_wrong(list(common.variants.values()))
    left_out = ((set_label(system, label, systems), count) for label, count in common.unpaired.items() if count)
    whole = f"{wrong.num.sum():.0f} of {wrong.den.sum():.0f} units are wrong under every variant"
    return [
        Note(whole, system if len(systems) > 1 else ""),
        *(Note(f"{count} units are left out: not all variants have them", label) for label, count in left_out),
    ]
