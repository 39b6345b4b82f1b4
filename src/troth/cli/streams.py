"""Standard output and standard error that raise our own errors."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from troth.core.errors import OutputClosedError, UserError


class _Output(io.FileIO):
    """Standard output that raises our own errors; click would exit with 1, which is a gate's verdict."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise OutputClosedError from error
        except OSError as error:
            raise UserError(f"cannot be written: {error.strerror}", file="<stdout>", hint="is there room?") from error


class _Messages(io.FileIO):
    """Standard error that ignores write errors: a lost message does not stop the work."""

    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            super().write(data)
        return len(data)


def prepare() -> None:
    """Installs streams that raise UserError; opens closed ones on /dev/null, so that no file gets their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stderr = _wrap(sys.stderr, _Messages) if sys.stderr is not None else open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        raise UserError("is closed", file="<stdout>", hint="send it to a file, or to /dev/null")
    sys.stdout = _wrap(sys.stdout, _Output)


def finish() -> None:
    """Flushes standard output. Text that cannot be written is dropped, or Python would try again at exit."""
    try:
        sys.stdout.flush()
    except (OutputClosedError, UserError):  # reported already
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _wrap(stream: TextIO, kind: type[io.FileIO]) -> TextIO:
    try:
        number = stream.fileno()
    except OSError:  # not a file, but a buffer in this process
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        return stream
    stream.flush()
    raw = kind(number, "wb", closefd=False)
    lines = raw.isatty() or kind is _Messages
    # Some consoles cannot print λ.
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, "backslashreplace", line_buffering=lines)
