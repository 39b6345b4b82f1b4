"""A function mapped over items by Ray Data: a pool of actors, with results in the order of the items.

Ray restarts an actor that is killed or runs out of memory, moves its work to another node when one leaves, and holds
reading back while results wait. Every item must return one result; a missing one is an error that names it.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import Any, TypeVar

from troth.core.errors import ImmediateExit, UserError
from troth.core.extras import require
from troth.core.version import __version__
from troth.engine.guard import can_watch, guarded_folder
from troth.engine.processes import sendable

Item = TypeVar("Item")
Out = TypeVar("Out")

RESTARTS = 3  # of an actor; its item is retried until then, also while Ray has not noticed a lost node
TIMEOUT = 10.0  # seconds to wait for a cluster to answer
LOOPBACK = "127.0.0.1"


@contextmanager
def _connect(workers: int, address: str | None, *, ends: bool) -> Iterator[Any]:
    """Ray, connected to a cluster, or started on this machine and stopped at the end.

    `ends`: this process ends with its work. Ray takes seconds to stop, so an interrupt leaves that to a guard process.
    """
    ray = require("ray", "ray.data", extra="ray")
    if ray.is_initialized():
        yield ray
        return
    target = address or os.environ.get("RAY_ADDRESS") or None
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    with redirect_stdout(sys.stderr), ExitStack() as stack:  # Ray prints messages about its workers to standard output
        if target is None:
            options |= {"num_cpus": workers or os.cpu_count(), "include_dashboard": False, "_temp_dir": _folder(stack)}
            options["_node_ip_address"] = LOOPBACK
            stack.enter_context(_listening_on_loopback())
        try:
            _init(ray, target, options)
            stack.callback(ray.shutdown)
            yield ray
        except KeyboardInterrupt:
            if ends and target is None and can_watch():  # no waiting: the guard kills the remaining processes
                raise ImmediateExit(stack.pop_all()) from None
            raise


@contextmanager
def _listening_on_loopback() -> Iterator[None]:
    """Makes Ray use 127.0.0.1 as the address of this machine.

    Otherwise it replaces this address by one that others can reach, listens on all interfaces, and runs what it is
    sent. Ray has this switch for systems on which it does not support clusters; its processes read the variable.
    """
    from ray._private import ray_constants

    variable = ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    before, enabled = os.environ.get(variable), ray_constants.ENABLE_RAY_CLUSTER
    os.environ[variable], ray_constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = enabled
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before


def _folder(stack: ExitStack) -> str:
    """A folder for Ray's files; processes that write into it end with this one."""
    index = os.environ.get("RAY_TMPDIR")
    try:
        return stack.enter_context(guarded_folder(index))
    except OSError as error:
        what = f"Ray has no folder for its files: {error.strerror}"
        raise UserError(what, file=index, hint="RAY_TMPDIR names another") from error


def _init(ray: Any, target: str | None, options: dict[str, Any]) -> None:
    try:
        _check_reachable(target)  # Ray itself would try for minutes
        ray.init(address=target or "local", **options)  # not a cluster that another program left on this machine
    except (ConnectionError, OSError, ValueError, RuntimeError, TimeoutError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"Ray cannot be reached: {first}", file=target, hint="ray start --head prints its address"
        ) from error


def _check_reachable(target: str | None) -> None:
    """Raises an error if no server listens at an address HOST:PORT."""
    host, _, port = (target or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        with socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT):
            pass


def worker_count(workers: int, address: str | None, *, ends: bool = False) -> int:
    """Number of actors: `workers`, or for 0 the processors of the cluster."""
    if workers:
        return workers
    if not address and not os.environ.get("RAY_ADDRESS"):
        return os.cpu_count() or 1
    with _connect(workers, address, ends=ends) as ray:
        return max(1, int(ray.cluster_resources().get("CPU", 1)))


class _Actor:
    """One worker: function and items, unpickled once."""

    def __init__(self, payload: Any) -> None:
        import ray

        version, self.function, self.items = pickle.loads(ray.get(payload[0]))  # noqa: S301 (ours, made by the driver)
        self.fault = None if version == __version__ else f"troth {__version__} on a node, and {version} here"

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        (index,) = batch["item"]
        try:
            if self.fault is not None:
                raise UserError(self.fault, hint="install the same version everywhere")
            answer: tuple[Any, Exception | None] = (self.function(self.items[int(index)]), None)
        except Exception as error:  # noqa: BLE001 (raised again by the driver)
            answer = (None, sendable(error))
        return {"item": [int(index)], "answer": [pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)]}


def parallel_map(
    function: Callable[[Item], Out], items: Sequence[Item], workers: int, address: str | None, *, ends: bool = False
) -> Generator[Out, None, None]:
    """The results of `function` on each item, in order, computed by a pool of up to `workers` actors."""
    if len(items) < 2:
        yield from map(function, items)
        return
    with _connect(workers, address, ends=ends) as ray:
        processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
        count = min(len(items), workers or processors)
        pool = ray.data.ActorPoolStrategy(min_size=min(count, processors), max_size=count)
        answers = _answers(ray, function, items, pool)
        waiting: dict[int, Any] = {}
        index = 0
        try:
            for number, data in answers:
                waiting[number] = data
                while index in waiting:
                    result, error = pickle.loads(waiting.pop(index))  # noqa: S301 (ours, made by the actors)
                    if error is not None:
                        raise error
                    index += 1
                    yield result
        except ray.exceptions.RayError as error:
            raise _lost(index, len(items), _cause(error)) from error
        if index < len(items):
            raise _lost(index, len(items), "the results did not arrive")


def _answers(ray: Any, function: Callable[[Any], Any], items: Sequence[Any], pool: Any) -> Iterator[tuple[int, bytes]]:
    """Index and pickled answer of each item, in the order of arrival."""
    from ray import cloudpickle

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    payload = ray.put(cloudpickle.dumps((__version__, function, list(items))))
    rows = ray.data.from_items([{"item": index} for index in range(len(items))], override_num_blocks=len(items))
    with warnings.catch_warnings():  # the number of restarts is an option that Ray means to drop, and has no other for
        warnings.simplefilter("ignore", DeprecationWarning)
        done = rows.map_batches(
            _Actor, fn_constructor_args=([payload],), batch_size=1, num_cpus=1, max_restarts=RESTARTS,
            max_task_retries=-1, compute=pool,
        )  # fmt: skip
    for row in done.iter_rows():
        yield int(row["item"]), bytes(row["answer"])


def _lost(done: int, total: int, reason: str) -> UserError:
    what = f"Ray lost part {done + 1} of {total} and gave no result: {reason}"
    return UserError(what, hint="nothing was written; is memory short, or did a node leave? Run the same command again")


def _cause(error: BaseException) -> str:
    """The first line of the innermost error."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
