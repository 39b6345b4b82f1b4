"""Rows of a run summed per dialogue: what paired tests work on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from troth.core.parts import Floats, Mask

if TYPE_CHECKING:
    import polars as pl


class Sums(NamedTuple):
    """Numerators and denominators of a metric, one of each per dialogue."""

    num: Floats
    den: Floats


@dataclass(frozen=True)
class DialogueSums:
    """The sums of every system and metric over the same list of dialogues; 0 where a dialogue has no unit."""

    dialogues: tuple[str, ...]  # sorted
    by: Mapping[tuple[str, str], Sums]  # by system and metric

    @classmethod
    def of(cls, rows: pl.DataFrame) -> DialogueSums:
        """From a frame with the columns system, metric, dialogue, num and den; nothing from one that lacks them."""
        import polars as pl

        if not rows.height or not {"system", "metric", "dialogue", "num", "den"} <= set(rows.columns):
            return cls((), {})
        ids = rows["dialogue"].unique().sort()
        code = pl.col("dialogue").replace_strict(ids, pl.Series(range(len(ids)), dtype=pl.Int64))
        sides = pl.col("num", "den").cast(pl.Float64)
        parted = rows.select("system", "metric", code, sides).partition_by("system", "metric", as_dict=True)

        def summed(mine: pl.DataFrame, side: str) -> Floats:
            weights, codes = mine[side].to_numpy(), mine["dialogue"].to_numpy()
            return np.bincount(codes, weights=weights, minlength=len(ids)).astype(np.float64)

        by = {
            (str(key[0]), str(key[1])): Sums(summed(mine, "num"), summed(mine, "den")) for key, mine in parted.items()
        }
        return cls(tuple(ids.to_list()), by)

    @classmethod
    def merged(cls, runs: Iterable[tuple[DialogueSums, Mapping[str, str]]]) -> DialogueSums:
        """The sums of several runs over all their dialogues, with each run's systems under the names given for them."""
        every = list(runs)
        dialogues = tuple(sorted({id for sums, _ in every for id in sums.dialogues}))
        place = {id: code for code, id in enumerate(dialogues)}
        by: dict[tuple[str, str], Sums] = {}
        for sums, names in every:
            at = np.array([place[id] for id in sums.dialogues], dtype=np.int64)
            for (system, metric), mine in sums.by.items():
                sides = np.zeros((2, len(dialogues)))
                sides[:, at] = mine
                by[names.get(system, system), metric] = Sums(*sides)
        return cls(dialogues, by)

    def present(self, system: str) -> Mask:
        """Which dialogues a system has anything in."""
        mine = [sums.den > 0 for (name, _), sums in self.by.items() if name == system]
        return np.any(mine, axis=0) if mine else np.zeros(len(self.dialogues), dtype=np.bool_)
