"""Libraries in Rust that panic: they print a backtrace to file descriptor 2 before Python gets an exception."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_backtrace() -> Iterator[None]:
    """Drops all output to file descriptor 2 in the block. The exception itself is raised as usual."""
    try:
        saved = os.dup(2)
    except OSError:  # standard error is closed
        yield
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)
