"""Batches of items for a model: each distinct item once, items of similar length together, answers in order.

A batch is padded to its longest item, so items of similar length waste the least. Padding is masked and arithmetic is
float32: an answer does not depend on what else is in its batch, beyond rounding (about 1e-6; promised: 1e-4).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from troth.core.progress import Progress

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Room(NamedTuple):
    """Limits of a batch: items, and units of length (tokens or characters) of all items together, with padding."""

    items: int
    units: int
    least: float = 0.0  # length of an item as a share of the longest


class Padded(NamedTuple):
    """Rows of tokens of one length, and a mask of the same shape: 1 for a token, 0 for padding."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]


class Batch(NamedTuple):
    """Indexes of items that are computed together, and their total length."""

    indexes: list[int]
    units: int


@runtime_checkable
class Planning(Protocol):
    """A backend that plans its own batches, by length in tokens or by common prefixes."""

    def plan(self, items: Sequence[Any]) -> list[Batch]: ...


class Cutting(Generic[K]):
    """Remembers which items were longer than the model reads."""

    def __init__(self) -> None:
        self.shortened: set[K] = set()

    @property
    def cut(self) -> int:
        return len(self.shortened)

    def forget(self) -> None:
        """Forgets which items were cut, so that the memory of a long-running process does not grow."""
        self.shortened.clear()


def plan_batches(lengths: Sequence[int], room: Room) -> Iterator[list[int]]:
    """Indexes of items in batches, the longest first: a batch that does not fit into memory fails at once.

    An item that is longer than the room gets a batch of its own.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        longest = lengths[batch[0]] if batch else 0
        full = len(batch) == room.items or longest * (len(batch) + 1) > room.units
        if batch and (full or lengths[index] < room.least * longest):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def batch_by_length(lengths: Sequence[int], room: Room) -> list[Batch]:
    return [Batch(batch, sum(lengths[i] for i in batch)) for batch in plan_batches(lengths, room)]


def compute_batched(
    items: Sequence[K],
    compute: Callable[[list[K]], Sequence[V]],
    plan: Callable[[Sequence[K]], Sequence[Batch]],
    progress: Progress | None = None,
) -> list[V]:
    """An answer for each item. `compute` gets the batches of distinct items that `plan` returns."""
    distinct = list(dict.fromkeys(items))
    batches = plan(distinct)
    total, done = sum(batch.units for batch in batches), 0
    answers: dict[K, V] = {}
    for batch in batches:
        inputs = [distinct[i] for i in batch.indexes]
        answers.update(zip(inputs, compute(inputs), strict=True))
        done += batch.units
        if progress is not None:
            progress(done, total)
    return [answers[item] for item in items]


def pad_rows(rows: Sequence[Sequence[int]], pad: int = 0, *, left: bool = False) -> Padded:
    """Pads rows of tokens to the longest with the token `pad`, on the right, or on the left for generation."""
    shape = (len(rows), max(map(len, rows), default=0))
    ids, mask = np.full(shape, pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for number, row in enumerate(rows):
        own = slice(shape[1] - len(row), None) if left else slice(len(row))
        ids[number, own], mask[number, own] = row, 1
    return Padded(ids, mask)


def padded_tensors(rows: Sequence[Sequence[int]], pad: int = 0, *, left: bool = False) -> tuple[Any, Any]:
    """As `pad_rows`, but torch tensors."""
    import torch

    ids, mask = pad_rows(rows, pad, left=left)
    return torch.from_numpy(ids), torch.from_numpy(mask)


def columns(rows: Sequence[Mapping[str, Sequence[int]]], pad: int | None) -> dict[str, NDArray[np.int64]]:
    """Columns of a tokenizer's output, one mapping per row, as padded arrays for a model's keyword arguments.

    `input_ids` are padded with the token `pad` (0 where the tokenizer has none), everything else with 0.
    """
    fill = {"input_ids": pad or 0}
    return {name: pad_rows([row[name] for row in rows], fill.get(name, 0)).ids for name in (rows[0] if rows else ())}


def tensors(rows: Sequence[Mapping[str, Sequence[int]]], pad: int | None) -> dict[str, Any]:
    """As `columns`, but torch tensors."""
    import torch

    return {name: torch.from_numpy(column) for name, column in columns(rows, pad).items()}


def model_inputs(encoded: Mapping[str, Any]) -> list[dict[str, list[int]]]:
    """The rows of a tokenizer's output, each with the columns that every model reads."""
    names = [name for name in ("input_ids", "token_type_ids", "attention_mask") if name in encoded]
    return [{name: encoded[name][row] for name in names} for row in range(len(encoded["input_ids"]))]


def group_indexes(keys: Iterable[Hashable]) -> list[list[int]]:
    """The indexes of each distinct key, in the order in which the keys first occur."""
    groups: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Number of tokens that two sequences share at their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))


def replace_surrogates(text: str) -> str:
    """The text with a question mark for half a surrogate pair, which JSON may contain and tokenizers refuse."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
