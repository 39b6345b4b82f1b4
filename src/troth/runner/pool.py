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
from multiprocessing.connection import Connection
from typing import NamedTuple

from troth import readers
from troth.errors import PredictionError, UserError
from troth.metrics.tracking import Scorer
from troth.readers import source
from troth.runner.join import Join, Joined, together

Formats = tuple[str | None, str | None]
WORTH_IT = 4_000_000  # bytes below which another process costs more than it saves


class Share(NamedTuple):
    """What one process makes of its files: the scorers, and what it could not match; or what was wrong."""

    scorers: list[Scorer]
    join: Join
    error: UserError | None


def feed(
    make: Callable[[], list[Scorer]], gold: str, pred: str | None, formats: Formats = (None, None), *, workers: int = 1
) -> list[Scorer]:
    """Score every gold dialogue; returns the scorers, one for each that `make` makes."""
    if pred is None:
        scorers = make()
        _add(scorers, together(readers.batches(gold, formats[0], states_only=True)))
    else:
        shares = _shares(gold, pred, workers)
        parts = _in_processes(make, gold, pred, formats, shares) if len(shares) > 1 else []
        share = parts[0] if parts else _score(make, gold, pred, formats, (None, None))
        scorers, join = share.scorers, share.join
        for error in (part.error for part in (share, *parts[1:])):
            if error is not None:
                raise error
        for part in parts[1:]:
            for scorer, other in zip(scorers, part.scorers, strict=True):
                scorer.merge(other)
            _add(scorers, join.merge(part.join))
        _add(scorers, join.rest(pred))
    if not scorers[0].dialogues:
        raise UserError("no dialogue in it", file=gold, hint="is it the right file?")
    return scorers


def _add(scorers: Sequence[Scorer], pairs: Iterator[Joined]) -> None:
    """Errors get the file of the side that they are on."""
    for pair in pairs:
        try:
            for scorer in scorers:
                scorer.add(pair.gold, pair.pred)
        except PredictionError as error:
            raise error.at(file=pair.pred_file) from error
        except UserError as error:
            raise error.at(file=pair.gold_file) from error


Files = tuple[list[str] | None, list[str] | None]  # of gold and of the predictions; None: all


def _score(make: Callable[[], list[Scorer]], gold: str, pred: str, formats: Formats, files: Files) -> Share:
    scorers, join = make(), Join()
    sides = (
        readers.batches(path, format, states_only=True, files=only)
        for path, format, only in zip((gold, pred), formats, files, strict=True)
    )
    try:
        _add(scorers, join.pairs(*sides))
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


def _in_processes(
    make: Callable[[], list[Scorer]], gold: str, pred: str, formats: Formats, shares: Sequence[Files]
) -> list[Share]:
    """The first share here, the others in children; results in the order of the files."""
    context = multiprocessing.get_context("fork")
    children = []
    for files in shares[1:]:
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(send, make, gold, pred, formats, files), daemon=True)
        child.start()
        send.close()
        children.append((child, receive))
    parts = [_score(make, gold, pred, formats, shares[0])]
    for child, receive in children:
        try:
            parts.append(receive.recv())
        except EOFError:
            raise UserError("a worker was ended from outside", hint="is memory short? --workers 1 takes less") from None
        child.join()
    return parts


def _child(
    send: Connection, make: Callable[[], list[Scorer]], gold: str, pred: str, formats: Formats, files: Files
) -> None:
    send.send(_score(make, gold, pred, formats, files))
    send.close()
    os._exit(0)  # the parent's buffers and handlers are not ours to flush and run
