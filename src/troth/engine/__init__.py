"""Parallel work in this process, on its cores, or on Ray: `parallel_map` gives the same results in the same order.

    from troth.engine import using

    with using("ray", address="auto"):
        troth.dst("s3://bucket/gold", "s3://bucket/predictions", workers=64)

`using` selects the engine for everything inside the block; no function takes an engine as an argument. Without it, work
is done in worker processes on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from troth.core.options import check_choice
from troth.engine import processes

Item = TypeVar("Item")
Model = TypeVar("Model")
Out = TypeVar("Out")

ENGINES = {"processes": "worker processes on this machine", "ray": "actors of a Ray cluster, or of Ray on this machine"}
SHARES = 4  # parts per actor of Ray: little is lost with a node, and the last part is short


@dataclass(frozen=True)
class Engine:
    """Which engine runs the work: processes of this machine, or Ray."""

    name: str = "processes"
    address: str | None = None  # of a Ray cluster; None: that of RAY_ADDRESS, else Ray is started on this machine
    ends: bool = False  # whether this process ends with its work: an interrupt then does not wait for Ray to stop


_ENGINE: ContextVar[Engine | None] = ContextVar("engine", default=None)


@contextmanager
def using(name: str, *, address: str | None = None, ends: bool = False) -> Iterator[None]:
    """Inside the block, work is done by this engine: "processes" or "ray". `ends`: the process ends with the work."""
    before = _ENGINE.set(Engine(check_choice("engine", name, ENGINES), address, ends))
    try:
        yield
    finally:
        _ENGINE.reset(before)


def parts(workers: int) -> int:
    """Number of parts to split work into for a number of workers (0: all available); 1: do not split."""
    engine = _ENGINE.get() or Engine()
    if engine.name == "ray":
        from troth.engine import cluster

        return SHARES * cluster.worker_count(workers, engine.address, ends=engine.ends)
    return processes.worker_count(workers)


def in_process(workers: int) -> bool:
    """Whether all work is done in this process, so that models that are already open can be used."""
    return (_ENGINE.get() or Engine()).name == "processes" and processes.worker_count(workers) == 1


def forks() -> bool:
    """Whether workers are forked: they cannot use threads of this process, such as those of polars."""
    return (_ENGINE.get() or Engine()).name == "processes"


@dataclass(frozen=True)
class WithModel(Generic[Item, Model, Out]):
    """A function of an item and a model, for `parallel_map`: each worker opens the model once."""

    function: Callable[[Item, Model], Out]
    open: Callable[[], Model]

    @cached_property
    def model(self) -> Model:
        return self.open()

    def __call__(self, item: Item) -> Out:
        return self.function(item, self.model)


def parallel_map(function: Callable[[Item], Out], items: Sequence[Item], workers: int) -> Generator[Out, None, None]:
    """The results of `function` on each item, in order, computed by up to `workers` workers (0: all available).

    On Ray, function and items are pickled once for each actor: what the function caches in itself, such as a model, is
    opened once per actor. The first error by the order of items is raised here.
    """
    engine = _ENGINE.get() or Engine()
    if engine.name == "ray":
        from troth.engine import cluster

        return cluster.parallel_map(function, items, workers, engine.address, ends=engine.ends)
    return processes.parallel_map(function, items, workers)
