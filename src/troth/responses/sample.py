"""What trials share: a corpus with its schema, turns drawn by lot, and shares with intervals over dialogues.

Some of it is shared by everything that reads acts: dialogues of which none comes twice, and what a schema describes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Dialogue, Pair, Schema
from troth.perturb.schemas.renaming import elements
from troth.responses import sgsacc
from troth.responses.sgsacc import Unit
from troth.tracking.metrics import Parts
from troth.tracking.scores import Ratio, ratios

Counted = tuple[str, float, float]  # dialogue, numerator, denominator


def corpus(gold: str, *, schema: str | None = None, format: str | None = None) -> tuple[list[Dialogue], Schema]:
    """Gold's dialogues and its services; acts that the schema does not know are an error."""
    schemas = readers.schema(schema) if schema else readers.schema_beside(gold)
    if schemas is None:
        raise UserError("no schema.json beside it", file=gold, hint="name it with --schema FILE")
    dialogues: list[Dialogue] = []
    for file, dialogue in distinct(gold, format):
        try:
            for _ in sgsacc.units(dialogue, schemas):
                pass
        except UserError as error:
            raise error.at(file=file) from error
        dialogues.append(dialogue)
    return dialogues, schemas


def distinct(gold: str, format: str | None = None) -> Iterator[tuple[str, Dialogue]]:
    """Gold's dialogues with their files. Turns are known by their dialogue's id, so an id comes once."""
    seen: set[str] = set()
    for file, items in readers.batches(gold, format):
        for item in items:
            dialogue = item.gold if isinstance(item, Pair) else item
            if dialogue.id in seen:
                raise UserError("comes twice", file=file, dialogue=dialogue.id, hint="ids must be unique; remove one")
            seen.add(dialogue.id)
            yield file, dialogue


def descriptions(schema: Schema) -> str:
    """Whether slots and intents are described: `schema` if all are, `part` or `none`. Without, names stand alone."""
    texts = [item.description.strip() for one in schema.values() for item in elements(one)]
    return "schema" if all(texts) else "part" if any(texts) else "none"


def lacking(descriptions: str) -> list[str]:
    """What to tell the user of it."""
    lacks = {"none": "has no descriptions", "part": "lacks some descriptions"}.get(descriptions)
    return [f"the schema {lacks}: names stand in their place"] if lacks else []


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
