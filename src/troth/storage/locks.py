"""Advisory locks on files and folders: one process at a time.

The system releases a lock when its process ends, however it ends. Some systems have no such locks (Windows, some
network disks): callers must be correct without them, and may then do work twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

STEP = 0.01  # seconds between two attempts


@contextmanager
def lock(path: str | os.PathLike[str], wait: float | None = None) -> Iterator[None]:
    """Locks a file or folder for this process; continues without the lock after `wait` seconds, or if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # it does not exist, or the system does not open folders
        yield
        return
    try:
        if fcntl is not None:
            with suppress(OSError):
                _acquire(descriptor, wait)
        yield
    finally:
        os.close(descriptor)  # releases the lock


def _acquire(descriptor: int, wait: float | None) -> None:
    if wait is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return None
    deadline = time.monotonic() + wait
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return None
            time.sleep(STEP)


def try_lock(path: str | os.PathLike[str]) -> int:
    """Locks a file or folder without waiting; returns the descriptor that holds the lock until it is closed.

    Raises BlockingIOError if another process has the lock, FileNotFoundError if the path is removed meanwhile, and
    another OSError if there are no locks.
    """
    if fcntl is None:
        raise OSError("no locks on this system")
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), os.lstat(path)):
            raise FileNotFoundError
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
