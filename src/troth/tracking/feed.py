"""One pass over gold and the predictions of any number of systems, from files or from memory, on one core or several.

Gold is read once for all systems. With several workers, a folder whose predictions have gold's file names is cut into
shares of about equal size; else the systems are shared out. Each share is scored in a process of its own by the very
code that would score the whole, and dialogues without a partner in their share are joined here. Results do not depend
on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from troth import readers
from troth.core.errors import PredictionError, UserError
from troth.core.progress import note
from troth.core.records import Dialogue, Pair
from troth.engine import forks, parallel_map, parts
from troth.readers import source
from troth.readers.paths import to_path
from troth.tracking.join import Join, JoinedPair, split_pairs
from troth.tracking.scorer import Scorer

WORTH_IT = 4_000_000  # bytes below which another process costs more than it saves


class PairConsumer(Protocol):
    """Takes pairs of dialogues one at a time, and can merge another consumer of its kind that took other dialogues."""

    dialogues: list[str]

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None: ...

    def merge(self, other: Any) -> None: ...


@dataclass(frozen=True)
class DialogueSource:
    """Dialogues in files, or in memory. An empty source: the predictions are in gold's own file."""

    path: str = ""
    format: str | None = None
    dialogues: Sequence[Dialogue | Pair] | None = None
    name: str = ""  # of dialogues in memory, for errors

    @property
    def is_empty(self) -> bool:
        return not self.path and self.dialogues is None

    @property
    def label(self) -> str:
        """The file or the name that errors give."""
        return self.path or self.name

    def batches(self, files: slice | None = None) -> Iterator[tuple[str, list[Dialogue | Pair]]]:
        """The dialogues with the file that they come from; `files`: only some files of a folder."""
        if self.dialogues is not None:
            return iter([(self.name, list(self.dialogues))])
        names = None if files is None else [str(file) for file in source.files(self.path)[files]]
        return readers.batches(self.path, self.format, states_only=True, files=names, parts=True)


@dataclass(frozen=True)
class Predictions:
    """One system's predictions and the consumers that score them."""

    source: DialogueSource
    make: Callable[[], Sequence[PairConsumer]]
    translate: Callable[[Dialogue], Dialogue] | None = None  # applied to each prediction before it is joined


class _Share(NamedTuple):
    """Some systems on some files of a folder; None: on all."""

    systems: range
    files: slice | None = None


_Consumed = list[tuple[Sequence[PairConsumer], Join]]  # per system of a share


def feed(
    gold: DialogueSource, systems: Sequence[Predictions], *, workers: int = 1, common: bool = False
) -> list[Sequence[Any]]:
    """The consumers of each system, after they have been given every gold dialogue with its prediction.

    `common`: predictions that gold lacks are left out; else they are an error.
    """
    if systems[0].source.is_empty:
        consumers = [systems[0].make()]
        _add(consumers[0], split_pairs(gold.batches()))
    else:
        consumers = _join_all(gold, systems, workers, common)
    if not consumers[0][0].dialogues:
        raise UserError("no dialogue in it", file=gold.label, hint="is it the right file?")
    return consumers


def _join_all(
    gold: DialogueSource, systems: Sequence[Predictions], workers: int, common: bool
) -> list[Sequence[PairConsumer]]:
    shares = _shares(gold, systems, parts(workers))
    gathered: dict[int, tuple[Sequence[PairConsumer], Join]] = {}
    for share, scored in zip(
        shares, parallel_map(lambda share: _score(gold, systems, share), shares, workers), strict=True
    ):
        for system, (theirs, join) in zip(share.systems, scored, strict=True):
            if system not in gathered:
                gathered[system] = (theirs, join)
                continue
            mine, ours = gathered[system]
            for consumer, other in zip(mine, theirs, strict=True):
                consumer.merge(other)
            _add(mine, ours.merge(join))
    for number, predictions in enumerate(systems):
        mine, join = gathered[number]
        _add(mine, join.rest(predictions.source.label, common=common))
    if gathered[0][1].gold_predictions:
        note(f"{gold.label} holds predictions of its own, which are not scored")
    return [gathered[number][0] for number in range(len(systems))]


