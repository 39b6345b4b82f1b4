"""Files worked on in order, here or in processes of their own."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from troth.core.errors import UserError

Each = Callable[..., Iterable[Any]]


@contextmanager
def each_file(workers: int) -> Iterator[Each]:
    """What maps a function over files, in order: here, or in processes of their own."""
    if workers < 2 or "fork" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin":
        yield map
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork")) as pool:
        try:
            yield pool.map
        except BrokenProcessPool:
            raise UserError("a worker was ended from outside", hint="is memory short? --workers 1 takes less") from None
        finally:
            pool.shutdown(cancel_futures=True)
