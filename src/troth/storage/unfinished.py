"""What is being written: a file or folder with a hidden name beside its target, locked while its process lives.

A killed process leaves it behind. The next process that writes to the same folder finds nobody holding the lock, and
removes it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: parts are not locked, and not removed
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"(\.troth-[0-9a-f]{16}\.part)(-wal|-shm|-journal)?")  # the endings are SQLite's


@contextmanager
def unfinished(beside: Path, *, folder: bool) -> Iterator[Path]:
    """An empty file or folder in the folder of `beside`; what is left of it in the end is removed.

    Leftovers of killed processes in the same folder are removed first.
    """
    _sweep(beside.parent)
    part, lock = _made(beside.parent, folder)
    while lock is None:  # another process was about to remove it, before we could lock it
        part, lock = _made(beside.parent, folder)
    try:
        yield part
    finally:
        _remove(part)
        if lock >= 0:
            os.close(lock)


def is_part(name: str) -> bool:
    """Whether a file or folder of this name is unfinished: being written, or left by a killed process."""
    return _NAME.fullmatch(name) is not None


def _made(where: Path, folder: bool) -> tuple[Path, int | None]:
    """A new part and its lock: None if somebody else has it, -1 where there are no locks."""
    part = where / f".troth-{os.urandom(8).hex()}.part"  # unique, and never too long a name
    if folder:
        part.mkdir()
    else:
        part.touch(exist_ok=False)
    if fcntl is None:
        return part, -1
    try:
        return part, _locked(part)
    except (BlockingIOError, FileNotFoundError):
        return part, None
    except OSError:  # no locks on this file system: nobody removes it, either
        return part, -1


def _locked(part: Path) -> int:
    """An open file with a lock on a part. It is released when the process and its workers have ended."""
    number = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(number), os.lstat(part)):
            raise FileNotFoundError
    except BaseException:
        os.close(number)
        raise
    return number


def _sweep(where: Path) -> None:
    """Removes parts that no living process holds."""
    if fcntl is None:
        return
    with suppress(OSError):
        for name in [name for name in os.listdir(where) if name.startswith(".troth-")]:
            match = _NAME.fullmatch(name)
            if match is None or (match[2] and (where / match[1]).exists()):
                continue
            with suppress(OSError):
                lock = _locked(where / name)
                try:
                    _remove(where / name)
                finally:
                    os.close(lock)


def _remove(part: Path) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(part.lstat().st_mode):
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink()
