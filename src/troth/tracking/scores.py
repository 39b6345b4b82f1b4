"""Sums: from one system's frames to scores for any group, with intervals and signatures."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth import stats
from troth.core import normalize
from troth.core.errors import UserError, near
from troth.core.records import Schema
from troth.core.score import Score
from troth.core.version import __version__
from troth.tracking import metrics as aggregate
from troth.tracking.frames import Column, Counts, Scorer, SlotColumn
from troth.tracking.metrics import Frames, Mask, Parts

if TYPE_CHECKING:
    import polars as pl


class Found:
    """Scores to be looked up; of several systems the first one's, unless another is named."""

    scores: list[Score]

    def score(self, metric: str, group: str = "all", system: str | None = None) -> Score:
        wanted = system or (self.scores[0].system if self.scores else "")
        for score in self.scores:
            if (score.metric, score.group, score.system) == (metric, group, wanted):
                return score
        known = sorted({s.metric for s in self.scores})
        raise UserError(f"no score '{metric}' for group '{group}' of '{wanted}'", hint=near(metric, known))

    def __getitem__(self, metric: str) -> Score:
        return self.score(metric)

    def frame(self) -> pl.DataFrame:
        """The scores as a polars frame, one row a score."""
        import polars as pl

        fields = Score.__struct_fields__
        kinds = dict.fromkeys(("value", "low", "high"), pl.Float64) | {"n": pl.Int64}
        columns = {field: [getattr(score, field) for score in self.scores] for field in fields}
        return pl.DataFrame(columns, schema={field: kinds.get(field, pl.String) for field in fields})


@dataclass(frozen=True)
class System:
    """One system's predictions scored under one profile, before any summing."""

    name: str
    counts: Counts
    dialogues: list[str]
    services: list[str]
    slots: list[str]
    frames: Frames
    slot_table: NDArray[np.float64]


def system(label: str, scorer: Scorer, schema: Schema | None) -> System:
    """What a scorer has gathered, under a system's name."""
    slots: int | None = None
    if scorer.gold_services and scorer.gold_services <= normalize.MULTIWOZ_DOMAINS:
        slots = normalize.MULTIWOZ_SLOTS  # also where MultiWOZ 2.2's schema lists slots that nobody tracks
    elif schema:
        slots = sum(len(service.slots) for service in schema.values())
    frames = Frames(scorer.table(), scorer.profile, slots)
    return System(
        label, scorer.counts(), scorer.dialogues, list(scorer.services), list(scorer.slots), frames, scorer.slot_table()
    )


def scores(
    system: System,
    names: Sequence[str],
    by: Sequence[str],
    seen: frozenset[str] | None,
    schema: Schema | None,
    *,
    resamples: int,
    seed: int,
) -> Iterator[Score]:
    """Every metric for every group, with intervals from one resampling of the dialogues."""
    labels: list[tuple[str, str]] = []

    def cells() -> Iterator[Parts]:
        """One at a time: all of them together would take more memory than the dialogues themselves."""
        for name, group, parts in _cells(system, names, by, seen):
            labels.append((name, group))
            yield parts

    trained = f"|train:{fingerprint(seen)}" if seen is not None else ""
    found = ratios(cells(), system.dialogues, resamples=resamples, seed=seed)
    for (name, group), ratio in zip(labels, found, strict=True):
        recipe = signature(name, system.frames, ratio.n, group + (trained if group in ("seen", "unseen") else ""))
        reason = _reason(name, system, schema) if ratio.value is None else None
        if group == "all" or ratio.n:
            yield Score(system.name, name, group, ratio.value, ratio.low, ratio.high, ratio.n, recipe, reason)


