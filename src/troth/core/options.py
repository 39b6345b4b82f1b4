"""Options of the Python functions: keywords in, a checked record out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from troth.core.errors import UserError, near

T = TypeVar("T")

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def resolve(record: type[T], keywords: Mapping[str, Any]) -> T:
    """The options of a function as a record with defaults; a keyword that does not exist is named, with the nearest."""
    known = [field.name for field in fields(record)]  # type: ignore[arg-type]
    for name in keywords:
        if name not in known:
            raise UserError(f"there is no option '{name}'", hint=near(name, known) or "one of: " + ", ".join(known))
    return record(**keywords)


def one_of(option: str, value: str, known: Iterable[str]) -> str:
    """The value, if it is a known one."""
    choices = list(known)
    if value not in choices:
        hint = near(value, choices) or "one of: " + ", ".join(choices)
        raise UserError(f"{option} cannot be '{value}'", hint=hint)
    return value


def size(text: str) -> int:
    """Bytes from "500MB", "2 GB", "1000000"."""
    number = text.strip().upper().removesuffix("B").rstrip()
    unit = number[-1:] if number[-1:] in UNITS else ""
    try:
        count = float(number.removesuffix(unit)) * UNITS[unit]
        if not 0 <= count < 2**60:
            raise ValueError
    except ValueError as error:
        raise UserError(f"'{text}' is no size", hint="such as 500MB or 2GB") from error
    return int(count)


def recorded(settings: Any, **more: Any) -> dict[str, Any]:
    """Options as `run.json` keeps them: text, numbers, lists; models by name; without cache, workers and `out`."""
    names = [field.name for field in fields(settings) if field.name not in ("cache", "out", "workers")]
    return {name: _plain(value) for name, value in (more | {name: getattr(settings, name) for name in names}).items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        return [_plain(item) for item in value]
    return getattr(value, "name", None)
