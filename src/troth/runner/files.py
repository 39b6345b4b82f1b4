"""Files written whole or not at all."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from troth.errors import UserError


def refuse(out: str) -> None:
    """Told before any work is done: there is something under this name already, or no folder to put it in."""
    place = Path(out)
    with _told(out, "choose another name"):
        if place.exists() or place.is_symlink():
            raise _there(out)
        if not place.parent.is_dir():
            raise UserError("its folder does not exist", file=out, hint=f"make '{place.parent}' first")


@contextmanager
def new_file(out: str) -> Iterator[BinaryIO]:
    """A file to fill, which appears under the name `out` when it is whole, and not at all if anything fails.

    Only what goes wrong with this file is told as such: other errors of the block stay what they are.
    """
    refuse(out)
    place = Path(out)
    part = place.parent / f".troth-{secrets.token_hex(8)}.part"  # nobody else's, and never too long a name
    with _told(out):
        raw = _Raw(part, "xb")
    raw.out = out
    file = io.BufferedWriter(raw)
    try:
        yield file
        with _told(out):
            file.close()
            _appear(part, place, out)
    finally:
        raw.close()  # without another try to write what could not be written
        part.unlink(missing_ok=True)


class _Raw(io.FileIO):
    """Says whose fault it is if the disk is full."""

    out = ""

    def write(self, data: Any, /) -> int:
        with _told(self.out):
            return super().write(data)


@contextmanager
def _told(out: str, hint: str = "is there room, and the right to?") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint=hint) from error


def _appear(part: Path, place: Path, out: str) -> None:
    """Unlike a rename, a link does not overwrite what has come under the name meanwhile."""
    try:
        os.link(part, place)
    except FileExistsError:
        raise _there(out) from None
    except OSError:  # no links on this file system
        if place.exists() or place.is_symlink():
            raise _there(out) from None
        part.rename(place)


def _there(out: str) -> UserError:
    return UserError("is there already", file=out, hint="name a new file")
