"""Ends the processes that a library has started when this process ends, including those that the library leaves behind.

They are recognised by a folder into which they write logs: /proc lists the open files of a process, whatever its parent
is. A guard process waits until this one ends, for whatever reason, kills the processes that still write into the
folder, and removes it. On systems without /proc, only the library itself ends its processes.
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

PATIENCE = 3.0  # seconds in which processes that were just being started are looked for again
LONGEST = 28  # letters of the folder for temporary files: names of sockets, far below it, have a limit


@contextmanager
def guarded_folder(parent: str | None = None) -> Iterator[str]:
    """A new folder in `parent`, or among temporary files. Processes that write into it end with this one."""
    usual = os.path.realpath(parent or tempfile.gettempdir())
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


def can_watch() -> bool:
    """Whether the processes of this machine are visible: /proc exists, and has the process ids of this namespace."""
    with suppress(OSError):
        return os.readlink("/proc/self") == str(os.getpid())
    return False


def kill(folder: str) -> None:
    """Kills all processes that write into a folder, and those that they are about to start."""
    end = time.monotonic() + PATIENCE
    while can_watch() and time.monotonic() < end and (pids := _writers(folder)):
        for process in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _writers(folder: str) -> list[int]:
    """Ids of the user's processes that have a file of the folder open for writing, except this one and its parent."""
    spared = {os.getpid(), os.getppid()}
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            is_candidate = int(process.name) not in spared and process.stat().st_uid == os.geteuid()
            if is_candidate and any(_writes_into(process, link, folder) for link in os.listdir(process / "fd")):
                pids.append(int(process.name))
    return pids


def _writes_into(process: Path, link: str, folder: str) -> bool:
    with suppress(OSError):  # closed by now
        if os.readlink(process / "fd" / link).startswith(folder + "/"):
            flags = next(line for line in (process / "fdinfo" / link).read_text().splitlines() if "flags" in line)
            return int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    parent, folder = int(sys.argv[1]), sys.argv[2]
    # The parent's end closes the input, unless a process that it forked holds the other end as well.
    while os.getppid() == parent and not select.select([sys.stdin], [], [], 0.5)[0]:
        pass
    kill(folder)
    shutil.rmtree(folder, ignore_errors=True)
