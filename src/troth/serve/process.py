"""Scores in processes of their own, so that work that does not end can be killed, and models stop nothing else.

A thread cannot be ended, and a call into a library may hold Python's global lock; then no other thread runs, neither
the one that answers `/live` nor the one that handles signals. Questions that ask models and questions that follow rules
alone have a process each (their lanes), so that `/agent` answers while a model works.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.engine.processes import die_with
from troth.serve.settings import ServeSettings
from troth.serve.tasks import LANES, MODELS, Lane, ServedTask, tasks
from troth.serve.watch import LOG, ScoringError

CHECKED_EVERY = 0.05  # seconds
LONGEST_PAUSE = 30.0  # seconds between two attempts to start the process again
WARMING: dict[str, dict[str, Any]] = {  # a request for each question that has models or data files to load
    "/ground": {"document": "A table for two is booked at 7 pm.", "response": "A table is booked."},
    "/dst": {"references": [{"hotel-area": "east"}], "predictions": [{"hotel-area": "east"}]},
    "/agent": {"messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "It is 7 pm."}]},
}


class _Running(NamedTuple):
    process: SpawnProcess
    pipe: Connection


class ScoringProcess:
    """Scores the questions of one lane in a process, which is replaced when it ends."""

    def __init__(self, settings: ServeSettings, lane: Lane) -> None:
        self._settings, self.lane = replace(settings), lane  # without the models that this process has opened
        self.was_ready = False  # whether it has ever been
        self._ready, self._closing = threading.Event(), threading.Event()
        self._running: _Running | None = None

    def start(self, failed: Callable[[Exception], None]) -> None:
        """Starts the process and returns at once. `failed` is told why it cannot start, such as a missing model."""
        threading.Thread(target=self._supervise, args=(failed,), name=f"troth-{self.lane}", daemon=True).start()

    def is_ready(self) -> bool:
        """Whether the process runs and its models are loaded."""
        return self._ready.is_set()

    def close(self) -> None:
        """Ends the process at once; it is not started again."""
        self._closing.set()
        self._ready.clear()
        if (running := self._running) is not None:
            running.process.kill()

    def score(self, path: str, is_awaited: Callable[[], bool], items: Sequence[Any]) -> Sequence[Any]:
        """The answers to a batch. The process is killed when nobody waits for the batch any longer."""
        while not self._ready.wait(CHECKED_EVERY):
            if self._closing.is_set() or not is_awaited():
                raise ScoringError("the process that scores is not ready", [])
        running = self._running
        assert running is not None
        try:
            running.pipe.send((path, list(items)))
            while not running.pipe.poll(CHECKED_EVERY):
                if not is_awaited():
                    self._end(running)
                    raise ScoringError("killed: no answer in time", [])
            answers = running.pipe.recv()
        except (EOFError, OSError) as error:
            self._end(running)
            raise ScoringError("the process that scores has ended", []) from error
        if isinstance(answers, Exception):
            raise answers
        return answers  # type: ignore[no-any-return]

    def _end(self, running: _Running) -> None:
        self._ready.clear()
        running.process.kill()

    def _supervise(self, failed: Callable[[Exception], None]) -> None:
        """Keeps one process running. It dies with the thread that started it, so that this thread starts all."""
        pause = 1.0
        while not self._closing.is_set():
            error = self._load()
            if error is not None and not self.was_ready:
                if not self._closing.is_set():
                    failed(error)
                break
            if error is None and (running := self._running) is not None:
                self.was_ready, pause = True, 1.0
                self._ready.set()
                wait([running.process.sentinel])
                self._ready.clear()
            if not self._closing.is_set():
                name = "the process has ended" if error is None else ScoringError.from_exception(error).name
                LOG.warning("scorer restarts", extra={"fields": {"lane": self.lane, "reason": name}})
            if error is not None:
                self._closing.wait(pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
        self.close()

    def _load(self) -> Exception | None:
        """Starts a process in place of the last one, and waits until its models are loaded; or why it cannot."""
        if self._running is not None:
            self._running.process.kill()
            self._running.process.join()
        try:
            self._running = self._open()
            if self._closing.is_set():  # while it was started
                self._running.process.kill()
            error: Exception | None = self._running.pipe.recv()
        except (EOFError, OSError):
            return ScoringError("the process that scores did not start", [])
        return error

    def _open(self) -> _Running:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(self._settings, self.lane, theirs, os.getpid()), daemon=True)
        process.start()
        theirs.close()
        return _Running(process, ours)


class Scorers:
    """The processes of a service, one for each lane."""

    def __init__(self, settings: ServeSettings) -> None:
        self.lanes = {lane: ScoringProcess(settings, lane) for lane in LANES}

    def start(self, failed: Callable[[Exception], None]) -> None:
        """Starts all processes and returns at once; `failed` is called where one cannot be started."""
        for process in self.lanes.values():
            process.start(failed)

    def serve(self, task: ServedTask, is_awaited: Callable[[], bool]) -> ServedTask:
        """The task, scored by the process of its lane. `is_awaited`: whether anyone waits for the current batch."""
        return task._replace(score=partial(self.lanes[task.lane].score, task.path, is_awaited))

    def close(self) -> None:
        for process in self.lanes.values():
            process.close()


def warm(settings: ServeSettings, lane: Lane) -> None:
    """Loads everything that requests of a lane need; what is missing is a UserError now, not at the first request."""
    for task in tasks(settings, lane):
        if task.path in WARMING:
            request: Any = msgspec.convert(WARMING[task.path], task.request)
            (answer,) = task.score([task.prepare(request)])
            if isinstance(answer, Exception):
                raise answer
    if lane == MODELS:
        settings.open_models.entailment_model.probabilities([("a", "a")])


def _work(settings: ServeSettings, lane: Lane, pipe: Connection, parent: int) -> None:
    """Main function of the process: scores batches until the parent closes the pipe."""
    die_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM):  # they reach the parent, too, which answers what it has first
        signal.signal(number, signal.SIG_IGN)
    try:
        scoring = {task.path: task.score for task in tasks(settings, lane)}
        warm(settings, lane)
    except Exception as error:  # noqa: BLE001 (the parent raises it)
        pipe.send(_sendable(error))
        return
    pipe.send(None)
    while True:
        try:
            path, items = pipe.recv()
        except EOFError:
            return
        try:
            answers = [
                _sendable(answer) if isinstance(answer, Exception) else answer for answer in scoring[path](items)
            ]
            pipe.send(answers)
        except BaseException as error:  # noqa: BLE001 (the parent raises it; a panic of Rust code is no Exception)
            pipe.send(_sendable(error))


def _sendable(error: BaseException) -> Exception:
    """The error as the parent may log it: what users can mend as it is, any other by its name and lines of code."""
    return error if isinstance(error, UserError | RecursionError) else ScoringError.from_exception(error)
