"""The same work in one process, on the cores, or on Ray: `mapped` gives the same results in the same order everywhere.

    from troth.engine import using

    with using("ray", address="auto"):
        troth.dst("s3://bucket/gold", "s3://bucket/predictions", workers=64)

`using` chooses the engine for everything inside it, as a display is chosen for progress bars: no function takes an
engine. Without it, work is done in this process and on the cores.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from troth.core.options import one_of
from troth.engine import processes

Item = TypeVar("Item")
Model = TypeVar("Model")
Out = TypeVar("Out")

ENGINES = {"processes": "worker processes on this machine", "ray": "actors of a Ray cluster, or of Ray on this machine"}
SHARES = 4  # parts for each actor of Ray: what is lost with a node is small, and nobody waits long for the last one


@dataclass(frozen=True)
class Engine:
    """Which engine runs the work: processes of this machine, or Ray."""

    name: str = "processes"
    address: str | None = None  # of a Ray cluster; None: that of RAY_ADDRESS, else Ray is started on this machine
    ends: bool = False  # this process ends with its work: an interrupt need not wait until Ray has stopped


_ENGINE: ContextVar[Engine | None] = ContextVar("engine", default=None)


@contextmanager
def using(name: str, *, address: str | None = None, ends: bool = False) -> Iterator[None]:
    """While inside, work is done by this engine: "processes" or "ray". `ends`: the process ends with it."""
    before = _ENGINE.set(Engine(one_of("engine", name, ENGINES), address, ends))
    try:
        yield
    finally:
        _ENGINE.reset(before)


def parts(workers: int) -> int:
    """Into how many parts work should be cut for so many workers (0: as many as there are); 1: not at all."""
    engine = _ENGINE.get() or Engine()
    if engine.name == "ray":
        from troth.engine import cluster

        return SHARES * cluster.usable(workers, engine.address, ends=engine.ends)
    return processes.usable(workers)


def alone(workers: int) -> bool:
    """Whether all work is done in this process: then models that are open already can be used."""
    return (_ENGINE.get() or Engine()).name == "processes" and processes.usable(workers) == 1


def forks() -> bool:
    """Whether workers are forked: they cannot use threads that this process has started, such as those of polars."""
    return (_ENGINE.get() or Engine()).name == "processes"


@dataclass(frozen=True)
class WithModel(Generic[Item, Model, Out]):
    """A function of an item and a model (or whatever takes long to open), for `mapped`: each worker opens it once."""

    function: Callable[[Item, Model], Out]
    open: Callable[[], Model]

    @cached_property
    def model(self) -> Model:
        return self.open()

    def __call__(self, item: Item) -> Out:
        return self.function(item, self.model)


def mapped(function: Callable[[Item], Out], items: Sequence[Item], workers: int) -> Generator[Out, None, None]:
    """The results of `function` on each item, in order, computed by up to `workers` workers (0: all there are).

    On Ray, function and items are pickled once for each actor: what the function caches in itself, such as a model, is
    opened once per actor. The first error by the order of items is raised here.
    """
    engine = _ENGINE.get() or Engine()
    if engine.name == "ray":
        from troth.engine import cluster

        return cluster.mapped(function, items, workers, engine.address, ends=engine.ends)
    return processes.mapped(function, items, workers)
