"""SGD-X over files: one system's predictions under several wordings of the schema, and how much they vary.

Units are joined by dialogue, turn and service. Every score is over the units that all variants have: those that one
lacks (under `missing:skip`) are taken out of all, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Unpack

import msgspec
import numpy as np

from troth import readers
from troth.core.errors import UserError
from troth.core.groups import chosen as chosen_groups
from troth.core.groups import fingerprint
from troth.core.metric import Metric
from troth.core.names import Path, path_of
from troth.core.options import one_of, resolve
from troth.core.parts import Parts, join
from troth.perturb.schemas.files import SchemaSource, load, load_published
from troth.perturb.schemas.renaming import rename_dialogue
from troth.robustness.metrics import of_variants
from troth.robustness.sensitivity import all_wrong, values, variation
from troth.robustness.settings import RobustnessOptions, RobustnessSettings, by_name
from troth.stats.estimates import Cell
from troth.storage.explorer import Archive, Header
from troth.storage.result import Result
from troth.tracking import metrics as measures
from troth.tracking.cells import Grouping, TrackedSystem, groups, reason, recipe
from troth.tracking.dialogues import DialogueGatherer, ScoredDialogues, views
from troth.tracking.feed import Corpus, Gatherer, Predictions, feed
from troth.tracking.frames import Frames
from troth.tracking.profiles import profile as find_profile
from troth.tracking.score import check_sides
from troth.tracking.scorer import Scorer

ORIGINAL = "orig"  # the name of predictions under the original schema


class VaryingUnit(msgspec.Struct, frozen=True):
    """A unit whose score depends on the wording of the schema."""

    dialogue: str
    turn: int
    service: str | None
    values: dict[str, float]  # variant to score
    variation: float


class SgdxOptions(RobustnessOptions, total=False):
    """Keywords of `sgdx`; what they mean and their defaults: `SgdxSettings`."""

    schemas: Path | None
    train_schema: Path | None
    metrics: str | Iterable[str]
    by: str | Iterable[str]
    ss: str


@dataclass(frozen=True)
class SgdxSettings(RobustnessSettings):
    """`profile` is "sgd" where none is named; `schema` may be a file of tools (function definitions)."""

    schemas: Path | None = None  # folder of the variants' schemas; None: predictions have the original names
    train_schema: Path | None = None  # tells seen services from unseen ones
    metrics: str | Iterable[str] = "jga"  # any tracking metrics with a value per unit
    by: str | Iterable[str] = ()  # groups: service, domain
    ss: str = "zero"  # how SS counts units that are wrong under every variant: "zero", or not at all ("skip")


class _Common(NamedTuple):
    """A metric under each variant over the units that all of them have, and the original schema's over the same."""

    variants: dict[str, Parts]
    original: Parts | None
    unpaired: dict[str, int]  # units of each that are left out


def sgdx(gold: Path, variants: Mapping[str, Path] | Iterable[str], **options: Unpack[SgdxOptions]) -> Result:
    """Scores a tracker's predictions under variants of the schema: the mean over the variants, and how much units vary.

    `variants` is a mapping of names (v1, v2, …) to predictions, or a list of `NAME=PATH`; `orig` stands for predictions
    under the original schema. The options are those of `SgdxSettings`. `Result.details` has the units that vary.

    >>> from troth import demo
    >>> variants = {"v1": demo.path("hasty"), "v2": demo.path("sturdy")}
    >>> result = sgdx(demo.path("gold"), variants, by="service", resamples=50)
    >>> f"{result['jga_v1-2'].value:.3f} {result['ss_jga'].value:.3f}"
    '0.578 0.689'
    """
    settings = resolve(SgdxSettings, options)
    paths = {label: path_of(path) for label, path in by_name(variants).items()}
    if len(paths.keys() - {ORIGINAL}) < 2:
        raise UserError("sensitivity takes two variants or more", hint="for example v1=PRED v2=PRED")
    one_of("ss", settings.ss, ("zero", "skip"))
    check_sides(path_of(gold), list(paths.values()))
    metrics = measures.chosen(settings.metrics)
    train = settings.train_schema
    by = chosen_groups(settings.by, ("seen", "service", "domain"), train_schema=train)
    seen = None if train is None else frozenset(readers.schema(path_of(train)))
    header = Header(seen=None if seen is None else tuple(sorted(seen)))
    source = load(path_of(gold if settings.schema is None else settings.schema))
    systems, explored = _scored(path_of(gold), paths, settings, source)
    first = _common(metrics[0], {label: system.frames for label, system in systems.items()})
    grouping = Grouping(by, seen, source.schema)
    cells = [cell for metric in metrics for cell in _cells(metric, systems, grouping, settings.ss)]
    return settings.finished(
        "robust sgdx",
        cells,
        next(iter(systems.values())).frames.dialogues,
        counts={label: {**one.counts, "unpaired": first.unpaired[label]} for label, one in systems.items()},
        notes=_notes(first),
        details=_varying(first),
        arguments={"gold": path_of(gold), "variants": [f"{label}={path}" for label, path in paths.items()]},
        make_explorer=(lambda: Archive(header, views(explored))) if settings.explorer else None,
    )


def _scored(
    gold: str, paths: Mapping[str, str], settings: SgdxSettings, source: SchemaSource
) -> tuple[dict[str, TrackedSystem], list[ScoredDialogues]]:
    """Each variant's predictions under the original names, scored, and the dialogues, if kept. Gold is read once."""
    profile = find_profile(settings.profile or "sgd").with_rules(**settings.rules)
    renamings = {}
    if settings.schemas is not None:
        labels = [label for label in paths if label != ORIGINAL]
        renamings = {one.name: one.renaming.back() for one in load_published(source, path_of(settings.schemas), labels)}

    def make() -> list[Gatherer]:
        scorer = Scorer(profile, source.schema)
        return [scorer, DialogueGatherer(profile, source.schema)] if settings.explorer else [scorer]

    predictions = [
        Predictions(path, make, partial(rename_dialogue, renaming=renamings[label]) if label in renamings else None)
        for label, path in paths.items()
    ]
    gathered = feed(Corpus(gold), predictions, workers=settings.workers)
    systems = {label: TrackedSystem.of(settings.name, mine[0]) for label, mine in zip(paths, gathered, strict=True)}
    return systems, [
        ScoredDialogues(dialogues, systems[label].frames, f"{settings.name}:{label}")
        for label, (_, *gatherers) in zip(paths, gathered, strict=True)
        for dialogues in gatherers
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
    derived = of_variants(metric, labels, rule)
    by_group: dict[str, dict[str, Frames]] = {}
    for label, system in systems.items():
        for group, frames in groups(system.frames, grouping):
            by_group.setdefault(group, {})[label] = frames
    for group, mine in ((group, mine) for group, mine in by_group.items() if mine.keys() >= set(labels)):
        variants, original, _ = _common(metric, mine)
        frames, sets = mine[labels[0]], list(variants.values())
        train = {"train": fingerprint(grouping.seen or ())} if group in ("seen", "unseen") else {}
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
            yield Cell(derived.drop, change, rules, group, why or "the original's score is 0", n=n)


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


def _notes(common: _Common) -> list[str]:
    wrong = all_wrong(list(common.variants.values()))
    lines = [f"{wrong.num.sum():.0f} of {wrong.den.sum():.0f} units are wrong under every variant"]
    left_out = ((label, count) for label, count in common.unpaired.items() if count)
    return lines + [f"{label}: {n} units are left out: not all variants have them" for label, n in left_out]
