"""Examples as padded arrays, for training and for the exported network alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from troth.systems.span.examples import IGNORED, TurnFeatures, Words
from troth.systems.span.layout import Layout
from troth.systems.span.memory import FLAGS

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Vectors = Callable[[Layout], Floats]  # the vectors of all queries of a service
PADDING, SPECIAL, SYSTEM, USER = range(4)  # segments
SLOT_BY_SLOT = ("status", "user", "system", "offers", "value", "offered", "requested")


class Inputs(NamedTuple):
    """What the network reads: T turns of L tokens; R services in turns, of Q queries each."""

    ids: Ints  # T, L
    segments: Ints  # T, L
    turn: Ints  # R: which turn a row belongs to
    vectors: Floats  # R, Q, width
    kinds: Ints  # R, Q; -1 is padding
    flags: Floats  # R, Q, FLAGS
    sources: Floats  # R, C, width: slots of other services; zero is padding


def inputs(
    examples: Sequence[TurnFeatures], layouts: Sequence[dict[str, Layout]], vectors: Vectors, padding: int
) -> Inputs:
    """The arrays of `examples`; `layouts` has the services of the dialogue of each."""
    rows = [(at, row) for at, example in enumerate(examples) for row in example.rows]
    queries = max(len(row.flags) for _, row in rows)
    most = max(1, *(len(row.sources) for _, row in rows))
    width = vectors(rows[0][1].layout).shape[1]
    made = Inputs(
        *pad_turns([example.words for example in examples], padding),
        np.array([at for at, _ in rows], np.int64),
        np.zeros((len(rows), queries, width), np.float32),
        np.full((len(rows), queries), -1, np.int64),
        np.zeros((len(rows), queries, FLAGS), np.float32),
        np.zeros((len(rows), most, width), np.float32),
    )
    for at, (turn, row) in enumerate(rows):
        count = len(row.flags)
        made.vectors[at, :count], made.kinds[at, :count] = vectors(row.layout), row.layout.kinds
        made.flags[at, :count] = row.flags
        for number, (service, slot) in enumerate(row.sources):
            other = layouts[turn][service]
            made.sources[at, number] = vectors(other)[1 + other.slots.index(slot)]
    return made


def pad_turns(turns: Sequence[Words], padding: int) -> tuple[Ints, Ints]:
    """Tokens and segments of turns."""
    ids = np.full((len(turns), max(len(words.ids) for words in turns)), padding, np.int64)
    segments = np.full_like(ids, PADDING)
    for at, words in enumerate(turns):
        count = len(words.ids)
        ids[at, :count], segments[at, :count] = words.ids, SPECIAL
        segments[at, 1 : words.user - 1], segments[at, words.user : count - 1] = SYSTEM, USER
    return ids, segments


def targets(examples: Sequence[TurnFeatures], made: Inputs) -> dict[str, Ints]:
    """The fields of `Target` for all rows, query by query, and `slot_of`; `IGNORED` where nothing is asked."""
    rows, queries = made.kinds.shape
    table = {
        name: np.full((rows, queries, *([2] if name in ("user", "system") else [])), IGNORED, np.int64)
        for name in SLOT_BY_SLOT
    }
    table["intent"] = np.full(rows, IGNORED, np.int64)
    table["carried"] = np.full((rows, queries, made.sources.shape[1]), -1, np.int64)
    table["slot_of"] = np.full((rows, queries), -1, np.int64)
    for at, row in enumerate(row for example in examples for row in example.rows):
        if row.target is not None:
            slots = slice(1, 1 + len(row.layout.slots))
            for name in SLOT_BY_SLOT:
                table[name][at, slots] = getattr(row.target, name)
            table["intent"][at] = row.target.intent
            table["carried"][at, slots, : row.target.carried.shape[1]] = row.target.carried
            table["slot_of"][at, : len(row.flags)] = row.layout.slot_of
    return table


def split_rows(batch: Inputs, target: dict[str, Ints], parts: int) -> Iterator[tuple[Inputs, dict[str, Ints]]]:
    """The rows in parts with services of similar size, so that a part has little padding."""
    counts = (batch.kinds >= 0).sum(1)
    for rows in np.array_split(np.argsort(counts, kind="stable"), min(parts, len(counts))):
        queries = slice(0, counts[rows].max())
        part = batch._replace(
            turn=batch.turn[rows],
            vectors=batch.vectors[rows, queries],
            kinds=batch.kinds[rows, queries],
            flags=batch.flags[rows, queries],
            sources=batch.sources[rows],
        )
        yield part, {name: table[rows] if table.ndim == 1 else table[rows, queries] for name, table in target.items()}
