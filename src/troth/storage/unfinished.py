"""Temporary files and folders beside their target, under a hidden name, locked while their process is alive.

A killed process leaves them behind. The next process that writes to the same folder finds them unlocked and removes
them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from troth.storage.locks import try_lock

_NAME = re.compile(r"(\.troth-[0-9a-f]{16}\.part)(-wal|-shm|-journal)?")  # the endings are SQLite's


@contextmanager
def temporary_sibling(target: Path, *, folder: bool) -> Iterator[Path]:
    """An empty file or folder in the folder of `target`; removed at the end if it is still there.

    Leftovers of killed processes in the same folder are removed first.
    """
    _remove_leftovers(target.parent)
    path, descriptor = _create(target.parent, folder)
    while descriptor is None:  # another process was about to remove it before it was locked
        path, descriptor = _create(target.parent, folder)
    try:
        yield path
    finally:
        _remove(path)
        if descriptor >= 0:
            os.close(descriptor)


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is being written, or was left by a killed process."""
    return _NAME.fullmatch(name) is not None


def _create(parent: Path, folder: bool) -> tuple[Path, int | None]:
    """A new file or folder and the descriptor of its lock: None if another process has it, -1 without locks."""
    path = parent / f".troth-{os.urandom(8).hex()}.part"  # unique, and never too long a name
    if folder:
        path.mkdir()
    else:
        path.touch(exist_ok=False)
    try:
        return path, try_lock(path)
    except (BlockingIOError, FileNotFoundError):
        return path, None
    except OSError:  # without locks, no other process removes it
        return path, -1


def _remove_leftovers(parent: Path) -> None:
    """Removes temporary files and folders that no process has locked."""
    with suppress(OSError):
        for name in [name for name in os.listdir(parent) if name.startswith(".troth-")]:
            match = _NAME.fullmatch(name)
            if match is None or (match[2] and (parent / match[1]).exists()):
                continue
            with suppress(OSError):
                descriptor = try_lock(parent / name)
                try:
                    _remove(parent / name)
                finally:
                    os.close(descriptor)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
