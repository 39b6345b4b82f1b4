"""A limit of processor time, for inputs on which a careless algorithm or pattern takes minutes.

The limit counts the time that this process computes, not the time on the clock, and is far above what the work takes.
So a busy machine fails no test.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def processor_limit(seconds: float = 30) -> Iterator[None]:
    """Fails when the work inside computes for longer than this."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"computed for more than {seconds:g} seconds: does the work grow with the square?")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
