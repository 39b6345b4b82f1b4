"""Files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from troth.errors import UserError


def refuse(out: str) -> None:
    """Told before any work is done: there is something under this name already, or no folder to put it in."""
    place = Path(out)
    try:
        if place.exists() or place.is_symlink():
            raise UserError("is there already", file=out, hint="name a new file")
        if not place.parent.is_dir():
            raise UserError("its folder does not exist", file=out, hint=f"make '{place.parent}' first")
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint="choose another name") from error


@contextmanager
def new_file(out: str) -> Iterator[BinaryIO]:
    """A file to fill, which appears under the name `out` when it is whole, and not at all if anything fails."""
    refuse(out)
    place = Path(out)
    part = place.parent / f".{place.name}.{os.getpid()}.part"
    try:
        try:
            with part.open("xb") as file:
                yield file
            part.rename(place)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        hint = "is there room, and the right to?"
        raise UserError(f"cannot be written: {error.strerror}", file=out, hint=hint) from error
