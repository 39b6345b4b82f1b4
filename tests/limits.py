"""Limits of processor time, for inputs on which a careless algorithm or pattern takes minutes.

The limit counts the time that this process computes, not the time on the clock, and is far above what the work takes.
So a busy machine fails no test.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from troth.core.text_cache import forget_texts

NOISE = 0.25  # seconds of processor time that say nothing


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


def measure_time(function: Callable[[str], Any], text: str) -> float:
    forget_texts()
    begin = time.process_time()
    function(text)
    return time.process_time() - begin


def grows_too_fast(function: Callable[[str], Any], unit: str, length: int) -> bool:
    """Whether a text of eight times the length takes more than 24 times as long; with the square it takes 64 times.

    Asked again before it is believed: a busy machine may stop anything for a moment, but not three times.
    """
    short, long = (unit * (size // len(unit)) for size in (length, 8 * length))
    return all(measure_time(function, long) > NOISE + 24 * measure_time(function, short) for _ in range(3))
