"""A lock on an open file: one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def locked(file: int) -> Iterator[None]:
    """Holds an open file for this process alone; the system releases it when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: callers must be safe without the lock, at the price of double work
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
