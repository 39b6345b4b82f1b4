"""Joins runs of shards that were scored apart into the run of the whole.

Every score that is a ratio of sums is summed again from the rows of all shards, to the same bits as a run over
everything at once. Metrics that are not such ratios (BLEU, AUROC) and scores by group cannot be computed from rows:
they are left out, and named.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from troth.core.digest import joined_digest
from troth.core.errors import UserError, suggest_name
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.names import Path, path_of
from troth.core.options import keywords, resamples_option, resolve, run_folder, seed_option
from troth.core.parts import NONE, Parts, Units
from troth.core.result import Note, Result, UnscoredCount
from troth.core.score import Score
from troth.core.sums import DialogueSums
from troth.core.version import __version__
from troth.stats.estimates import Cell, Resampling, score_cells
from troth.storage.explorer import Archive
from troth.storage.runs import check_out
from troth.storage.runs import open as open_run

if TYPE_CHECKING:
    import polars as pl

SAME = 1e-9  # how far a score may be from the ratio of its rows' sums


@dataclass(frozen=True)
class MergeSettings:
    resamples: int = resamples_option()
    seed: int = seed_option()
    out: Path | None = run_folder()


@dataclass(frozen=True)
class _Shard:
    """A run, and the folder that errors name."""

    path: str
    result: Result

    @cached_property
    def scores(self) -> dict[tuple[str, str], Score]:
        return {(score.system, score.metric): score for score in self.result.scores if score.group == ALL}

    @cached_property
    def rows(self) -> pl.DataFrame:
        return self.result.rows()

    @cached_property
    def sums(self) -> DialogueSums:
        return DialogueSums.from_rows(self.rows)

    def is_ratio(self, key: tuple[str, str]) -> bool:
        """Whether a score is the ratio of the sums of its rows, or has no value and no rows."""
        value = self.scores[key].value
        if key not in self.sums.by:
            return value is None
        num, den = (math.fsum(side.tolist()) for side in self.sums.by[key])
        return value is not None and bool(den) and abs(value - num / den) <= SAME * max(1.0, abs(value))


@keywords(MergeSettings)
def merge(*runs: str | os.PathLike[str] | Result, **options: Any) -> Result:
    """Joins the results of shards: other dialogues, the same systems, scored by the same rules.

    `runs` are run folders or results. A dialogue that two shards have, and scores by different recipes or schemas, are
    errors. `resamples`, `seed`: of the intervals. `out`: a folder to save the run to.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> whole = troth.dst(demo.path("gold"), demo.path("hasty"), metrics="jga")
    >>> merge(whole)["jga"].value == whole["jga"].value
    True
    """
    settings = resolve(MergeSettings, options)
    if not runs:
        raise UserError("no run is named", hint="troth merge shard1 shard2 --out whole")
    out = None if settings.out is None else check_out(settings.out)
    shards = [
        _Shard(f"result {number}", shard) if isinstance(shard, Result) else _Shard(path_of(shard), open_run(shard))
        for number, shard in enumerate(runs, 1)
    ]
    _check(shards)
    first = shards[0].result
    keys = [key for key in shards[0].scores if all(shard.is_ratio(key) for shard in shards)]
    result = Result(
        first.task,
        list(_scores(shards, keys, Resampling(settings.resamples, settings.seed, first.cluster))),
        [metric for metric in first.metrics if metric.name in {name for _, name in keys}],
        {system: _counts(shards, system) for system in first.systems},
        [*map(Note, _notes(shards, keys)), *dict.fromkeys(note for shard in shards for note in shard.result.notes)],
        [finding for shard in shards for finding in shard.result.findings],
        {"merged": [shard.path for shard in shards], "resamples": settings.resamples, "seed": settings.seed},
        inputs={system: _inputs(shards, system) for system in first.systems},
        cluster=first.cluster,
        unscored=_unscored(shards),
        make_rows=lambda: _rows(shards, keys),
        make_explorer=(lambda: _archive(shards)) if all(shard.result.make_explorer for shard in shards) else None,
    )
    if out is not None:
        result.save(out)
    return result


def _check(shards: Sequence[_Shard]) -> None:
    first = shards[0]
    for shard in shards[1:]:
        if shard.result.task != first.result.task:
            what = f"is a run of troth {shard.result.task}, and {first.path} of troth {first.result.task}"
            raise UserError(what, file=shard.path, hint="merge runs of one command")
        if set(shard.result.systems) != set(first.result.systems):
            odd = sorted(set(shard.result.systems) ^ set(first.result.systems))[0]
            known = {*shard.result.systems, *first.result.systems} - {odd}
            hint = suggest_name(odd, known) or "name systems: NAME=FILE"
            raise UserError(f"system '{odd}' is not in all runs", file=shard.path, hint=hint)
        _check_rules(first, shard)
    _check_dialogues(shards)


def _check_rules(first: _Shard, one: _Shard) -> None:
    for key, score in one.scores.items():
        if key not in first.scores:
            what = f"has '{key[1]}', which {first.path} has not"
            raise UserError(what, file=one.path, hint="score all shards with the same metrics")
        if score.identity != first.scores[key].identity:
            what = f"'{key[1]}' is scored as {score.identity}, and in {first.path} as {first.scores[key].identity}"
            raise UserError(what, file=one.path, hint="score all shards by the same rules")
    if (lacking := next((key for key in first.scores if key not in one.scores), None)) is not None:
        what = f"has no '{lacking[1]}', which {first.path} has"
        raise UserError(what, file=one.path, hint="score all shards with the same metrics")
    for system in first.result.systems:
        schemas = [shard.result.inputs.get(system, {}).get("schema") for shard in (first, one)]
        if schemas[0] != schemas[1]:
            raise UserError(f"another schema than in {first.path}", file=one.path, hint="score all with one schema")


def _check_dialogues(shards: Sequence[_Shard]) -> None:
    """No unit may count twice. Responses to one document may be in several shards; a response may not."""
    seen: dict[tuple[str, ...], str] = {}
    for shard in shards:
        if not shard.rows.height:
            continue
        by_id = shard.rows["id"].null_count() < shard.rows.height
        columns = ["dialogue", "id"] if by_id else ["dialogue"]
        for unit in shard.rows.select(columns).unique().sort(columns).iter_rows():
            if unit in seen:
                what = f"{'response' if len(unit) > 1 else 'dialogue'} {unit[-1]} is in {seen[unit]}, too"
                raise UserError(what, file=shard.path, hint="no shard may overlap another")
            seen[unit] = shard.path


def _scores(shards: Sequence[_Shard], keys: Sequence[tuple[str, str]], how: Resampling) -> Iterator[Score]:
    whole = DialogueSums.from_rows(_rows(shards, keys))
    codes = np.arange(len(whole.dialogues), dtype=np.int64)
    units = Units(whole.dialogues, codes, np.full_like(codes, NONE), (), np.full_like(codes, NONE))
    nothing = np.zeros(len(codes))
    known = {metric.name: metric for metric in shards[0].result.metrics}
    for system in shards[0].result.systems:
        system_keys = [key for key in keys if key[0] == system]
        cells = []
        for key in system_keys:
            num, den = whole.by.get(key, (nothing, nothing))
            reason = shards[0].scores[key].reason or ""
            n = sum(shard.scores[key].n for shard in shards)
            cells.append(Cell(known.get(key[1]) or Metric(*key[1:] * 2), Parts(num, den, units), reason=reason, n=n))
        for key, score in zip(system_keys, score_cells(system, cells, whole.dialogues, how), strict=True):
            yield msgspec.structs.replace(score, recipe=shards[0].scores[key].recipe)


def _rows(shards: Sequence[_Shard], keys: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """Joins the rows of all shards, for the metrics that can be merged. The order of the shards does not matter."""
    import polars as pl

    if not (frames := [shard.rows for shard in shards if shard.rows.height]):
        return shards[0].rows
    rows = pl.concat(frames, how="diagonal")
    known = pl.DataFrame({"system": [key[0] for key in keys], "metric": [key[1] for key in keys]})
    known = known.with_row_index("place")
    order = ["dialogue", "turn", "id", "service"]
    joined = rows.join(known, on=["system", "metric"], how="inner")
    return joined.sort(["place", *order], maintain_order=True).drop("place")


def _counts(shards: Sequence[_Shard], system: str) -> dict[str, int]:
    """Sums; a document that several shards have responses to is one document."""
    total: dict[str, int] = {}
    for shard in shards:
        for name, count in shard.result.counts.get(system, {}).items():
            total[name] = total.get(name, 0) + count
    if "documents" in total:
        shared = sum(len(shard.sums.dialogues) for shard in shards)
        total["documents"] -= shared - len({name for shard in shards for name in shard.sums.dialogues})
    return total


def _unscored(shards: Sequence[_Shard]) -> list[UnscoredCount]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for count in (count for shard in shards for count in shard.result.unscored):
        counts[count.system, count.metric, count.reason] += count.count
    return [UnscoredCount(*key, count) for key, count in counts.items()]


def _inputs(shards: Sequence[_Shard], system: str) -> dict[str, str]:
    """The digest of all gold, as a run over the whole would have it, and that of the schema."""
    every = [one.result.inputs.get(system, {}) for one in shards]
    gold = [one["gold"] for one in every if "gold" in one]
    merged = dict(every[0])
    if len(gold) == len(shards):
        return merged | {"gold": joined_digest(gold)}
    merged.pop("gold", None)
    return merged


def _notes(shards: Sequence[_Shard], keys: Sequence[tuple[str, str]]) -> Iterator[str]:
    lost = dict.fromkeys(metric for system, metric in shards[0].scores if (system, metric) not in set(keys))
    if lost:
        yield f"not merged, since they are not ratios of sums over rows: {', '.join(lost)}"
    if any(score.group != ALL for shard in shards for score in shard.result.scores):
        yield "scores by group are not merged"
    versions: Mapping[str, str] = {shard.path: shard.result.versions.get("troth", __version__) for shard in shards}
    if len(set(versions.values())) > 1:
        yield "WARNING: the shards were scored by different versions of troth: " + ", ".join(
            f"{path} by {version}" for path, version in versions.items()
        )


def _archive(shards: Sequence[_Shard]) -> Archive:
    archives = [archive.result.explorer() for archive in shards]
    return Archive(
        archives[0].header,
        chain.from_iterable(archive.dialogues for archive in archives),
        chain.from_iterable(archive.responses for archive in archives),
        chain.from_iterable(archive.trajectories for archive in archives),
    )
