"""Files and folders written whole or not at all: they are written under a hidden name beside their target, then moved.

`new_file` and `new_folder` replace nothing; `replaced_file` and `replaced_folder` replace only what belongs to troth. A
crash at any moment, also of the whole machine, leaves the old content or the new one: everything is on the disk before
it is moved.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from troth.core.errors import UserError
from troth.storage.locks import lock
from troth.storage.unfinished import temporary_sibling

NO_ROOM = "is there room, and permission to write?"
OTHER_NAME = "choose another name"
WAIT = 10.0  # seconds to wait for a process that replaces a folder


def check_new(out: str, kind: str = "file") -> Path:
    """Checks, before any work is done, that nothing has this name and that its parent folder exists."""
    target = Path(out)
    with writing(out, OTHER_NAME):
        if target.exists() or target.is_symlink():
            raise _exists(out, kind)
        _check_parent(target, out)
    return target


def check_distinct(*outputs: str | None) -> None:
    """Checks, before any work is done, that no two outputs of a command have the same path; None: not asked for."""
    paths: set[str] = set()
    for output in outputs:
        if output is None:
            continue
        with writing(output, OTHER_NAME):
            path = os.path.realpath(output)
        if path in paths:
            raise UserError("is named for two outputs", file=output, hint="name a file for each")
        paths.add(path)


def check_replaceable(out: str, foreign: Callable[[Path], str | None]) -> Path:
    """Checks, before any work is done, that an existing file or folder belongs to troth and can be replaced.

    `foreign` describes content that does not belong to troth. Returns the path with links resolved, so that a link
    stays one.
    """
    with writing(out, OTHER_NAME):
        target = Path(os.path.realpath(out, strict=False))
        if any(part.is_symlink() for part in (target, *target.parents)):  # links that can be resolved are resolved
            raise UserError("cannot be written: a link that leads to itself", file=out, hint=OTHER_NAME)
        recover(target)
        reason = foreign(target) if target.exists() else None
        if reason is not None:
            raise UserError(f"exists and {reason}", file=out, hint=OTHER_NAME)
        _check_not_current(target, out)
        parent = next(folder for folder in target.parents if folder.exists())
        if not parent.is_dir():
            raise UserError(f"cannot be written: {parent} is a file", file=out, hint=OTHER_NAME)
        if not os.access(parent, os.W_OK):
            raise UserError(f"cannot be written: no permission to write to {parent}", file=out, hint=OTHER_NAME)
    return target


@contextmanager
def new_file(out: str) -> Iterator[BinaryIO]:
    """A file to fill, which appears under the name `out` when it is complete, and not at all if anything fails."""
    target = check_new(out)
    with _temporary_file(target, out) as (file, part):
        yield file
        with writing(out):
            _close(file)
            try:
                publish(part, target)
            except FileExistsError:
                raise _exists(out) from None
            sync(target.parent)


@contextmanager
def replaced_file(out: str, foreign: Callable[[Path], str | None]) -> Iterator[BinaryIO]:
    """As `new_file`, but replaces a file of troth under that name."""
    target = Path(out)
    with writing(out, OTHER_NAME):
        reason = foreign(target) if target.exists() else None
        if reason is not None:
            raise UserError(reason, file=out, hint=OTHER_NAME)
        _check_parent(target, out)
    with _temporary_file(target, out) as (file, part):
        yield file
        with writing(out):
            _close(file)
            os.replace(part, target)
            sync(target.parent)


@contextmanager
def new_folder(out: str) -> Iterator[Path]:
    """A folder to fill, which appears under the name `out` when it is complete, and not at all if anything fails."""
    target = Path(out)
    if target.exists() or target.is_symlink():
        raise _exists(out, "folder")
    with _temporary_folder(target, out) as part:
        yield part
        sync_tree(part)
        part.rename(target)
        sync(target.parent)


@contextmanager
def replaced_folder(out: str, foreign: Callable[[Path], str | None]) -> Iterator[Path]:
    """As `new_folder`, but replaces a folder of troth under that name in one step."""
    target = check_replaceable(out, foreign)
    with _temporary_folder(target, out) as part:
        yield part
        sync_tree(part)
        if target.exists():
            exchange(part, target)
        else:
            part.rename(target)
        sync(target.parent)


@contextmanager
def writing(out: str, hint: str = NO_ROOM) -> Iterator[None]:
    """Turns errors of the operating system into a UserError that names the file."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint=hint) from error
    except ValueError as error:  # a null character in the name
        raise UserError(f"cannot be written: {error}", file=out, hint=hint) from error


def sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def digest_tree(path: Path) -> str:
    """A digest of a file, or of all files of a folder with their names in it."""
    if not path.is_dir():
        return sha256(path)
    inside = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
    lines = [f"{sha256(path / name)} {name.as_posix()}\n" for name in inside]
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def publish(part: Path, target: Path) -> None:
    """Moves a file to a new name; raises FileExistsError if the name is taken.

    Unlike a rename, a link does not overwrite a file that was created meanwhile.
    """
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # no links on this file system
        if os.path.lexists(target):
            raise FileExistsError from None
        part.rename(target)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk: a rename may be written before content."""
    with suppress(OSError):  # not every file system can, and Windows opens no folders
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """As `sync`, for all files of a folder and the folder itself."""
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)


def exchange(fresh: Path, target: Path) -> None:
    """Replaces a folder by another: in one step where the system can (Linux), else in two, see `recover`."""
    import ctypes  # on use: it takes long to import

    here, exchange_flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        libc = ctypes.CDLL(None)
        done = libc.renameat2(here, os.fsencode(fresh), here, os.fsencode(target), exchange_flag) == 0
    except (AttributeError, OSError):
        done = False
    if not done:
        old = _old_name(target)
        shutil.rmtree(old, ignore_errors=True)  # left by a process that was killed before the last line
        with lock(target, WAIT):
            target.rename(old)
            try:
                fresh.rename(target)
            except OSError:
                old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)


def recover(target: Path) -> None:
    """Restores the old folder of a process that was killed between the two steps of `exchange`."""
    old = _old_name(target)
    if not os.path.lexists(target) and old.is_dir():
        with suppress(OSError), lock(old, WAIT):  # a process that is alive will be done in a moment
            if not os.path.lexists(target):
                old.rename(target)


def _old_name(target: Path) -> Path:
    """Where the old folder is between the two steps: beside the new one, under a name derived from it."""
    return target.with_name(f".troth-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}.old")


@contextmanager
def _temporary_file(target: Path, out: str) -> Iterator[tuple[BinaryIO, Path]]:
    """Only errors of this file become UserErrors; other errors in the block stay as they are."""
    with ExitStack() as stack:
        with writing(out):
            part = stack.enter_context(temporary_sibling(target, folder=False))
            raw = _Raw(part, "wb")
        raw.out = out
        try:
            yield io.BufferedWriter(raw), part
        finally:
            raw.close()  # without another attempt to write what could not be written


def _close(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()


@contextmanager
def _temporary_folder(target: Path, out: str) -> Iterator[Path]:
    with writing(out):
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_sibling(target, folder=True) as part:
            yield part


class _Raw(io.FileIO):
    """FileIO that turns write errors into UserError."""

    out = ""

    def write(self, data: Any, /) -> int:
        with writing(self.out):
            return super().write(data)


def _check_parent(target: Path, out: str) -> None:
    if not target.parent.is_dir():
        raise UserError("its folder does not exist", file=out, hint=f"make '{target.parent}' first")


def _check_not_current(target: Path, out: str) -> None:
    """A folder is replaced as a whole; a shell in it would be left in a folder that is gone."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return
    if here.is_relative_to(target):
        reason = "is the current folder" if here == target else "holds the current folder"
        raise UserError(f"{reason}, which cannot be replaced", file=out or ".", hint="name a new folder")


def _exists(out: str, kind: str = "file") -> UserError:
    return UserError("exists already", file=out, hint=f"name a new {kind}")


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    total = 0
    for parent, _, names in os.walk(folder):  # skips folders that are gone while we look
        for name in names:
            with suppress(OSError):  # so may files be
                total += os.stat(os.path.join(parent, name)).st_size
    return total
