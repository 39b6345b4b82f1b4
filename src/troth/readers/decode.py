"""JSON to records, with errors that name the dialogue and the turn."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from troth.errors import UserError
from troth.readers.source import Document

T = TypeVar("T")


def decode(document: Document, kind: type[T], *, data: bytes | msgspec.Raw | None = None, dialogue: str | None = None) -> T:
    """Decode a document, or a part of it, as `kind`; what does not fit becomes a UserError with its place."""
    try:
        return msgspec.json.decode(document.data if data is None else data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise place(document, error, dialogue) from error


def place(document: Document, error: Exception, dialogue: str | None = None) -> UserError:
    """Turn a decoding error into one that says where: the slow path, taken once, when something is already wrong."""
    if isinstance(error, RecursionError):
        return UserError("nested too deeply to be dialogue data", file=document.name, dialogue=dialogue)
    if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
        return UserError("not valid UTF-8", file=document.name, dialogue=dialogue, hint="save it as UTF-8")
    what, _, path = str(error).partition(" - at `")
    if not isinstance(error, msgspec.ValidationError):
        hint = "is the file whole?" if "truncated" in what.lower() else "is it JSON?"
        return UserError(f"broken JSON: {what}", file=document.name, dialogue=dialogue, hint=hint)
    path = path.rstrip("`")
    turn = re.search(r"\.turns\[(\d+)\]", path)
    return UserError(
        f"{_plain(what)} at {path.removeprefix('$') or 'the top'}",
        file=document.name,
        dialogue=dialogue or _dialogue_at(document, path),
        turn=int(turn[1]) if turn else None,
        hint="see docs/formats.md for the layout",
    )


def _plain(what: str) -> str:
    """msgspec's wording with the words of JSON's users."""
    for python, plain in (("`object`", "an object"), ("`array`", "a list"), ("`str`", "text"), ("`int`", "a number"),
                          ("`float`", "a number"), ("`null`", "null"), ("`bool`", "true or false")):  # fmt: skip
        what = what.replace(python, plain)
    return what[:1].lower() + what[1:]


def _dialogue_at(document: Document, path: str) -> str | None:
    """The id of the dialogue that a path such as `$[3].turns[4]` lies in, where it can be found."""
    index = re.match(r"\$\[(\d+)\]", path)
    if index is None:
        return None
    try:
        items: Any = msgspec.json.decode(document.data)
        name = items[int(index[1])]["dialogue_id"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, IndexError, TypeError):
        return None  # the error is reported all the same, with the path alone
    return name if isinstance(name, str) else None