def _cells(
    system: System, names: Sequence[str], by: Sequence[str], seen: frozenset[str] | None
) -> Iterator[tuple[str, str, Parts]]:
    """Every metric of every group as parts of a ratio."""
    for group, frames in groups(system, by, seen):
        for name in names:
            yield name, group, aggregate.metric(name)(frames)
    if "turn" in by:
        # Cut after the metric is made: FGA looks back at turns that are not in the group.
        whole = [(name, aggregate.metric(name)(system.frames)) for name in names]
        for position in np.unique(system.frames.column(Column.TURN).astype(np.int64)).tolist():
            yield from ((name, f"turn:{position}", parts.take(parts.turn == position)) for name, parts in whole)
    if "slot" in by:
        yield from _slot_cells(system, names)


class Ratio(NamedTuple):
    value: float | None  # None: nothing to divide by
    low: float | None
    high: float | None
    n: int  # sum of the denominators


def ratios(cells: Iterable[Parts], dialogues: Sequence[str], *, resamples: int, seed: int) -> list[Ratio]:
    """Each cell's ratio of sums, with its interval from one resampling of the dialogues for all of them."""
    num, den = by_dialogue(cells, dialogues)
    low, high = stats.interval(stats.bootstrap(num, den, resamples=resamples, seed=seed))
    made = []
    for index in range(num.shape[1]):
        # Exact sums: shards, merged or reordered, give the same bits as the whole.
        top, bottom = math.fsum(num[:, index].tolist()), math.fsum(den[:, index].tolist())
        bounds = [None if math.isnan(bound[index]) else float(bound[index]) for bound in (low, high)]
        made.append(Ratio(top / bottom if bottom else None, bounds[0], bounds[1], round(bottom)))
    return made


