"""JSON to records, with errors that name the dialogue and the turn.

A key that an object holds twice is an error: decoders take the last value in silence. Plain objects are checked by
counting: a decoded value, encoded again, has as many keys as the text unless a key is repeated. That costs a fraction
of decoding; only where the counts differ is the text read a second time, key by key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, Unpack

import msgspec

from troth.core.errors import ErrorPlace, UserError
from troth.readers.source import Document, empty

T = TypeVar("T")

LAYOUT = "see docs/formats.md for the layout"
BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

KEY_END = b'":'  # the end of a key, as nearly every program writes it; where it is written otherwise, the counts differ


class where:  # noqa: N801 - reads as a word: `with where(dialogue=…, turn=…):`
    """Fills in what a UserError raised inside does not say yet: file, dialogue, turn, hint; and the line, if given."""

    __slots__ = ("line", "place")

    def __init__(self, *, line: int | None = None, **place: Unpack[ErrorPlace]) -> None:
        self.line, self.place = line, place

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not isinstance(error, UserError):
            return
        placed = error.at(**self.place)
        if self.line is not None:
            what = f"line {self.line}: {placed.what}"
            placed = type(placed)(what, file=placed.file, dialogue=placed.dialogue, turn=placed.turn, hint=placed.hint)
        raise placed from error


def decode(
    document: Document, kind: type[T], *, data: bytes | msgspec.Raw | None = None, dialogue: str | None = None
) -> T:
    """Decodes a document, or a part of it, as `kind`; what does not fit becomes a UserError with its place."""
    try:
        return msgspec.json.decode(document.data if data is None else data, type=kind)
    except BROKEN as error:
        raise place(document, error, dialogue) from error


def converted(document: Document, value: object, kind: type[T]) -> T:
    """A decoded value as `kind`, with errors as those of `decode`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise place(document, error) from error


def unique(document: Document, kind: type[T]) -> T:
    """As `decode` of a whole document; a key that an object holds twice is an error. Fast for plain values."""
    value = decode(document, kind)
    if keys(value) != document.data.count(KEY_END):
        check_keys(document)
    return value


def members(document: Document) -> Iterator[tuple[str, Any]]:
    """The entries of a document that is one object `{dialogue: …}`, decoded one at a time; no key may be repeated."""
    entries = decode(document, dict[str, msgspec.Raw])
    count = len(entries)
    for key, raw in entries.items():
        value = decode(document, object, data=raw, dialogue=key)
        count += keys(value)
        yield key, value
    if count != document.data.count(KEY_END):
        check_keys(document, dialogues=True)


def lines(document: Document) -> Iterator[tuple[int, Any]]:
    """The objects of a document that has one per line, with the line's number from 1; blank lines are skipped."""
    if not document.data.strip():
        raise empty(document)
    for number, line in enumerate(document.data.split(b"\n"), document.line):
        if not line.strip():
            continue
        with where(line=number):
            row = line_object(document, line)
        yield number, row


def line_object(document: Document, line: bytes) -> dict[str, Any]:
    """The object that a line of a document holds."""
    row = decode(document, object, data=line)
    if not isinstance(row, dict):
        raise UserError("is not an object {…}", file=document.name)
    if keys(row) != line.count(KEY_END):
        check_keys(Document(document.name, line))
    return row


def keys(value: object) -> int:
    """Number of keys of all objects inside a decoded value, for comparison with its text."""
    return msgspec.json.encode(value).count(KEY_END)


class _Repeated(NamedTuple):
    """A key that its object holds twice, and the path to the object."""

    key: str
    path: tuple[str | int, ...]


def holds_twice(data: bytes, value: object) -> bool:
    """Whether an object in JSON holds a key twice; `value` is what it was decoded to."""
    return keys(value) != data.count(KEY_END) and _first_repeated(data) is not None


def _first_repeated(data: bytes) -> Any:
    text = data.decode(errors="replace")
    return _repeated(json.loads(text, object_pairs_hook=_object, parse_int=str, parse_float=str))


def check_keys(document: Document, *, dialogues: bool = False) -> None:
    """Raises an error if any object in a JSON document holds a key twice. It reads every key: slow, but exact.

    `dialogues`: the keys at the top are dialogues, and the error names them as such.
    """
    try:
        repeated = _first_repeated(document.data)
    except RecursionError as error:
        raise place(document, error) from error
    if repeated is None:
        return
    steps = repeated.path
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    turn = next((after for step, after in pairwise(steps) if step == "turns" and isinstance(after, int)), None)
    if dialogues and turn is None and len(steps) > 1 and str(steps[1]).isdigit():
        turn = int(steps[1])
    raise UserError(
        f"duplicate key '{repeated.key}' at {path or 'the top'}",
        file=document.name,
        dialogue=str(steps[0]) if dialogues and steps else _dialogue_at(document, f"${path}"),
        turn=turn,
        hint="keep one of the two",
    )


def _object(pairs: list[tuple[str, Any]]) -> _Repeated | None:
    """What the reading of every key keeps of an object: nothing, or the first repeated key inside it."""
    if len(pairs) != len({key for key, _ in pairs}):
        known: set[str] = set()
        for key, _ in pairs:
            if key in known:
                return _Repeated(key, ())
            known.add(key)
    return next((_Repeated(f.key, (key, *f.path)) for key, value in pairs if (f := _repeated(value))), None)


def _repeated(value: object) -> _Repeated | None:
    if isinstance(value, _Repeated):
        return value
    if isinstance(value, list):
        return next((_Repeated(f.key, (at, *f.path)) for at, item in enumerate(value) if (f := _repeated(item))), None)
    return None


def place(document: Document, error: Exception, dialogue: str | None = None) -> UserError:
    """A decoding error as one that says where: the slow path, taken once, when something is already wrong."""
    if isinstance(error, RecursionError):
        hint = "is it the right file?"
        return UserError("nested too deeply to be dialogue data", file=document.name, dialogue=dialogue, hint=hint)
    if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
        return UserError("not valid UTF-8", file=document.name, dialogue=dialogue, hint="save it as UTF-8")
    if not document.data.strip():
        return empty(document)
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
        hint=LAYOUT,
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
    """The id of the dialogue that a path such as `$[3].turns[4]` lies in, where it is known."""
    index = re.match(r"\$\[(\d+)\]", path)
    if index is None:
        return None
    try:
        items: Any = msgspec.json.decode(document.data)
        name = items[int(index[1])]["dialogue_id"]
    except (*BROKEN, KeyError, IndexError, TypeError):
        return None  # the error is reported all the same, with the path alone
    return name if isinstance(name, str) else None
