"""Rows of a run summed per dialogue, the input of paired tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from troth.core.parts import Floats, Ints, Mask

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
    def from_rows(cls, rows: pl.DataFrame) -> DialogueSums:
        """From a frame with the columns system, metric, dialogue, num and den; nothing from one that lacks them."""
        import polars as pl

        if not rows.height or not {"system", "metric", "dialogue", "num", "den"} <= set(rows.columns):
            return cls((), {})
        (systems, system), (metrics, metric), (dialogues, dialogue) = (
            _encode_names(rows[name].cast(pl.String)) for name in ("system", "metric", "dialogue")
        )
        shape = (len(systems), len(metrics), len(dialogues))
        place = (system * shape[1] + metric) * shape[2] + dialogue
        # In the order of the rows, so that the sums are the same to the last bit every time.
        num, den = (
            np.bincount(place, weights=rows[side].cast(pl.Float64).to_numpy(), minlength=math.prod(shape)).reshape(
                shape
            )
            for side in ("num", "den")
        )
        here = {(s, m): Sums(num[i, j], den[i, j]) for i, s in enumerate(systems) for j, m in enumerate(metrics)}
        return cls(tuple(dialogues), {key: sums for key, sums in here.items() if sums.den.any()})

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

    def has_dialogues(self, system: str) -> Mask:
        """Mask of the dialogues in which a system has units."""
        mine = [sums.den > 0 for (name, _), sums in self.by.items() if name == system]
        return np.any(mine, axis=0) if mine else np.zeros(len(self.dialogues), dtype=np.bool_)


def _encode_names(names: pl.Series) -> tuple[list[str], Ints]:
    """The distinct names, sorted, and the index of each row's name among them."""
    import polars as pl

    known = names.unique().sort()
    return known.to_list(), names.cast(pl.Enum(known)).to_physical().to_numpy().astype(np.int64)
