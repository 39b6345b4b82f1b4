"""A lock on an open file or folder: one process at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STEP = 0.01  # seconds between two attempts


@contextmanager
def locked(file: int, wait: float | None = None) -> Iterator[None]:
    """Holds an open file for this process alone; the system releases it when the process ends, however it ends.

    `wait`: seconds after which the work goes on without the lock. Callers must be safe without it, since some systems
    have none (Windows, some network disks); they may do work twice then.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    until = None if wait is None else time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if until is None else fcntl.LOCK_NB))
        except BlockingIOError:
            if until is not None and time.monotonic() < until:
                time.sleep(STEP)
                continue
        break
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
