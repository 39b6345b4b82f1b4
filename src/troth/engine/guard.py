"""Processes that a library starts, ended with ours: also those that the library would leave behind.

They are known by a folder of their own in which they write logs: the files that a process has open can be read in
/proc, whoever its parent is by then. A guard, a process of its own, waits until ours ends, however it ends, kills what
still writes into the folder, and removes it. Where there is no /proc, the library has to see to it.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 3.0  # seconds in which what was being started at the end is looked for again
LONGEST = 28  # letters of the folder for temporary files: names of sockets, far below it, have a limit


@contextmanager
def guarded(place: str | None = None) -> Iterator[str]:
    """A new folder, in `place` or where temporary files are. What writes into it ends with this process at last."""
    usual = os.path.realpath(place or tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix="troth-", dir=usual if len(usual) <= LONGEST else "/tmp")  # noqa: S108
    command = [sys.executable, "-I", __file__, str(os.getpid()), folder]
    quiet = subprocess.DEVNULL
    guard = subprocess.Popen(  # noqa: S603 (ourselves)
        command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        yield folder
    finally:
        with suppress(subprocess.TimeoutExpired, OSError):
            guard.communicate(b"\n", timeout=2 * PATIENCE)


def watchable() -> bool:
    """Whether the processes of this machine can be looked at here: /proc is there, and is that of our own numbers."""
    with suppress(OSError):
        return os.readlink("/proc/self") == str(os.getpid())
    return False


def kill(folder: str) -> None:
    """Kills all processes that write into a folder, and those that they were about to start."""
    end = time.monotonic() + PATIENCE
    while watchable() and time.monotonic() < end and (found := _writers(folder)):
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _writers(folder: str) -> list[int]:
    """Our user's processes that have a file of the folder open to write, but for this one and its parent."""
    spared = {os.getpid(), os.getppid()}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            own = int(process.name) not in spared and process.stat().st_uid == os.geteuid()
            if own and any(_written(process, link, folder) for link in os.listdir(process / "fd")):
                found.append(int(process.name))
    return found


def _written(process: Path, link: str, folder: str) -> bool:
    with suppress(OSError):  # closed by now
        if os.readlink(process / "fd" / link).startswith(folder + "/"):
            flags = next(line for line in (process / "fdinfo" / link).read_text().splitlines() if "flags" in line)
            return int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    parent, folder = int(sys.argv[1]), sys.argv[2]
    # Its end closes our input, unless a process that it forked holds the other end as well.
    while os.getppid() == parent and not select.select([sys.stdin], [], [], 0.5)[0]:
        pass
    kill(folder)
    shutil.rmtree(folder, ignore_errors=True)
