"""Questions to a model: each distinct one once, in batches of like length, answers in the order of the questions.

A batch is padded to its longest item, so items of like length waste the least. Padding is masked, and arithmetic is
float32 throughout: an answer does not depend on what else is in its batch, beyond rounding (1e-6; promised: 1e-4).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Progress = Callable[[int, int], None]  # how much is done, and how much there is, in tokens or characters


class Room(NamedTuple):
    """What a batch has room for: items, and units of length in all of them together, padding included."""

    items: int
    units: int


class Padded(NamedTuple):
    """Rows of tokens as two arrays of the same shape: the tokens, and 1 where a token stands, 0 where padding does."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]


class Batch(NamedTuple):
    """Places of items that are computed together, and how much work that is, in units of length."""

    places: list[int]
    units: int


@runtime_checkable
class Measured(Protocol):
    """A backend that can say beforehand how long items are, in tokens, so that others make its batches for it."""

    @property
    def room(self) -> Room: ...

    def lengths(self, items: Sequence[Any]) -> list[int]: ...


@runtime_checkable
class Planning(Protocol):
    """A backend that puts items into batches by more than their length: those that begin alike together."""

    def plan(self, items: Sequence[Any]) -> list[Batch]: ...


class Cutting(Generic[K]):
    """Remembers which items were longer than the model reads."""

    def __init__(self) -> None:
        self.shortened: set[K] = set()

    @property
    def cut(self) -> int:
        return len(self.shortened)


def planned(lengths: Sequence[int], room: Room) -> Iterator[list[int]]:
    """Indexes of items in batches, the longest first: what does not fit into memory fails at once, not after an hour.

    An item that is too long for the room has a batch to itself.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (len(batch) == room.items or lengths[batch[0]] * (len(batch) + 1) > room.units):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def by_length(lengths: Sequence[int], room: Room) -> list[Batch]:
    return [Batch(batch, sum(lengths[i] for i in batch)) for batch in planned(lengths, room)]


def answered(
    items: Sequence[K],
    compute: Callable[[list[K]], Sequence[V]],
    *,
    lengths: Callable[[Sequence[K]], Sequence[int]],
    room: Room,
    plan: Callable[[Sequence[K]], Sequence[Batch]] | None = None,
    progress: Progress | None = None,
) -> list[V]:
    """An answer for each item. `compute` gets batches of distinct items, by `plan` or else by length."""
    distinct = list(dict.fromkeys(items))
    batches = by_length(lengths(distinct), room) if plan is None else plan(distinct)
    total, done = sum(batch.units for batch in batches), 0
    answers: dict[K, V] = {}
    for batch in batches:
        asked = [distinct[i] for i in batch.places]
        answers.update(zip(asked, compute(asked), strict=True))
        done += batch.units
        if progress is not None:
            progress(done, total)
    return [answers[item] for item in items]


def padded(rows: Sequence[Sequence[int]], pad: int = 0, *, left: bool = False) -> Padded:
    """Rows of tokens padded to the longest with the token `pad`, on the right, or on the left for generation."""
    shape = (len(rows), max(map(len, rows), default=0))
    ids, mask = np.full(shape, pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for number, row in enumerate(rows):
        own = slice(shape[1] - len(row), None) if left else slice(len(row))
        ids[number, own], mask[number, own] = row, 1
    return Padded(ids, mask)


def tensors(rows: Sequence[Mapping[str, Sequence[int]]], pad: int | None) -> dict[str, Any]:
    """Columns of a tokenizer's output, one mapping per row, as padded torch tensors for a model's keyword arguments.

    `input_ids` are padded with the token `pad` (0 where the tokenizer has none), everything else with 0.
    """
    import torch

    columns = rows[0] if rows else ()
    fill = {"input_ids": pad or 0}
    return {name: torch.from_numpy(padded([row[name] for row in rows], fill.get(name, 0)).ids) for name in columns}


def encodable(text: str) -> str:
    """Half a surrogate pair, which JSON can hold and no tokenizer takes, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
