"""Scores in a process of its own, so that work that does not end can be killed.

A thread cannot be ended, and a call into a library may hold Python's global lock; then no other thread runs, neither
the one that answers `/health` nor the one that handles signals.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from troth.core.errors import UserError
from troth.engine.processes import die_with
from troth.serve.settings import ServeSettings
from troth.serve.tasks import ServedTask, tasks
from troth.serve.watch import ScoringError

CHECKED_EVERY = 0.05  # seconds


class ScoringProcess:
    """Loads the models and scores batches in a process, which is started again after it was killed."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = replace(settings)  # without the models that this process has opened
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Starts the process and waits until its models are loaded; a missing one is a UserError."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(self._settings, theirs, os.getpid()), daemon=True)
        self._process.start()
        theirs.close()
        try:
            error = self._pipe.recv()
        except (EOFError, OSError):
            error = ScoringError("the process that scores did not start", [])
        if error is not None:
            self.kill()
            raise error

    def serve(self, task: ServedTask, is_awaited: Callable[[], bool]) -> ServedTask:
        """The task with this process as its scorer. `is_awaited`: whether anyone still waits for the current batch."""
        return task._replace(score=partial(self._score, task.path, is_awaited))

    def kill(self) -> None:
        """Ends the process at once; the next batch starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _score(self, path: str, is_awaited: Callable[[], bool], items: Sequence[Any]) -> Sequence[Any]:
        if self._pipe is None:
            self.start()
        assert self._pipe is not None
        try:
            self._pipe.send((path, list(items)))
            while not self._pipe.poll(CHECKED_EVERY):
                if not is_awaited():
                    raise ScoringError("killed: no answer in time", [])
            answers = self._pipe.recv()
        except (EOFError, OSError) as error:
            self.kill()
            raise ScoringError("the process that scores has ended", []) from error
        except ScoringError:
            self.kill()
            raise
        if isinstance(answers, Exception):
            raise answers
        return answers  # type: ignore[no-any-return]


def warm(settings: ServeSettings) -> None:
    """Loads the models that every request needs; what is missing is a UserError now, not at the first request."""
    for task in tasks(settings):
        if task.path == "/ground":
            task.score([task.request("A table for two is booked.", "A table is booked.")])
    settings.open_models.entailment_model.probabilities([("a", "a")])


def _work(settings: ServeSettings, pipe: Connection, parent: int) -> None:
    """Main function of the process: scores batches until the parent closes the pipe."""
    die_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM):  # they reach the parent, too, which answers what it has first
        signal.signal(number, signal.SIG_IGN)
    try:
        scoring = {task.path: task.score for task in tasks(settings)}
        warm(settings)
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
    return error if isinstance(error, UserError | RecursionError) else ScoringError.of(error)
