"""Folders in which a later call resumes the work: a record in them has everything that the work depends on.

The record holds options, and digests of what was read. A call that differs in one of them is refused, so that a folder
never holds the results of two different runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.storage.files import OTHER_NAME, replaced_file, writing
from troth.storage.locks import try_lock
from troth.storage.unfinished import is_temporary

START_ANEW = "name another folder to start anew"


class Claim(NamedTuple):
    """What a folder is for: `identity` must be equal to resume it; `about` is for readers of the file."""

    file: str  # name of the record in the folder
    kind: str  # what an existing folder must be, such as "a training run"
    identity: Mapping[str, Any]
    about: Mapping[str, Any] = {}

    def check(self, folder: Path) -> None:
        """Checks that the folder is new or empty, or has the same work."""
        if (before := self._read(folder)) is not None:
            check_equal(folder, self.kind, before, self.identity)

    @contextmanager
    def working(self, folder: Path) -> Iterator[None]:
        """Claims the folder for this work and keeps other processes out of it."""
        self.check(folder)
        with writing(str(folder), OTHER_NAME):
            folder.mkdir(parents=True, exist_ok=True)
        with working_alone(folder):
            self.make(folder)
            yield

    def make(self, folder: Path) -> None:
        """Checks the folder and writes the record to it."""
        self.check(folder)
        with writing(str(folder), OTHER_NAME):
            folder.mkdir(parents=True, exist_ok=True)
        record = {**self.about, **self.identity}
        if self._read(folder) != _plain(record):
            with replaced_file(str(folder / self.file), lambda _: None) as out:
                out.write(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")

    def _read(self, folder: Path) -> dict[str, Any] | None:
        """The record of a folder; None if the folder is new or empty."""
        with writing(str(folder), OTHER_NAME):
            if (folder / self.file).is_file():
                with reading(folder / self.file, hint=START_ANEW):
                    return msgspec.json.decode((folder / self.file).read_bytes(), type=dict[str, Any])
            if os.path.lexists(folder) and not (folder.is_dir() and all(map(is_temporary, os.listdir(folder)))):
                raise UserError(f"exists and is not {self.kind}", file=str(folder), hint="name a new folder")
        return None


def check_equal(folder: Path, kind: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises a UserError that names what differs between a run that was begun and this one."""
    if changes := [name for name, value in _plain(now).items() if before.get(name) != value]:
        raise UserError(f"holds {kind} with another {' and '.join(changes)}", file=str(folder), hint=START_ANEW)


@contextmanager
def working_alone(folder: Path) -> Iterator[None]:
    """Keeps other processes from working in a folder at the same time, where the system has locks."""
    try:
        descriptor = try_lock(folder)
    except BlockingIOError:
        what = "another process is working in this folder"
        raise UserError(what, file=str(folder), hint="wait for it, or name another folder") from None
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.close(descriptor)


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as it is read back from its file."""
    return msgspec.json.decode(msgspec.json.encode(record), type=dict[str, Any])
