"""One pass over gold and predictions for any number of scorers, on one core or several.

A folder whose predictions have gold's file names is cut into shares of about equal size, each scored in a process of
its own by the very code that would score the whole; what a share could not match goes back to be joined here. Merged
shares equal the whole, so the number of workers moves no figure.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from troth import readers
from troth.core.errors import PredictionError, UserError
from troth.core.records import Dialogue, Pair
from troth.readers import source
from troth.tracking.join import Batches, Join, Joined, together

Formats = tuple[str | None, str | None]
Files = tuple[list[str] | None, list[str] | None]  # of gold and of the predictions; None: all
WORTH_IT = 4_000_000  # bytes below which another process costs more than it saves


class Gathers(Protocol):
    """What takes pairs one at a time, and can take in what another of its kind has gathered."""

    dialogues: list[str]

    def add(self, gold: Dialogue, pred: Dialogue | None) -> None: ...

    def merge(self, other: Any) -> None: ...


S = TypeVar("S", bound=Sequence[Gathers])
Make = Callable[[], Sequence[Gathers]]


class Share(NamedTuple):
    """What one process makes of its files: the scorers, and what it could not match; or what was wrong."""

    scorers: Sequence[Gathers]
    join: Join
    error: UserError | None


@dataclass(frozen=True)
class Task:
    """What is scored: by whom, against what, and how predictions are to be read."""

    make: Make
    gold: str
    pred: str
    formats: Formats
    translate: Callable[[Dialogue], Dialogue] | None

    def sides(self, files: Files) -> Iterator[Batches]:
        yield readers.batches(self.gold, self.formats[0], states_only=True, files=files[0])
        preds = readers.batches(self.pred, self.formats[1], states_only=True, files=files[1])
        yield preds if self.translate is None else _translated(preds, self.translate)


def feed(
    make: Callable[[], S],
    gold: str,
    pred: str | None,
    formats: Formats = (None, None),
    *,
    workers: int = 1,
    translate: Callable[[Dialogue], Dialogue] | None = None,
) -> S:
    """Score every gold dialogue; returns what `make` makes, with everything gathered.

    `translate` is applied to each prediction before it is joined with gold.
    """
    if pred is None:
        scorers: Sequence[Gathers] = make()
        _add(scorers, together(readers.batches(gold, formats[0], states_only=True)))
    else:
        task = Task(make, gold, pred, formats, translate)
        shares = _shares(gold, pred, workers)
        parts = _in_processes(task, shares) if len(shares) > 1 else [_score(task, (None, None))]
        for part in parts:
            if part.error is not None:
                raise part.error
        scorers, join = parts[0].scorers, parts[0].join
        for part in parts[1:]:
            for scorer, other in zip(scorers, part.scorers, strict=True):
                scorer.merge(other)
            _add(scorers, join.merge(part.join))
        _add(scorers, join.rest(pred))
    if not scorers[0].dialogues:
        raise UserError("no dialogue in it", file=gold, hint="is it the right file?")
    return cast(S, scorers)


def _translated(batches: Batches, translate: Callable[[Dialogue], Dialogue]) -> Batches:
    for name, items in batches:
        yield name, [translate(guess) for item in items for guess in _predicted(item)]


def _predicted(item: Dialogue | Pair) -> list[Dialogue]:
    guess = item.pred if isinstance(item, Pair) else item
    return [] if guess is None else [guess]


def _add(scorers: Sequence[Gathers], pairs: Iterator[Joined]) -> None:
    """Errors get the file of the side that they are on."""
    for pair in pairs:
        try:
            for scorer in scorers:
                scorer.add(pair.gold, pair.pred)
        except PredictionError as error:
            raise error.at(file=pair.pred_file) from error
        except UserError as error:
            raise error.at(file=pair.gold_file) from error


def _score(task: Task, files: Files) -> Share:
    scorers, join = task.make(), Join()
    try:
        _add(scorers, join.pairs(*task.sides(files)))
    except UserError as error:
        return Share([], join, error)
    return Share(scorers, join, None)


def _shares(gold: str, pred: str, workers: int) -> list[Files]:
    """Runs of files of about equal size; one if sharing would not pay or cannot be done."""
    ours, theirs = source.files(gold), source.files(pred)
    same = [file.name for file in ours] == [file.name for file in theirs]
    sizes = [a.stat().st_size + b.stat().st_size for a, b in zip(ours, theirs, strict=same)]
    count = min(workers, len(ours), sum(sizes) // WORTH_IT)
    if not same or count < 2 or "fork" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin":
        return []
    shares: list[Files] = []
    begin, done = 0, 0
    for number in range(1, count + 1):
        end = begin
        while end < len(ours) - (count - number) and (
            end == begin or done + sizes[end] / 2 <= sum(sizes) * number / count
        ):
            done += sizes[end]
            end += 1
        shares.append(([str(f) for f in ours[begin:end]], [str(f) for f in theirs[begin:end]]))
        begin = end
    return shares


def _in_processes(task: Task, shares: Sequence[Files]) -> list[Share]:
    """The first share here, the others in children; results in the order of the files."""
    context = multiprocessing.get_context("fork")
    children = []
    for files in shares[1:]:
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(send, task, files), daemon=True)
        child.start()
        send.close()
        children.append((child, receive))
    parts = [_score(task, shares[0])]
    for child, receive in children:
        try:
            parts.append(receive.recv())
        except EOFError:
            raise UserError("a worker was ended from outside", hint="is memory short? --workers 1 takes less") from None
        child.join()
    return parts


def _child(send: Connection, task: Task, files: Files) -> None:
    send.send(_score(task, files))
    send.close()
    os._exit(0)  # the parent's buffers and handlers are not ours to flush and run
