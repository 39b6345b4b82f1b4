"""Processes of a library end with ours, however that ends, and whoever their parent is by then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from troth.engine.marked import kill, marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

# A daemon of whom nobody is the parent any more: one that keeps its environment, one that holds a file and lost it.
STARTS = """
import os, subprocess, sys, time
from troth.engine.marked import marked
with marked() as folder:
    script = "import sys, time; file = open(sys.argv[1], 'w'); time.sleep(60)"
    for name, more in (("named", {}), ("open", {"env": {"PATH": os.environ["PATH"]}})):
        place = folder + "/file" if name == "open" else os.devnull
        shell = f'"{sys.executable}" -c "$0" "$1" >/dev/null 2>&1 </dev/null & echo $!'
        started = subprocess.run(["sh", "-c", shell, script, place], capture_output=True, text=True, **more)
        print(started.stdout.strip(), flush=True)
    while not os.path.exists(folder + "/file"):
        time.sleep(0.01)
    print(folder, flush=True)
    sys.stdin.read()
"""


def alive(process: int) -> bool:
    """Whether a process runs: one that has ended and that nobody has asked about does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def soon(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, None])
def test_they_end_with_the_process_that_started_them(ends: signal.Signals | None) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdin is not None
        named, opened = (int(process.stdout.readline()) for _ in range(2))
        folder = process.stdout.readline().strip()
        assert alive(named)
        assert alive(opened)
        if ends is None:
            process.stdin.close()
        else:
            process.send_signal(ends)
        process.wait()
        assert soon(lambda: not alive(named) and not alive(opened))
    assert soon(lambda: not Path(folder).exists())


def test_others_are_left_alone() -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with marked() as folder:
            own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            assert os.environ["TROTH_MARK"] == folder
            kill(folder)
            assert own.wait() == -signal.SIGKILL
        assert "TROTH_MARK" not in os.environ
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
