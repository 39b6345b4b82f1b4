"""Parts of a ratio with keys: one numerator and one denominator per unit, and the unit's key.

Every metric that is a ratio of sums gives parts. Its value, its groups, its intervals, merged shards and resumed runs
are all sums of parts. Two sets of parts are joined by key (`join`), never by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
NONE = -1  # the code of "no item" and "no turn"


@dataclass(frozen=True)
class Units:
    """The keys of units: dialogue, turn, and item (a service, or a response's id), each a name and a code per unit.

    Dialogues are what intervals resample. For grounded responses the "dialogue" is the document, for assistants the
    task. `further` has columns of `rows.parquet` that no score depends on: the source and label of a response.
    """

    dialogues: Sequence[str]
    dialogue: Ints  # index into `dialogues`
    turn: Ints  # NONE where units are not turns
    items: Sequence[str]
    item: Ints  # index into `items`; NONE for a unit that is a whole turn
    item_column: Literal["service", "id"] = "service"
    further: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.dialogue)

    def take(self, selected: Mask | Ints) -> Units:
        further = {name: column[selected] for name, column in self.further.items()}
        keys = (self.dialogue[selected], self.turn[selected], self.item[selected])
        return replace(self, dialogue=keys[0], turn=keys[1], item=keys[2], further=further)

    def keys(self) -> list[tuple[str, int, str]]:
        """Dialogue, turn and item of each unit, by name; the item is empty where there is none."""
        items = [*self.items, ""]
        codes = zip(self.dialogue.tolist(), self.turn.tolist(), self.item.tolist(), strict=True)
        return [(self.dialogues[dialogue], turn, items[item]) for dialogue, turn, item in codes]


@dataclass(frozen=True)
class Parts:
    """One metric over some units. `den` is 0 where the metric does not apply to the unit."""

    num: Floats
    den: Floats
    units: Units

    @classmethod
    def from_fractions(
        cls,
        fractions: Iterable[tuple[float, float]],
        keys: Sequence[tuple[str, int, str]],
        *,
        item_column: Literal["service", "id"] = "service",
    ) -> Parts:
        """Parts from a list of (numerator, denominator) and their keys (dialogue, turn, item)."""
        table = np.array(list(fractions), dtype=np.float64).reshape(-1, 2)
        dialogues = list(dict.fromkeys(dialogue for dialogue, _, _ in keys))
        items = list(dict.fromkeys(item for _, _, item in keys if item))
        dialogue_codes = {name: code for code, name in enumerate(dialogues)}
        item_codes = {name: code for code, name in enumerate(items)} | {"": NONE}
        units = Units(
            dialogues,
            np.array([dialogue_codes[dialogue] for dialogue, _, _ in keys], dtype=np.int64),
            np.array([turn for _, turn, _ in keys], dtype=np.int64),
            items,
            np.array([item_codes[item] for _, _, item in keys], dtype=np.int64),
            item_column,
        )
        return cls(table[:, 0].copy(), table[:, 1].copy(), units)

    def take(self, selected: Mask | Ints) -> Parts:
        """The same metric over some of the units."""
        return Parts(self.num[selected], self.den[selected], self.units.take(selected))

    def with_values(self, num: Floats, den: Floats) -> Parts:
        """Another metric over the same units."""
        return Parts(num, den, self.units)

    def sums(self, dialogues: Sequence[str]) -> tuple[Floats, Floats]:
        """Numerators and denominators summed per dialogue, in the order of `dialogues`; 0 where there is no unit."""
        place = {name: code for code, name in enumerate(dialogues)}
        # A dialogue that no unit belongs to need not be in the list.
        codes = np.array([place.get(name, 0) for name in self.units.dialogues] or [0], dtype=np.int64)
        at, size = codes[self.units.dialogue], len(dialogues)
        return (
            np.bincount(at, weights=self.num, minlength=size).astype(np.float64),
            np.bincount(at, weights=self.den, minlength=size).astype(np.float64),
        )

    def frame(self, system: str, metric: str) -> pl.DataFrame:
        """The units that the metric applies to, one row each, in the layout of `rows.parquet`.

        A unit may add to the numerator alone: the cost per solved trial includes the cost of unsolved trials.
        """
        import polars as pl

        applies = (self.den > 0) | (self.num != 0)
        units = self.units.take(applies)
        items = pl.Series([*units.items, None], dtype=pl.String)
        columns = {
            "system": pl.repeat(system, len(units), eager=True),
            "metric": pl.repeat(metric, len(units), eager=True),
            "dialogue": pl.Series(units.dialogues, dtype=pl.String).gather(units.dialogue),
            "turn": pl.Series(units.turn).replace(NONE, None),
            units.item_column: items.gather(units.item % len(items)),
            **{name: pl.Series(column.tolist(), dtype=row_schema()[name]) for name, column in units.further.items()},
            "num": self.num[applies],
            "den": self.den[applies],
        }
        missing = {name: pl.repeat(None, len(units), dtype=kind, eager=True) for name, kind in row_schema().items()}
        return pl.DataFrame({name: columns.get(name, missing[name]) for name in row_schema()})


def row_schema() -> dict[str, Any]:
    """The columns of `rows.parquet`, the same for every task; those that a task has no values for are null."""
    import polars as pl

    texts, numbers = ("system", "metric", "dialogue"), ("num", "den")
    further = {"turn": pl.Int64, "service": pl.String, "id": pl.String, "source": pl.String, "label": pl.Int64}
    return dict.fromkeys(texts, pl.String) | further | dict.fromkeys(numbers, pl.Float64)


def lazy_rows(frames: Callable[[], Iterator[pl.DataFrame]]) -> pl.LazyFrame:
    """Several frames of `Parts.frame` as one, which are made while it is written, so that memory stays small."""
    from polars.io.plugins import register_io_source

    # Not `is_pure`, and without columns, conditions and limits to push down: it is written or read whole.
    return register_io_source(lambda *_: frames(), schema=row_schema())


class Joined(NamedTuple):
    """Sets of parts over their common units, in one order, and the number of other units of each."""

    parts: dict[str, Parts]
    unpaired: dict[str, int]


def join(sets: Mapping[str, Parts]) -> Joined:
    """Brings sets of parts together by key: dialogue, turn and item. The order of units in each does not matter."""
    dialogues = {name: code for code, name in enumerate(sorted({n for p in sets.values() for n in p.units.dialogues}))}
    items = {name: code for code, name in enumerate(sorted({n for p in sets.values() for n in p.units.items}))}
    turns = max((int(parts.units.turn.max(initial=0)) for parts in sets.values()), default=0) + 2
    coded: dict[str, Ints] = {}
    for label, parts in sets.items():
        units = parts.units
        dialogue = np.array([dialogues[name] for name in units.dialogues] or [0], dtype=np.int64)[units.dialogue]
        item = np.array([*(items[name] for name in units.items), NONE], dtype=np.int64)[units.item]
        coded[label] = (dialogue * turns + units.turn + 1) * (len(items) + 1) + item + 1
        if len(np.unique(coded[label])) != len(units):
            raise ValueError(f"units of '{label}' are not unique by dialogue, turn and item")
    common: Ints | None = None
    for codes in coded.values():
        common = np.sort(codes) if common is None else np.intersect1d(common, codes, assume_unique=True)
    shared = np.zeros(0, dtype=np.int64) if common is None else common
    joined = {}
    for label, parts in sets.items():
        order = np.argsort(coded[label], kind="stable")
        joined[label] = parts.take(order[np.searchsorted(coded[label][order], shared)])
    return Joined(joined, {label: len(codes) - len(shared) for label, codes in coded.items()})
