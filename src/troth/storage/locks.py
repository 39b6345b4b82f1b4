"""One process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def locked(file: int) -> Iterator[None]:
    """Hold an open file for this process alone. It is let go of when the process ends, however that happens."""
    try:
        import fcntl
    except ImportError:  # Windows: what comes after must be safe without, and is, only with more work done twice
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
