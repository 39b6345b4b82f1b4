"""SGD-X over files: one system's predictions under several wordings of the schema, and how much they waver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from troth import readers, stats
from troth.core.errors import UserError
from troth.core.records import Dialogue, Schema
from troth.core.score import Score
from troth.core.version import __version__
from troth.perturb.schemas.files import load
from troth.perturb.schemas.renaming import Renaming, renamed
from troth.robustness import sensitivity
from troth.tracking import metrics as aggregate
from troth.tracking.frames import Scorer
from troth.tracking.metrics import Frames, Parts
from troth.tracking.pool import Gathers, feed
from troth.tracking.profiles import Profile
from troth.tracking.profiles import profile as find_profile
from troth.tracking.scores import System, by_dialogue, groups, part_rows, ratios, system

if TYPE_CHECKING:
    import polars as pl

    from troth.tracking.dialogues import Keeper

Floats = NDArray[np.float64]


class Wavering(msgspec.Struct, frozen=True):
    """A unit whose score depends on the wording of the schema."""

    dialogue: str
    turn: int
    service: str | None
    values: dict[str, float]  # variant to score
    variation: float


@dataclass(frozen=True)
class Sensitivity:
    scores: list[Score]
    wavering: list[Wavering]  # most first
    systems: dict[str, System]
    cells: dict[str, Parts]  # the scores over everything, as parts of a ratio
    keepers: dict[str, Keeper] = field(default_factory=dict)  # by variant: the dialogues, where they were to be kept
    seen: frozenset[str] | None = None  # the training services

    def rows(self) -> pl.DataFrame:
        """One row a unit and metric, under the names that the scores have: their sums are the scores."""
        import polars as pl

        one = next(iter(self.systems.values()))
        return pl.concat(
            part_rows(one.name, metric, parts, one.dialogues, one.services) for metric, parts in self.cells.items()
        )

    def dialogues(self) -> Iterator[bytes]:
        """The lines of `dialogues.jsonl.gz`: each wording of the schema is a system of its own."""
        from troth.storage.explorer import Header, lines
        from troth.tracking.dialogues import Scored, kept

        found = [
            Scored(self.keepers[label], one, f"{one.name}:{label}")
            for label, one in self.systems.items()
            if label in self.keepers
        ]
        header = Header(seen=None if self.seen is None else tuple(sorted(self.seen)))
        return lines(header, kept(found) if found else ())


def sgdx(
    gold: str,
    variants: Mapping[str, str],
    *,
    original_pred: str | None = None,
    schemas: str | None = None,
    schema: str | None = None,
    name: str = "system",
    profile: str | Profile = "sgd",
    metrics: Sequence[str] = ("jga",),
    train_schema: str | None = None,
    by: Sequence[str] = (),
    rule: sensitivity.SsRule = "zero",
    resamples: int = 1000,
    seed: int = 0,
    workers: int = 1,
    keep: bool = False,
) -> Sensitivity:
    """Score predictions made under variant schemas against gold under the original one.

    `variants` maps a variant's name (v1, …) to predictions. `schemas`: a folder of the variants' schemas, by which
    names are mapped back; without it the predictions must have the original names already. `schema`: gold's, or a file
    of tools (function definitions), where none lies beside gold. `keep`: the dialogues stay at hand for `dialogues`.
    """
    if len(variants) < 2:
        raise UserError("sensitivity takes two variants or more", hint="for example v1=PRED v2=PRED")
    known = _schema(schema) if schema else readers.schema_beside(gold)
    if known is None:
        raise UserError("no schema.json beside it", file=gold, hint="give gold's schema or tools with --schema")
    chosen = find_profile(profile) if isinstance(profile, str) else profile
    scored: dict[str, System] = {}
    keepers: dict[str, Keeper] = {}
    for label, path in {**variants, **({"orig": original_pred} if original_pred else {})}.items():
        back = _mapping_back(known, schemas, label) if schemas and label != "orig" else None
        scorer, *rest = feed(lambda: _gatherers(chosen, known, keep), gold, path, workers=workers, translate=back)
        scored[label] = system(name, cast(Scorer, scorer), known)
        if rest:
            keepers[label] = cast("Keeper", rest[0])
    seen = frozenset(readers.schema(train_schema)) if train_schema else None
    scores = [
        score
        for metric in metrics
        for group, frames in _by_group(scored, by, seen)
        for score in _scores(name, metric, group, frames, scored, rule, resamples=resamples, seed=seed)
    ]
    cells: dict[str, Parts] = {}
    for metric in metrics:
        cells |= _cells(metric, {label: aggregate.metric(metric)(one.frames) for label, one in scored.items()}, rule)
    return Sensitivity(scores, _wavering(scored, metrics[0], rule), scored, cells, keepers, seen)


def _gatherers(profile: Profile, schema: Schema, keep: bool) -> list[Gathers]:
    if not keep:
        return [Scorer(profile, schema)]
    from troth.tracking.dialogues import Keeper

    return [Scorer(profile, schema), Keeper(profile, schema)]


def _mapping_back(schema: Schema, folder: str, variant: str) -> Callable[[Dialogue], Dialogue]:
    """A function from a prediction under a variant's names to one under the original's."""
    found = find_schema(folder, variant, schema)
    back = Renaming.between(schema, found).back()
    return lambda dialogue: renamed(dialogue, back)


def _schema(path: str) -> Schema:
    """A schema, or a file of tools."""
    return load(path).schema


def find_schema(folder: str, variant: str, like: Schema) -> Schema:
    """The variant's schema that fits the original's services, wherever SGD-X's layout puts it."""
    places = [Path(folder) / part / variant for part in ("", "data", "sgd_x/data")]
    names = [f"{inner}{name}" for name in ("schema.json", "tools.json") for inner in ("", "*/")]
    files = [file for place in places for name in names for file in place.glob(name)]
    for file in sorted(files):
        found = _schema(str(file))
        if _aligned(like, found):
            return found
    raise UserError(
        f"no schema of variant '{variant}' fits gold's services",
        file=folder,
        hint="give the variants' folder with --from",
    )


