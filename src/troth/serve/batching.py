"""Micro-batching: one thread scores, and all requests that have arrived meanwhile are scored together next.

An answer that is an error fails its own item; an error that is raised fails the batch, whose items are then scored one
by one.

Nothing waits for company: a request that comes to an idle service is scored at once. A request whose time is up before
its turn comes is not scored at all.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

Scoring = Callable[[Sequence[Any]], Sequence[Any]]
NO_ANSWER = "a batch came back with another number of answers"


class _Waiting(NamedTuple):
    score: Scoring
    item: Any
    answer: asyncio.Future[Any]
    deadline: float  # when nobody waits for it any longer, by `time.monotonic`


class MicroBatcher:
    """Scores items in one thread. Items that wait and have the same `score` are scored in one call."""

    def __init__(self, most: int, *, observe: Callable[[int], None] = lambda _: None) -> None:
        """`most`: items of a batch. `observe` is told the size of each."""
        self.most, self.observe = most, observe
        self._queue: deque[_Waiting] = deque()
        self._batch: Sequence[_Waiting] = ()
        self._thread: ThreadPoolExecutor | None = None
        self._running: asyncio.Task[None] | None = None

    async def answer(self, score: Scoring, item: Any, deadline: float = math.inf) -> Any:
        """The answer to one item. If the caller is cancelled before its turn, the item is passed over."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(score, item, answer, deadline))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        try:
            return await answer
        except asyncio.CancelledError:  # while a long batch runs, requests whose time is up must not pile up
            self._queue = deque(waiting_item for waiting_item in self._queue if waiting_item.answer is not answer)
            raise

    def is_awaited(self) -> bool:
        """Whether the time of any item of the current batch is not up. Clients that leave do not end the work."""
        now = time.monotonic()
        return any(now < waiting_item.deadline for waiting_item in self._batch)

    async def close(self) -> None:
        """Ends the thread, after what waits has been answered."""
        if self._running is not None:
            await self._running
        if self._thread is not None:
            self._thread.shutdown()
        self._running = self._thread = None  # an application may be started again

    async def _run(self) -> None:
        while batch := self._next():
            self.observe(len(batch))
            await self._score_batch(batch)

    def _next(self) -> list[_Waiting]:
        """The oldest item and those of its kind that wait, in their order."""
        waiting = [waiting_item for waiting_item in self._queue if not waiting_item.answer.done()]
        batch = [waiting_item for waiting_item in waiting if waiting_item.score == waiting[0].score][: self.most]
        taken = set(map(id, batch))
        self._queue = deque(waiting_item for waiting_item in waiting if id(waiting_item) not in taken)
        return batch

    async def _score_batch(self, batch: Sequence[_Waiting]) -> None:
        loop, self._batch = asyncio.get_running_loop(), batch
        self._thread = self._thread or ThreadPoolExecutor(1, "troth-scoring")
        try:
            items = [waiting_item.item for waiting_item in batch]
            answers = await loop.run_in_executor(self._thread, batch[0].score, items)
            if len(answers) != len(batch):
                raise ValueError(NO_ANSWER)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (whoever asked gets it; a panic of Rust code is no Exception)
            if len(batch) > 1:  # one request must not fail the others
                for waiting_item in batch:
                    if not waiting_item.answer.done():
                        await self._score_batch([waiting_item])
            elif not batch[0].answer.done():
                own = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
                batch[0].answer.set_exception(own)
            return
        for waiting_item, answer in zip(batch, answers, strict=True):
            if waiting_item.answer.done():
                continue
            if isinstance(answer, Exception):
                waiting_item.answer.set_exception(answer)
            else:
                waiting_item.answer.set_result(answer)
