"""JSON to records, with errors that name the dialogue and the turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from troth.core.errors import UserError
from troth.readers.source import Document

T = TypeVar("T")


class where:  # noqa: N801 - reads as a word: `with where(dialogue=…, turn=…):`
    """Fills in the place of any UserError raised inside."""

    __slots__ = ("dialogue", "line", "turn")

    def __init__(self, *, dialogue: str | None = None, turn: int | None = None, line: int | None = None) -> None:
        self.dialogue, self.turn, self.line = dialogue, turn, line

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not isinstance(error, UserError):
            return
        placed = error.at(dialogue=self.dialogue, turn=self.turn)
        if self.line is not None:
            what = f"line {self.line}: {placed.what}"
            placed = type(placed)(what, file=placed.file, dialogue=placed.dialogue, turn=placed.turn, hint=placed.hint)
        raise placed from error


def decode(
    document: Document, kind: type[T], *, data: bytes | msgspec.Raw | None = None, dialogue: str | None = None
) -> T:
    """Decode a document, or a part of it, as `kind`; what does not fit becomes a UserError with its place."""
    try:
        return msgspec.json.decode(document.data if data is None else data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise place(document, error, dialogue) from error


def lines(document: Document) -> Iterator[tuple[int, Any]]:
    """The objects of a document that has one a line, with the line's number from 1; blank lines are passed over."""
    empty = True
    for number, line in enumerate(document.data.split(b"\n"), 1):
        if not line.strip():
            continue
        empty = False
        with where(line=number):
            row = decode(document, object, data=line)
            if not isinstance(row, dict):
                raise UserError("is not an object {…}", file=document.name)
        yield number, row
    if empty:
        raise UserError("the file is empty", file=document.name, hint="is it the right one?")


def place(document: Document, error: Exception, dialogue: str | None = None) -> UserError:
    """Turn a decoding error into one that says where: the slow path, taken once, when something is already wrong."""
    if isinstance(error, RecursionError):
        hint = "is it the right file?"
        return UserError("nested too deeply to be dialogue data", file=document.name, dialogue=dialogue, hint=hint)
    if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
        return UserError("not valid UTF-8", file=document.name, dialogue=dialogue, hint="save it as UTF-8")
    if not document.data.strip():
        return UserError("the file is empty", file=document.name, hint="is it the right one?")
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
    words = {"object": "an object", "array": "a list", "str": "text", "int": "a number", "float": "a number",
             "null": "null", "bool": "true or false"}  # fmt: skip

    def said(kinds: re.Match[str]) -> str:
        parts = kinds[1].split(" | ")
        return " or ".join(words[part] for part in parts) if words.keys() >= set(parts) else kinds[0]

    what = re.sub("`([^`]+)`", said, what)
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