def _score(gold: DialogueSource, systems: Sequence[Predictions], share: _Share) -> _Consumed:
    """Reads one share: a file of gold, then the files of each system's predictions that go with it, and so on."""
    golds = gold.batches(share.files)
    preds = [_read_predictions(systems[i], share) for i in share.systems]
    consumed: _Consumed = [(systems[i].make(), Join()) for i in share.systems]
    batch = next(golds, None)
    while True:
        for consumers, join in consumed if batch is not None else ():
            _add(consumers, join.add_gold(*batch))  # type: ignore[misc]
        for side, (consumers, join) in zip(preds, consumed, strict=True):
            while batch is None or len(join.golds) > len(join.preds):  # no side runs ahead of the other
                predicted = next(side, None)
                if predicted is None:
                    break
                _add(consumers, join.add_pred(*predicted))
        if batch is None:
            return consumed
        batch = next(golds, None)


def _read_predictions(system: Predictions, share: _Share) -> Iterator[tuple[str, list[Dialogue | Pair]]]:
    batches = system.source.batches(share.files)
    if system.translate is None:
        yield from batches
        return
    for name, items in batches:
        sides = (item.pred if isinstance(item, Pair) else item for item in items)
        yield name, [system.translate(guess) for guess in sides if guess is not None]


def _add(consumers: Sequence[PairConsumer], pairs: Iterable[JoinedPair]) -> None:
    """Errors get the file of the side that they are on."""
    for pair in pairs:
        try:
            for consumer in consumers:
                consumer.add(pair.gold, pair.pred)
                if pair.other_gold is not None and isinstance(consumer, Scorer):
                    consumer.compare_gold(pair.gold, pair.other_gold)
        except PredictionError as error:
            raise error.at(file=pair.pred_file) from error
        except UserError as error:
            raise error.at(file=pair.gold_file) from error


def _shares(gold: DialogueSource, systems: Sequence[Predictions], workers: int) -> list[_Share]:
    """Runs of files, or of systems, of about equal size; one share if sharing would not pay or cannot be done."""
    everything = [_Share(range(len(systems)))]
    sources = [gold, *(system.source for system in systems)]
    paths = [one.path for one in sources]
    if workers < 2 or any(one.dialogues is not None or source.is_pipe(one.path) for one in sources):
        return everything
    if forks() and any(map(source.is_parquet, paths)):
        return everything
    folders = [source.files(path) for path in paths]
    same = bool(folders[0]) and all([f.name for f in folder] == [f.name for f in folders[0]] for folder in folders)
    if same:
        sizes = [sum(file.stat().st_size for file in files) for files in zip(*folders, strict=True)]
        return [_Share(range(len(systems)), cut) for cut in _cuts(sizes, workers)] or everything
    sizes = [_size(folder, path) for folder, path in zip(folders[1:], paths[1:], strict=True)]
    return [_Share(range(cut.start, cut.stop)) for cut in _cuts(sizes, workers)] or everything


def _size(folder: Sequence[Path], path: str) -> int:
    files = folder or [to_path(path)]
    return sum(file.stat().st_size for file in files if file.is_file())


def _cuts(sizes: Sequence[int], workers: int) -> list[slice]:
    """Runs of about equal size; none if fewer than two would pay."""
    count = min(workers, len(sizes), sum(sizes) // WORTH_IT)
    cuts: list[slice] = []
    begin, done = 0, 0
    for number in range(1, count + 1) if count > 1 else ():
        end = begin
        while end < len(sizes) - (count - number) and (
            end == begin or done + sizes[end] / 2 <= sum(sizes) * number / count
        ):
            done += sizes[end]
            end += 1
        cuts.append(slice(begin, end))
        begin = end
    return cuts
