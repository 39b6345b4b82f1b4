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

from troth.engine.guard import can_watch, guarded_folder, kill

pytestmark = pytest.mark.skipif(not can_watch(), reason="needs /proc")

HOLDS = "import sys, time; file = open(sys.argv[1], sys.argv[2]); print(flush=True); time.sleep(60)"
# A daemon whose parent has ended; and a process that is forked, and so holds whatever its parent had open.
STARTS = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
from troth.engine.guard import guarded_folder
with guarded_folder() as folder:
    shell = f'"{sys.executable}" -c "$0" "$1" w >/dev/null 2>&1 </dev/null & echo $!'
    started = subprocess.run(["sh", "-c", shell, sys.argv[1], folder + "/file"], capture_output=True, text=True)
    forked = os.fork()
    if not forked:
        time.sleep(60)
    while not os.path.exists(folder + "/file"):
        time.sleep(0.01)
    print(started.stdout.strip(), forked, folder, flush=True)
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
        [sys.executable, "-c", STARTS, HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdin is not None
        daemon, forked, folder = process.stdout.readline().split()
        try:
            assert alive(int(daemon))
            if ends is None:
                process.stdin.close()
            else:
                process.send_signal(ends)
            process.wait(timeout=20)
            assert soon(lambda: not alive(int(daemon)))
            assert soon(lambda: not Path(folder).exists())
            assert alive(int(forked))  # not theirs, though it keeps the pipe to the guard open
        finally:
            os.kill(int(forked), signal.SIGKILL)


def holding(path: str, mode: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDS, path, mode], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as said:
        said.readline()
    return process


def test_others_are_left_alone(tmp_path: Path) -> None:
    """Who reads a file of the folder, and who writes into one beside it."""
    others = []
    try:
        with guarded_folder() as folder:
            Path(folder, "log").touch()
            sibling = Path(folder + "x")
            sibling.mkdir()
            others = [holding(f"{folder}/log", "r"), holding(f"{sibling}/file", "w")]
            own = holding(f"{folder}/log", "a")
            kill(folder)
            assert own.wait(timeout=20) == -signal.SIGKILL
            (sibling / "file").unlink()
            sibling.rmdir()
        assert [one.poll() for one in others] == [None, None]
    finally:
        for one in others:
            one.kill()
            one.wait()


def test_a_folder_behind_a_link(tmp_path: Path) -> None:
    with guarded_folder() as real:
        link = f"{real}/link"
        os.mkdir(f"{real}/place")
        os.symlink(f"{real}/place", link)
        with guarded_folder(link) as folder:
            own = holding(f"{folder}/file", "w")
            kill(folder)
            assert own.wait(timeout=20) == -signal.SIGKILL
