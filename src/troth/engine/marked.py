"""Processes that a library starts, ended with ours: also those that the library would leave behind.

They are known by a folder that is theirs: its name is in their environment, and with it in that of whatever they start
themselves; and they hold files in it open. Both can be read in /proc, whoever their parent is by then. A guard, a
process of its own, waits until ours ends, however it ends, kills what still belongs to the folder, and removes it.
Where there is no /proc, the library has to see to it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = "TROTH_MARK"
PATIENCE = 3.0  # seconds in which what was being started at the end is looked for again
LONGEST = 20  # letters of the folder for temporary files: names of sockets, far below it, have a limit


@contextmanager
def marked() -> Iterator[str]:
    """A new folder; what is started within belongs to it, and ends with this process at the latest."""
    usual = tempfile.gettempdir()
    folder = tempfile.mkdtemp(prefix="troth-", dir=usual if len(usual) <= LONGEST else "/tmp")  # noqa: S108
    command = [sys.executable, "-I", __file__, folder]
    quiet = subprocess.DEVNULL
    guard = subprocess.Popen(  # noqa: S603 (ourselves)
        command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True
    )
    os.environ[NAME] = folder
    try:
        yield folder
    finally:
        os.environ.pop(NAME)
        guard.communicate()  # closes its input


def kill(folder: str) -> None:
    """Kills all processes that belong to a folder, and those that they were about to start."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and (found := _belonging(folder)):
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _belonging(folder: str) -> list[int]:
    """The processes of a folder that have not ended, but for this one and the one that began it."""
    spared = {os.getpid(), os.getppid()}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is somebody else's
            if int(process.name) not in spared and (_named(process, folder) or _opened(process, folder)):
                found.append(int(process.name))
    return found


def _named(process: Path, folder: str) -> bool:
    return f"{NAME}={folder}\0".encode() in (process / "environ").read_bytes()


def _opened(process: Path, folder: str) -> bool:
    for link in (process / "fd").iterdir():
        with suppress(OSError):  # closed by now
            if os.readlink(link).startswith(folder + "/"):
                return True
    return False


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdin.buffer.read()  # until the process that holds the other end closes it, or ends
    kill(sys.argv[1])
    shutil.rmtree(sys.argv[1], ignore_errors=True)