def _aligned(like: Schema, found: Schema) -> bool:
    """As many services, each with as many slots and intents, in the same order."""
    shapes = [[(len(s.slots), len(s.intents)) for s in schema.values()] for schema in (like, found)]
    return shapes[0] == shapes[1]


def _by_group(
    scored: Mapping[str, System], by: Sequence[str], seen: frozenset[str] | None
) -> Iterator[tuple[str, dict[str, Frames]]]:
    """Each group with every variant's frames of it."""
    parts = {label: dict(groups(one, by, seen)) for label, one in scored.items()}
    first = next(iter(parts.values()))
    for group in first:
        yield group, {label: found[group] for label, found in parts.items()}


def _scores(
    name: str,
    metric: str,
    group: str,
    frames: Mapping[str, Frames],
    scored: Mapping[str, System],
    rule: sensitivity.SsRule,
    *,
    resamples: int,
    seed: int,
) -> Iterator[Score]:
    parts = {label: aggregate.metric(metric)(one) for label, one in frames.items()}
    cells = _cells(metric, parts, rule)
    count = len(parts) - ("orig" in parts)
    system = next(iter(scored.values()))
    recipe = system.frames.profile.signature() + f"|variants:{count}" + (f"|group:{group}" if group != "all" else "")
    found = ratios(list(cells.values()), system.dialogues, resamples=resamples, seed=seed)
    mean = average(metric, [label for label in parts if label != "orig"])
    for label, ratio in zip(cells, found, strict=True):
        n = ratio.n // count if label == mean else ratio.n
        convention = f"|ss:{rule}" if label.startswith("ss_") else ""
        signature = f"{label.upper()}|{recipe}{convention}|n:{n}|v:{__version__}"
        reason = None if ratio.value is not None else "no unit to score"
        yield Score(name, label, group, ratio.value, ratio.low, ratio.high, n, signature, reason)
    if "orig" in parts:
        pair = [cells[f"{metric}_orig"], cells[mean]]
        yield _drop(name, metric, group, pair, system, recipe, resamples=resamples, seed=seed)


def average(metric: str, labels: Sequence[str]) -> str:
    """`jga_v1-5` for v1 to v5; other variants are named one by one."""
    whole = [f"v{number}" for number in range(1, len(labels) + 1)]
    return f"{metric}_v1-{len(labels)}" if list(labels) == whole else f"{metric}_{'+'.join(labels)}"


def _cells(metric: str, parts: Mapping[str, Parts], rule: sensitivity.SsRule) -> dict[str, Parts]:
    """Every score of a group as parts of a ratio. The original schema takes no part in the average and in SS."""
    labels = [label for label in parts if label != "orig"]
    scored = np.all([parts[label].den > 0 for label in labels], axis=0)
    at = parts[labels[0]].take(scored)
    values = np.stack([parts[label].num for label in labels])[:, scored]
    units = np.ones(values.shape[1])
    wavering = sensitivity.variation(values, rule)
    return {
        **({f"{metric}_orig": parts["orig"]} if "orig" in parts else {}),
        average(metric, labels): at._replace(num=values.sum(axis=0), den=units * len(labels)),
        f"ss_{metric}": at._replace(num=np.nan_to_num(wavering), den=(~np.isnan(wavering)).astype(np.float64)),
        f"all_wrong_{metric}": at._replace(num=(values.sum(axis=0) == 0).astype(np.float64), den=units),
        **{f"{metric}:{label}": parts[label] for label in labels},
    }


def _drop(
    name: str,
    metric: str,
    group: str,
    pair: Sequence[Parts],
    system: System,
    recipe: str,
    *,
    resamples: int,
    seed: int,
) -> Score:
    """Diff_rel of table 2: how much of the original's score is lost, as a fraction of it."""
    num, den = by_dialogue(pair, system.dialogues)
    value = stats.ratio(num, den)
    drawn = stats.bootstrap(num, den, resamples=resamples, seed=seed)
    signature = f"{metric.upper()}_DROP|{recipe}|n:{int(den[:, 0].sum())}|v:{__version__}"
    n = int(den[:, 0].sum())
    if not value[0] > 0:
        return Score(name, f"{metric}_drop", group, None, None, None, n, signature, "the original's score is 0")
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = stats.interval(np.where(drawn[:, 0] > 0, (drawn[:, 1] - drawn[:, 0]) / drawn[:, 0], np.nan))
    change = float((value[1] - value[0]) / value[0])
    return Score(name, f"{metric}_drop", group, change, float(low[0]), float(high[0]), n, signature)


def _wavering(scored: Mapping[str, System], metric: str, rule: sensitivity.SsRule) -> list[Wavering]:
    """Every unit that wavers, most first."""
    labels = [label for label in scored if label != "orig"]
    parts = [aggregate.metric(metric)(scored[label].frames) for label in labels]
    variation = sensitivity.variation(np.stack([one.num for one in parts]), rule)
    one = scored[labels[0]]
    services = [*one.services, None]
    found = [
        Wavering(
            one.dialogues[parts[0].dialogue[i]], int(parts[0].turn[i]), services[parts[0].service[i]],
            {label: float(part.num[i]) for label, part in zip(labels, parts, strict=True)}, float(variation[i]),
        )
        for i in np.flatnonzero(variation > 0)
    ]  # fmt: skip
    return sorted(found, key=lambda unit: (-unit.variation, unit.dialogue, unit.turn))
