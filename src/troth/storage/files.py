"""Files and folders written whole or not at all: what is being written lies beside its target under a hidden name.

Four cases: `new_file` and `new_folder` refuse to replace anything; `replaced_file` and `replaced_folder` replace what
is ours and nothing else. A crash at any moment leaves the old content or the new one.
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
from troth.storage.locks import locked
from troth.storage.unfinished import is_part, unfinished

NO_ROOM = "is there room, and permission to write?"
ANOTHER = "choose another name"
HELD = 10.0  # seconds to wait for a process that replaces a folder


def check_new(out: str, kind: str = "file") -> Path:
    """Checked before any work is done: nothing exists under this name, and there is a folder to put it in."""
    place = Path(out)
    with writing(out, ANOTHER):
        if place.exists() or place.is_symlink():
            raise _exists(out, kind)
        _check_parent(place, out)
    return place


def check_replaceable(out: str, foreign: Callable[[Path], str | None]) -> Path:
    """Checked before any work is done: what exists under this name is ours, and can be replaced.

    `foreign` says what is there that is not ours. Returns the place with links resolved, so that a link stays one.
    """
    with writing(out, ANOTHER):
        place = Path(os.path.realpath(out, strict=False))
        if any(part.is_symlink() for part in (place, *place.parents)):  # links that can be resolved are by now
            raise UserError("cannot be written: a link that leads to itself", file=out, hint=ANOTHER)
        recover(place)
        what = foreign(place) if place.exists() else None
        if what is not None:
            raise UserError(f"exists and {what}", file=out, hint=ANOTHER)
        _check_not_current(place, out)
        above = next(folder for folder in place.parents if folder.exists())
        if not above.is_dir():
            raise UserError(f"cannot be written: {above} is a file", file=out, hint=ANOTHER)
        if not os.access(above, os.W_OK):
            raise UserError(f"cannot be written: no permission to write to {above}", file=out, hint=ANOTHER)
    return place


@contextmanager
def new_file(out: str) -> Iterator[BinaryIO]:
    """A file to fill, which appears under the name `out` when it is whole, and not at all if anything fails."""
    place = check_new(out)
    with _part_file(place, out) as (file, part):
        yield file
        with writing(out):
            file.close()
            _appear(part, place, out)


@contextmanager
def replaced_file(out: str, foreign: Callable[[Path], str | None]) -> Iterator[BinaryIO]:
    """As `new_file`, but a file of ours under that name is replaced."""
    place = Path(out)
    with writing(out, ANOTHER):
        what = foreign(place) if place.exists() else None
        if what is not None:
            raise UserError(what, file=out, hint=ANOTHER)
        _check_parent(place, out)
    with _part_file(place, out) as (file, part):
        yield file
        with writing(out):
            file.close()
            os.replace(part, place)


@contextmanager
def new_folder(out: str) -> Iterator[Path]:
    """A folder to fill, which appears under the name `out` when it is whole, and not at all if anything fails."""
    place = Path(out)
    if place.exists() or place.is_symlink():
        raise _exists(out, "folder")
    with _part_folder(place, out) as part:
        yield part
        part.rename(place)


@contextmanager
def replaced_folder(out: str, foreign: Callable[[Path], str | None]) -> Iterator[Path]:
    """As `new_folder`, but a folder of ours under that name is replaced in one step."""
    place = check_replaceable(out, foreign)
    with _part_folder(place, out) as part:
        yield part
        if place.exists():
            exchange(part, place)
        else:
            part.rename(place)


@contextmanager
def writing(out: str, hint: str = NO_ROOM) -> Iterator[None]:
    """Turns errors of the operating system into one line that names the file."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint=hint) from error
    except ValueError as error:  # a null character in the name
        raise UserError(f"cannot be written: {error}", file=out, hint=hint) from error


