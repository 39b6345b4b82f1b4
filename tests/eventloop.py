"""Coroutines in tests: by a loop of their own, since the browser's tests leave one running in their thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def finished(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What the coroutine returns that `make` makes."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(make())).result()