def by_dialogue(cells: Iterable[Parts], dialogues: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numerators and denominators summed per dialogue, a column a cell.

    Dialogues are sorted by id, so that their order in the files moves no interval.
    """
    rank = np.empty(len(dialogues), dtype=np.int64)
    rank[sorted(range(len(dialogues)), key=dialogues.__getitem__)] = np.arange(len(dialogues))
    columns = [
        [np.bincount(rank[cell.dialogue], weights=side, minlength=len(rank)) for side in (cell.num, cell.den)]
        for cell in cells
    ]
    num, den = (np.stack([column[side] for column in columns], axis=1).astype(np.float64) for side in (0, 1))
    return num, den


def groups(system: System, by: Sequence[str], seen: frozenset[str] | None) -> Iterator[tuple[str, Frames]]:
    """All frames, and those of each group that is asked for."""
    frames = system.frames
    yield "all", frames
    service = frames.column(Column.SERVICE).astype(np.int64)
    names = [*system.services, ""]  # the last one, at -1, is for units that have no service
    if seen is not None:
        known = np.array([name in seen for name in names])[service]
        yield "seen", _part(frames, known & (service >= 0))
        yield "unseen", _part(frames, ~known & (service >= 0))
    if "service" in by:
        for code, name in sorted(enumerate(system.services), key=lambda item: item[1]):
            yield f"service:{name}", _part(frames, service == code)
    if "domain" in by:
        domains = np.array([name.rpartition("_")[0] if name.rpartition("_")[2].isdigit() else name for name in names])
        for domain in sorted(set(domains[:-1])):
            yield f"domain:{domain}", _part(frames, (domains == domain)[service] & (service >= 0))


def _part(frames: Frames, mask: Mask) -> Frames:
    """Some services' frames, with an ontology of these services alone."""
    part = frames.take(mask)
    if frames.profile.average == "frame":
        return part
    sizes = dict(zip(*(part.column(column).tolist() for column in (Column.SERVICE, Column.SIZE)), strict=True))
    return replace(part, slots=int(sum(sizes.values())) or None)


def _slot_cells(system: System, names: Sequence[str]) -> Iterator[tuple[str, str, Parts]]:
    """JGA and AGA of one slot alone: over the frames of its service, and over those in which gold has it."""
    table, frames = system.slot_table, system.frames
    slot, score = table[:, SlotColumn.SLOT], table[:, SlotColumn.SCORE]
    for code, name in sorted(enumerate(system.slots), key=lambda item: item[1]):
        rows = slot == code
        keys = [table[rows, c].astype(np.int64) for c in (SlotColumn.DIALOGUE, SlotColumn.TURN, SlotColumn.SERVICE)]
        if "jga" in names:
            service = keys[2][0]
            mine = frames.take(frames.column(Column.SERVICE) == service)
            every = mine.keys(slice(None), turn=False)
            lost = np.bincount(_code(every, keys), weights=1.0 - score[rows], minlength=len(mine.table))
            lost[np.isinf(mine.column(Column.WRONG))] = 1.0  # without a prediction no slot is right, said or not
            yield "jga", f"slot:{name}", Parts(np.subtract(1.0, lost, dtype=np.float64), np.ones(len(lost)), *every)
        if "aga" in names:
            active = (table[rows, SlotColumn.ACTIVE] == 1.0).astype(float)
            yield "aga", f"slot:{name}", Parts(score[rows] * active, active, *keys)


def _code(every: Sequence[NDArray[np.int64]], some: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Where in `every` (sorted by dialogue and turn) each of `some` stands."""
    width = int(every[1].max(initial=0)) + 1
    return np.searchsorted(every[0] * width + every[1], some[0] * width + some[1])


def unit_rows(system: System, metrics: Sequence[str]) -> Iterator[pl.DataFrame]:
    for name in metrics:
        yield part_rows(system.name, name, aggregate.metric(name)(system.frames), system.dialogues, system.services)


def part_rows(
    system: str, metric: str, parts: Parts, dialogues: Sequence[str], services: Sequence[str]
) -> pl.DataFrame:
    """The units that a metric applies to, a row each."""
    import polars as pl

    ids, names = pl.Series(dialogues, dtype=pl.String), pl.Series([*services, None], dtype=pl.String)
    applies = parts.den > 0
    return pl.DataFrame(
        {
            "system": pl.repeat(system, int(applies.sum()), eager=True),
            "metric": pl.repeat(metric, int(applies.sum()), eager=True),
            "dialogue": ids.gather(parts.dialogue[applies]),
            "turn": parts.turn[applies],
            "service": names.gather(parts.service[applies] % len(names)),
            "num": parts.num[applies],
            "den": parts.den[applies],
        }
    )


# -- recipes -----------------------------------------------------------------------------------------------------------


def signature(metric: str, frames: Frames, n: int, group: str) -> str:
    """Everything that moves the number, and nothing else, in the manner of sacreBLEU."""
    profile = frames.profile
    if not metric.startswith(("jga", "fga", "turn_match")):
        # The rest is averaged over frames, whatever the joint accuracies are over; AGA and SA as the profile says.
        profile = replace(profile, unit=profile.average if metric.startswith(("aga", "sa")) else "frame")
    parts = [metric.upper(), profile.signature()]
    if metric.startswith("fga") or metric == "turn_match":
        parts.append(f"fga:{profile.fga if profile.name != 'trippy' else 'code-trippy'}")
    if metric == "sa" and profile.average == "turn":
        parts.append(f"slots:{'given' if profile.match == 'given' else frames.slots}")
    if group != "all":
        parts.append(f"group:{group}")
    return "|".join([*parts, f"n:{n}", f"v:{__version__}"])


def _reason(metric: str, system: System, schema: Schema | None) -> str:
    """Why there is no number."""
    if system.frames.profile.match == "given" and metric != "sa":
        return "the file says right or wrong per slot and holds no values"
    if metric == "sa":
        return "the number of slots is not known; give --schema"
    if metric.startswith(("jga_", "aga_", "tagging")) and schema is None:
        return "which slots are categorical is not known; give --schema"
    kind = {"intent": "intents", "requested": "requested slots", "tagging": "spans"}.get(metric.partition("_")[0])
    return f"gold or predictions carry no {kind}" if kind else "no unit to score"


def fingerprint(names: Iterable[str]) -> str:
    """Short, of a set of names such as the training services."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:8]
