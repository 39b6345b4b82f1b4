"""Mapping in processes: order, errors, workers that are killed, parents that are killed, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from troth.core import progress
from troth.core.errors import UserError
from troth.engine.processes import parallel_map, worker_count

FORKS = worker_count(2) == 2
needs_fork = pytest.mark.skipif(not FORKS, reason="processes cannot be forked here")


@pytest.mark.parametrize("workers", [0, 1, 2, 3, 50])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 40])
def test_results_come_in_the_order_of_the_items(count: int, workers: int) -> None:
    assert list(parallel_map(lambda n: n * n, range(count), workers)) == [n * n for n in range(count)]


@needs_fork
def test_items_are_worked_on_by_other_processes_but_the_first() -> None:
    pids = list(parallel_map(lambda _: os.getpid(), range(6), 2))
    assert pids[0] == os.getpid()
    assert os.getpid() not in pids[1:]
    assert len(set(pids[1:])) <= 2


def test_slow_items_do_not_change_the_order() -> None:
    def slow(n: int) -> int:
        time.sleep(0.05 if n in (0, 1) else 0)
        return n

    assert list(parallel_map(slow, range(8), 3)) == list(range(8))


@needs_fork
def test_workers_draw_no_bars(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)

    def work(number: int) -> None:
        with progress.bar(f"item {number}") as step:
            step(1, 2)

    list(parallel_map(work, range(3), 2))
    assert capfd.readouterr().err == "troth: item 0: 50% done, about 1 min left\n"


def test_results_larger_than_a_pipe_arrive() -> None:
    sizes = [len(data) for data in parallel_map(lambda n: b"x" * (n * 300_000), range(6), 2)]
    assert sizes == [n * 300_000 for n in range(6)]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_first_error_by_order_is_raised_with_its_place(workers: int) -> None:
    def fails(n: int) -> int:
        if n >= 3:
            raise UserError(f"bad item {n}", file="a.json", turn=n, hint="mend it")
        return n

    results = parallel_map(fails, range(9), workers)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UserError) as caught:
        next(results)
    assert (caught.value.what, caught.value.file, caught.value.turn) == ("bad item 3", "a.json", 3)
    assert str(caught.value) == "a.json: turn 3: bad item 3 (mend it)"


@needs_fork
def test_a_bug_in_a_worker_keeps_its_class_and_tells_where() -> None:
    def bug(n: int) -> float:
        return 1 / (1 - n)

    with pytest.raises(ZeroDivisionError) as caught:
        list(parallel_map(bug, range(3), 2))
    assert "in bug" in "".join(caught.value.__notes__)


@needs_fork
def test_an_error_that_cannot_be_pickled_is_told_as_text() -> None:
    class LocalError(Exception):
        pass

    def bug(n: int) -> int:
        if n:
            raise LocalError("of its own kind")
        return n

    with pytest.raises(RuntimeError, match="of its own kind"):
        list(parallel_map(bug, range(3), 2))


@needs_fork
def test_a_result_that_cannot_be_pickled_is_an_error() -> None:
    with pytest.raises(Exception, match="pickle"):
        list(parallel_map(lambda n: lambda: n, range(3), 2))


@needs_fork
def test_a_killed_worker_is_an_error_in_one_line() -> None:
    def dies(n: int) -> int:
        if n == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    with pytest.raises(UserError, match="a worker process was killed"):
        list(parallel_map(dies, range(5), 2))


@needs_fork
def test_a_worker_starts_no_workers() -> None:
    assert list(parallel_map(lambda _: worker_count(4), range(3), 2)) == [4, 1, 1]


@needs_fork
def test_no_worker_is_left_when_the_caller_stops_early() -> None:
    results = parallel_map(lambda _: os.getpid(), range(50), 2)
    next(results)
    child = next(results)
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


SCRIPT = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
from troth.engine.processes import parallel_map
def work(n):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    time.sleep(60)
list(parallel_map(work, range(6), 2))
"""


def _started(folder: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A program with two workers in the middle of their items, and the ids of its processes."""
    program = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], stderr=subprocess.PIPE, process_group=0)
    deadline = time.monotonic() + 30
    while len(list(folder.iterdir())) < 3:
        assert time.monotonic() < deadline, "the workers did not start"
        time.sleep(0.02)
    return program, [int(file.name) for file in folder.iterdir()]


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _all_gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 10
    while any(map(_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(_running, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends children with their parent")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program, pids = _started(tmp_path)
    program.kill()
    program.communicate()
    assert _all_gone(pids)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_ends_everything_and_no_worker_prints_a_traceback(tmp_path: Path) -> None:
    program, pids = _started(tmp_path)
    os.killpg(program.pid, signal.SIGINT)
    _, said = program.communicate(timeout=20)
    assert _all_gone(pids)
    assert said.count(b"Traceback") == 1  # the parent's own, which the command line turns into one line


AFTER_TORCH = """
import torch
from troth.engine import parallel_map
torch.set_num_threads(2)  # whatever OMP_NUM_THREADS says
x = torch.randn(800, 800)
work = lambda n: float((torch.nn.functional.gelu(x) @ x).sum() * 0 + n)
work(0)
print(list(parallel_map(work, range(4), 2)), list(parallel_map(work, range(4), 2)))
"""


@needs_fork
def test_workers_do_not_wait_for_threads_of_torch_in_the_parent() -> None:
    pytest.importorskip("torch", reason="needs the extra 'neural'")
    done = subprocess.run([sys.executable, "-c", AFTER_TORCH], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0]"