def claimed(folder: Path, record: str, text: bytes, what: str) -> bytes:
    """The record of a folder that is worked in over several calls: the one that is there, or `text` in a new folder.

    `what` is the kind of folder that it must be, where there is one.
    """
    before = claim_of(folder, record, what)
    if before is not None:
        return before
    with writing(str(folder), ANOTHER):
        folder.mkdir(parents=True, exist_ok=True)
    with replaced_file(str(folder / record), lambda _: None) as out:
        out.write(text)
    return text


def claim_of(folder: Path, record: str, what: str) -> bytes | None:
    """The record of such a folder; None where the folder is new, or empty."""
    with writing(str(folder), ANOTHER):
        if (folder / record).is_file():
            return (folder / record).read_bytes()
        if os.path.lexists(folder) and not (folder.is_dir() and all(map(is_part, os.listdir(folder)))):
            raise UserError(f"exists and is not {what}", file=str(folder), hint="name a new folder")
    return None


def sha256(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def exchange(fresh: Path, target: Path) -> None:
    """Puts a folder in the place of another: in one step where the system can (Linux), else in two, see `recover`."""
    import ctypes  # on use: it takes long to import

    here, exchange_flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        libc = ctypes.CDLL(None)
        swapped = libc.renameat2(here, os.fsencode(fresh), here, os.fsencode(target), exchange_flag) == 0
    except (AttributeError, OSError):
        swapped = False
    if not swapped:
        old = _aside(target)
        shutil.rmtree(old, ignore_errors=True)  # of a process that was killed before the last line
        with _held(target):
            target.rename(old)
            try:
                fresh.rename(target)
            except OSError:
                old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)


def recover(target: Path) -> None:
    """Puts back the old folder of a process that was killed between the two steps of `exchange`."""
    old = _aside(target)
    if not os.path.lexists(target) and old.is_dir():
        with suppress(OSError), _held(old):  # the process lives, and will be done in a moment
            if not os.path.lexists(target):
                old.rename(target)


def _aside(target: Path) -> Path:
    """Where the old folder is between the two steps: beside it, under a name that follows from its own."""
    return target.with_name(f".troth-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}.old")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    try:
        number = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows does not open folders
        yield
        return
    try:
        with locked(number, HELD):
            yield
    finally:
        os.close(number)


@contextmanager
def _part_file(place: Path, out: str) -> Iterator[tuple[BinaryIO, Path]]:
    """Only errors of this very file are reported as such: other errors of the block stay what they are."""
    with ExitStack() as stack:
        with writing(out):
            part = stack.enter_context(unfinished(place, folder=False))
            raw = _Raw(part, "wb")
        raw.out = out
        try:
            yield io.BufferedWriter(raw), part
        finally:
            raw.close()  # without another attempt to write what could not be written


@contextmanager
def _part_folder(place: Path, out: str) -> Iterator[Path]:
    with writing(out):
        place.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(place, folder=True) as part:  # removes what was not moved, or what was there before
            yield part


class _Raw(io.FileIO):
    """FileIO that turns write errors into UserError."""

    out = ""

    def write(self, data: Any, /) -> int:
        with writing(self.out):
            return super().write(data)


def _appear(part: Path, place: Path, out: str) -> None:
    """Unlike a rename, a link does not overwrite what has come under the name meanwhile."""
    try:
        os.link(part, place)
    except FileExistsError:
        raise _exists(out) from None
    except OSError:  # no links on this file system
        if place.exists() or place.is_symlink():
            raise _exists(out) from None
        part.rename(place)


def _check_parent(place: Path, out: str) -> None:
    if not place.parent.is_dir():
        raise UserError("its folder does not exist", file=out, hint=f"make '{place.parent}' first")


def _check_not_current(place: Path, out: str) -> None:
    """A folder is replaced as a whole; a shell in it would be left in a folder that is gone."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it is gone already
        return
    if here.is_relative_to(place):
        what = "is the current folder" if here == place else "holds the current folder"
        raise UserError(f"{what}, which cannot be replaced", file=out or ".", hint="name a new folder")


def _exists(out: str, kind: str = "file") -> UserError:
    return UserError("exists already", file=out, hint=f"name a new {kind}")
