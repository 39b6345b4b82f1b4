"""A function mapped over items in forked processes, with results in the order of the items.

Function and items reach the workers by forking, so that closures and opened files are fine; only results are pickled.
Workers end with their parent, however it ends.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, TypeVar

from troth.core.errors import UserError
from troth.core.progress import silence_bars

Item = TypeVar("Item")
Out = TypeVar("Out")

PR_SET_PDEATHSIG = 1  # prctl(2): the signal that a process gets when its parent ends


class _Answer(NamedTuple):
    """A worker's message about one item: a result, or an error."""

    item: int  # its index
    result: Any
    error: Exception | None


def worker_count(workers: int) -> int:
    """Number of processes: `workers`, one per core for 0, and always 1 where processes cannot be forked."""
    forks = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    if not forks or multiprocessing.current_process().daemon:  # a worker has no workers of its own
        return 1
    return workers or os.cpu_count() or 1


def parallel_map(function: Callable[[Item], Out], items: Sequence[Item], workers: int) -> Generator[Out, None, None]:
    """The results of `function` on each item, in order, computed by up to `workers` processes (0: one per core).

    The first item is computed in this process, the others in child processes, each of which takes the next item when it
    is done with one. The first error by the order of items is raised here. With one worker or one item no process is
    forked.
    """
    workers = worker_count(workers)
    if workers < 2 or len(items) < 2:
        yield from map(function, items)
        return
    context = multiprocessing.get_context("fork")
    following = context.Value("q", 1)  # index of the next item

    def take() -> int:
        with following.get_lock():
            following.value += 1
            return int(following.value) - 1

    children = []
    open_pipes: list[Connection] = []
    try:
        for _ in range(min(workers, len(items) - 1)):
            receive, send = context.Pipe(duplex=False)
            child = context.Process(target=_work, args=(function, items, take, send, os.getpid()), daemon=True)
            child.start()
            send.close()
            children.append(child)
            open_pipes.append(receive)
        yield function(items[0])
        answers: dict[int, _Answer] = {}
        for index in range(1, len(items)):
            while index not in answers:
                for pipe in wait(open_pipes):
                    _receive(pipe, open_pipes, answers)  # type: ignore[arg-type]
            answer = answers.pop(index)
            if answer.error is not None:
                raise answer.error
            yield answer.result
    finally:
        for child in children:
            child.kill()
            child.join()
        for pipe in open_pipes:
            pipe.close()


def _receive(pipe: Connection, open_pipes: list[Connection], answers: dict[int, _Answer]) -> None:
    """Receives one answer from a pipe. A worker sends None when it is done; one whose pipe just closes was killed."""
    try:
        answer = pipe.recv()
    except EOFError:
        raise UserError("a worker process was killed", hint="is memory short? Fewer workers need less") from None
    if answer is None:
        open_pipes.remove(pipe)
        pipe.close()
    else:
        answers[answer.item] = answer


def _work(
    function: Callable[[Any], Any], items: Sequence[Any], take: Callable[[], int], send: Connection, parent: int
) -> None:
    """Main function of a worker: takes items and sends answers until there are no more."""
    die_with(parent)
    silence_bars()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends its workers quietly
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)  # the parent's threads are not forked: waiting for them would never end
    while (index := take()) < len(items):
        try:
            answer = _Answer(index, function(items[index]), None)
            data = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # noqa: BLE001 (raised again by the parent)
            data = pickle.dumps(_Answer(index, None, sendable(error)))
        send.send_bytes(data)
    send.send(None)
    send.close()
    os._exit(0)  # forked buffers and exit handlers belong to the parent


def sendable(error: Exception) -> Exception:
    """The error with the worker's traceback as a note; or its text, if it cannot be pickled."""
    if not isinstance(error, UserError):
        error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 (made just now)
    except Exception:  # noqa: BLE001 (whatever its class does in pickling)
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def die_with(parent: int) -> None:
    """On Linux, a worker is killed when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that
            os._exit(1)
