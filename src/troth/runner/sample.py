"""What trials share: a corpus with its schema, turns drawn by lot, and shares with intervals over dialogues."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from troth import readers
from troth.errors import UserError
from troth.metrics.aggregate import Parts
from troth.records import Dialogue, Pair, Schema
from troth.runner.scores import Ratio, ratios
from troth.scorers import sgsacc
from troth.scorers.sgsacc import Unit

Counted = tuple[str, float, float]  # dialogue, numerator, denominator


def corpus(gold: str, *, schema: str | None = None, format: str | None = None) -> tuple[list[Dialogue], Schema]:
    """Gold's dialogues and its services; acts that the schema does not know are an error."""
    schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
    if schemas is None:
        raise UserError("no schema.json beside it", file=gold, hint="name it with --schema FILE")
    dialogues: list[Dialogue] = []
    for file, items in readers.batches(gold, format):
        for item in items:
            dialogue = item.gold if isinstance(item, Pair) else item
            try:
                for _ in sgsacc.units(dialogue, schemas):
                    pass
            except UserError as error:
                raise error.at(file=file) from error
            dialogues.append(dialogue)
    return dialogues, schemas


def by_lot(units: Iterable[Unit], seed: int) -> list[Unit]:
    """In an order that the seed and the turns' ids decide, and not their place among the files."""
    return sorted(units, key=lambda unit: hashlib.sha256(f"{seed}\n{unit.dialogue}\n{unit.turn}".encode()).digest())


def shares(cells: Sequence[Sequence[Counted]], *, resamples: int = 1000, seed: int = 0) -> list[Ratio]:
    """Each cell's ratio of sums, with its interval; one resampling of all their dialogues for all of them."""
    dialogues = sorted({name for cell in cells for name, _, _ in cell})
    index = {name: number for number, name in enumerate(dialogues)}
    return ratios([_parts(cell, index) for cell in cells], dialogues, resamples=resamples, seed=seed)


def _parts(cell: Sequence[Counted], index: dict[str, int]) -> Parts:
    dialogue = np.array([index[name] for name, _, _ in cell], dtype=np.int64)
    num, den = (np.array([unit[side] for unit in cell], dtype=np.float64) for side in (1, 2))
    none = np.full(len(cell), -1, dtype=np.int64)
    return Parts(num, den, dialogue, none, none)
