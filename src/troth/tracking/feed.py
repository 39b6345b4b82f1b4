"""One pass over gold and the predictions of any number of systems, on one core or several.

Gold is read once for all systems. With several workers, a folder whose predictions have gold's file names is cut into
shares of about equal size; else the systems are shared out. Each share is scored in a process of its own by the very
code that would score the whole, and what a share could not match is joined here: the number of workers changes no
figure.
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
from troth.readers.places import place
from troth.tracking.join import Join, JoinedPair, together
from troth.tracking.scorer import Scorer

WORTH_IT = 4_000_000  # bytes below which another process costs more than it saves


class Gatherer(Protocol):
    """Takes pairs one at a time, and can take in what another of its kind has gathered from other dialogues."""

    dialogues: list[str]

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None: ...

    def merge(self, other: Any) -> None: ...


@dataclass(frozen=True)
class Predictions:
    """One system's predictions and who gathers them. `path` is None where gold's file holds both sides."""

    path: str | None
    make: Callable[[], Sequence[Gatherer]]
    translate: Callable[[Dialogue], Dialogue] | None = None  # applied to each prediction before it is joined


@dataclass(frozen=True)
class Corpus:
    """Gold, and how to read it and what is scored against it."""

    gold: str
    format: str | None = None
    pred_format: str | None = None
    common: bool = False  # predictions that gold lacks are left out, not an error


class _Share(NamedTuple):
    """Some systems on some files of a folder; None: on all."""

    systems: range
    files: slice | None = None


_Gathered = list[tuple[Sequence[Gatherer], Join]]  # per system of a share


def feed(corpus: Corpus, systems: Sequence[Predictions], *, workers: int = 1) -> list[Sequence[Any]]:
    """What each system's `make` makes, after it has been given every gold dialogue with its prediction."""
    if systems[0].path is None:
        gatherers = [systems[0].make()]
        _add(gatherers[0], together(readers.batches(corpus.gold, corpus.format, states_only=True, parts=True)))
    else:
        gatherers = _joined(corpus, systems, workers)
    if not gatherers[0][0].dialogues:
        raise UserError("no dialogue in it", file=corpus.gold, hint="is it the right file?")
    return gatherers


def _joined(corpus: Corpus, systems: Sequence[Predictions], workers: int) -> list[Sequence[Gatherer]]:
    shares = _shares(corpus, systems, parts(workers))
    gathered: dict[int, tuple[Sequence[Gatherer], Join]] = {}
    for share, scored in zip(
        shares, parallel_map(lambda one: _score(corpus, systems, one), shares, workers), strict=True
    ):
        for system, (theirs, join) in zip(share.systems, scored, strict=True):
            if system not in gathered:
                gathered[system] = (theirs, join)
                continue
            mine, ours = gathered[system]
            for gatherer, other in zip(mine, theirs, strict=True):
                gatherer.merge(other)
            _add(mine, ours.merge(join))
    for number, predictions in enumerate(systems):
        mine, join = gathered[number]
        _add(mine, join.rest(predictions.path or "", common=corpus.common))
    if gathered[0][1].gold_predictions:
        note(f"{corpus.gold} holds predictions of its own, which are not scored")
    return [gathered[number][0] for number in range(len(systems))]


def _score(corpus: Corpus, systems: Sequence[Predictions], share: _Share) -> _Gathered:
    """Reads one share: a file of gold, then the files of each system's predictions that go with it, and so on."""
    golds = _batches(corpus.gold, corpus.format, share)
    preds = [_translated(_batches(systems[i].path or "", corpus.pred_format, share), systems[i]) for i in share.systems]
    gathered: _Gathered = [(systems[i].make(), Join()) for i in share.systems]
    batch = next(golds, None)
    while True:
        for gatherers, join in gathered if batch is not None else ():
            _add(gatherers, join.add_gold(*batch))  # type: ignore[misc]
        for side, (gatherers, join) in zip(preds, gathered, strict=True):
            while batch is None or len(join.golds) > len(join.preds):  # no side runs ahead of the other
                predicted = next(side, None)
                if predicted is None:
                    break
                _add(gatherers, join.add_pred(*predicted))
        if batch is None:
            return gathered
        batch = next(golds, None)


def _batches(path: str, format: str | None, share: _Share) -> Iterator[tuple[str, list[Dialogue | Pair]]]:
    files = None if share.files is None else [str(file) for file in source.files(path)[share.files]]
    return readers.batches(path, format, states_only=True, files=files, parts=True)


def _translated(
    batches: Iterator[tuple[str, list[Dialogue | Pair]]], system: Predictions
) -> Iterator[tuple[str, list[Dialogue | Pair]]]:
    if system.translate is None:
        yield from batches
        return
    for name, items in batches:
        sides = (item.pred if isinstance(item, Pair) else item for item in items)
        yield name, [system.translate(guess) for guess in sides if guess is not None]


def _add(gatherers: Sequence[Gatherer], pairs: Iterable[JoinedPair]) -> None:
    """Errors get the file of the side that they are on."""
    for pair in pairs:
        try:
            for gatherer in gatherers:
                gatherer.add(pair.gold, pair.pred)
                if pair.other_gold is not None and isinstance(gatherer, Scorer):
                    gatherer.compare_gold(pair.gold, pair.other_gold)
        except PredictionError as error:
            raise error.at(file=pair.pred_file) from error
        except UserError as error:
            raise error.at(file=pair.gold_file) from error


def _shares(corpus: Corpus, systems: Sequence[Predictions], workers: int) -> list[_Share]:
    """Runs of files, or of systems, of about equal size; one share if sharing would not pay or cannot be done."""
    everything = [_Share(range(len(systems)))]
    paths = [corpus.gold, *(system.path or "" for system in systems)]
    if workers < 2 or any(map(source.is_pipe, paths)) or (forks() and any(map(source.is_parquet, paths))):
        return everything
    folders = [source.files(path) for path in paths]
    same = bool(folders[0]) and all([f.name for f in folder] == [f.name for f in folders[0]] for folder in folders)
    if same:
        sizes = [sum(file.stat().st_size for file in files) for files in zip(*folders, strict=True)]
        return [_Share(range(len(systems)), cut) for cut in _cuts(sizes, workers)] or everything
    sizes = [_size(folder, path) for folder, path in zip(folders[1:], paths[1:], strict=True)]
    return [_Share(range(cut.start, cut.stop)) for cut in _cuts(sizes, workers)] or everything


def _size(folder: Sequence[Path], path: str) -> int:
    files = folder or [place(path)]
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
