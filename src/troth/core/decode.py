"""Turns errors of reading and decoding a file into errors that the user can fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from troth.core.errors import UserError

DECODING_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
NOT_UTF8 = "not valid UTF-8"
TOO_DEEP = "nested too deeply"
MAX_DEPTH = 100  # lists and objects inside each other; recursive functions fail at a few hundred
_CONTAINERS = (dict, list, tuple)


@contextmanager
def reading(
    file: object, what: str = "cannot be read", *, hint: str | None = None, also: tuple[type[BaseException], ...] = ()
) -> Iterator[None]:
    """Turns errors of the operating system, of decoders and `also` others into a UserError about `file`.

    >>> with reading("run.json", "not a run", hint="was it written by troth?"):
    ...     msgspec.json.decode(b"{")
    Traceback (most recent call last):
    troth.core.errors.UserError: run.json: not a run: Input data was truncated (was it written by troth?)
    """
    errors: tuple[type[BaseException], ...] = (OSError, *DECODING_ERRORS, *also)
    try:
        yield
    except errors as error:
        raise UserError(f"{what}: {explain(error)}", file=None if file is None else str(file), hint=hint) from error


def explain(error: BaseException) -> str:
    """The reason that an error of reading or decoding gives, in one line."""
    if isinstance(error, RecursionError):
        return TOO_DEEP
    if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
        return NOT_UTF8
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0]


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value has more than `MAX_DEPTH` lists and objects inside each other."""
    level = [value] if value and isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, _CONTAINERS) and item
        ]
    return bool(level)
