"""Decodes JSON into records, with errors that name the dialogue and the turn.

A duplicate key in an object is an error: decoders silently take the last value. Plain objects are checked by counting:
a decoded value, encoded again, has as many keys as the text unless a key is repeated. This costs a fraction of the time
of decoding; only if the counts differ, the text is read a second time, key by key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, Unpack

import msgspec

from troth.core.decode import DECODING_ERRORS, NOT_UTF8, explain
from troth.core.errors import ErrorPlace, UserError
from troth.readers.source import Document, empty_error

T = TypeVar("T")

LAYOUT = "see docs/formats.md for the layout"
KEY_END = b'":'  # the end of a key, as nearly every program writes it; if it is written differently, the counts differ


class error_context:  # noqa: N801 - a context manager, used like a function
    """Adds file, dialogue, turn and hint to a UserError raised inside, unless it has them; and the line, if given."""

    __slots__ = ("line", "location")

    def __init__(self, *, line: int | None = None, **location: Unpack[ErrorPlace]) -> None:
        self.line, self.location = line, location

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not isinstance(error, UserError):
            return
        new = error.at(**self.location)
        if self.line is not None:
            what = f"line {self.line}: {new.what}"
            new = type(new)(what, file=new.file, dialogue=new.dialogue, turn=new.turn, hint=new.hint)
        raise new from error


def decode(
    document: Document, kind: type[T], *, data: bytes | msgspec.Raw | None = None, dialogue: str | None = None
) -> T:
    """Decodes a document, or a part of it, as `kind`; an error names the dialogue and the turn, if it can."""
    try:
        return msgspec.json.decode(document.data if data is None else data, type=kind)
    except DECODING_ERRORS as error:
        raise located_error(document, error, dialogue) from error


def convert_value(document: Document, value: object, kind: type[T]) -> T:
    """A decoded value as `kind`, with the same errors as `decode`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise located_error(document, error) from error


def decode_unique(document: Document, kind: type[T]) -> T:
    """Decodes a whole document like `decode`; a duplicate key is an error. Fast for plain values."""
    value = decode(document, kind)
    if keys(value) != document.data.count(KEY_END):
        check_keys(document)
    return value


def members(document: Document) -> Iterator[tuple[str, Any]]:
    """The entries of a document that is one object `{dialogue: …}`, decoded one at a time. Keys must be unique."""
    entries = decode(document, dict[str, msgspec.Raw])
    count = len(entries)
    for key, raw in entries.items():
        value = decode(document, object, data=raw, dialogue=key)
        count += keys(value)
        yield key, value
    if count != document.data.count(KEY_END):
        check_keys(document, dialogues=True)


def lines(document: Document) -> Iterator[tuple[int, Any]]:
    """The objects of a document with one object per line, with the line number from 1; blank lines are skipped."""
    if not document.data.strip():
        raise empty_error(document)
    for number, line in enumerate(document.data.split(b"\n"), document.line):
        if not line.strip():
            continue
        with error_context(line=number):
            row = line_object(document, line)
        yield number, row


def line_object(document: Document, line: bytes) -> dict[str, Any]:
    """Decodes a line of a document, which must be an object."""
    row = decode(document, object, data=line)
    if not isinstance(row, dict):
        raise UserError("is not an object {…}", file=document.name)
    if keys(row) != line.count(KEY_END):
        check_keys(Document(document.name, line))
    return row


def first_object(document: Document) -> dict[str, msgspec.Raw]:
    """The first object of a document, of its first line, or of its list, with values not decoded; {} if none."""
    texts: list[Any] = [document.head, document.data]
    if document.starts(b"["):
        texts = (_try_decode(document.data, list[msgspec.Raw]) or [])[:1]
    return next(filter(None, (_try_decode(text, dict[str, msgspec.Raw]) for text in texts)), {})


def _try_decode(data: bytes | msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except DECODING_ERRORS:
        return None


def keys(value: object) -> int:
    """Number of keys of all objects inside a decoded value, for comparison with its text."""
    return msgspec.json.encode(value).count(KEY_END)


class _Duplicate(NamedTuple):
    """A duplicate key, and the path to its object."""

    key: str
    path: tuple[str | int, ...]


def has_duplicate_key(data: bytes, value: object) -> bool:
    """Whether an object in a JSON text has a duplicate key; `value` is the decoded text."""
    return keys(value) != data.count(KEY_END) and _first_duplicate(data) is not None


def _first_duplicate(data: bytes) -> Any:
    text = data.decode(errors="replace")
    return _duplicate_in(json.loads(text, object_pairs_hook=_object, parse_int=str, parse_float=str))


def check_keys(document: Document, *, dialogues: bool = False) -> None:
    """Raises an error if any object in a JSON document has a duplicate key. It reads every key: slow, but exact.

    `dialogues`: the keys at the top are ids of dialogues, and the error names them as such.
    """
    try:
        duplicate = _first_duplicate(document.data)
    except RecursionError as error:
        raise located_error(document, error) from error
    if duplicate is None:
        return
    steps = duplicate.path
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    turn = next((after for step, after in pairwise(steps) if step == "turns" and isinstance(after, int)), None)
    if dialogues and turn is None and len(steps) > 1 and str(steps[1]).isdigit():
        turn = int(steps[1])
    name = str(steps[0]) if dialogues and steps else _dialogue_at(document, f"${path}")
    what = f"duplicate key '{duplicate.key}' at {path or 'the top'}"
    raise UserError(what, file=document.name, dialogue=name, turn=turn, hint="keep one of the two")


def _object(pairs: list[tuple[str, Any]]) -> _Duplicate | None:
    """The first duplicate key of an object or inside it; None if there is none."""
    if len(pairs) != len({key for key, _ in pairs}):
        known: set[str] = set()
        for key, _ in pairs:
            if key in known:
                return _Duplicate(key, ())
            known.add(key)
    return next((_Duplicate(f.key, (key, *f.path)) for key, value in pairs if (f := _duplicate_in(value))), None)


def _duplicate_in(value: object) -> _Duplicate | None:
    if isinstance(value, _Duplicate):
        return value
    entries = enumerate(value) if isinstance(value, list) else ()
    return next((_Duplicate(f.key, (at, *f.path)) for at, item in entries if (f := _duplicate_in(item))), None)


def located_error(document: Document, error: Exception, dialogue: str | None = None) -> UserError:
    """The UserError for a decoding error, with its location. Slow, but called only once, for the error itself."""
    if isinstance(error, RecursionError):
        what, hint = f"{explain(error)} to be dialogue data", "is it the right file?"
        return UserError(what, file=document.name, dialogue=dialogue, hint=hint)
    if explain(error) == NOT_UTF8:
        return UserError(NOT_UTF8, file=document.name, dialogue=dialogue, hint="save it as UTF-8")
    if not document.data.strip():
        return empty_error(document)
    what, _, path = str(error).partition(" - at `")
    if not isinstance(error, msgspec.ValidationError):
        hint = "is the file whole?" if "truncated" in what.lower() else "is it JSON?"
        return UserError(f"broken JSON: {what}", file=document.name, dialogue=dialogue, hint=hint)
    path = path.rstrip("`")
    match = re.search(r"\.turns\[(\d+)\]", path)
    turn, name = int(match[1]) if match else None, dialogue or _dialogue_at(document, path)
    what = f"{_plain(what)} at {path.removeprefix('$') or 'the top'}"
    return UserError(what, file=document.name, dialogue=name, turn=turn, hint=LAYOUT)


def _plain(what: str) -> str:
    """A message of msgspec in the terms of JSON."""
    words = {"object": "an object", "array": "a list", "str": "text", "int": "a number", "float": "a number",
             "null": "null", "bool": "true or false"}  # fmt: skip

    def name_types(kinds: re.Match[str]) -> str:
        parts = kinds[1].split(" | ")
        return " or ".join(words[part] for part in parts) if words.keys() >= set(parts) else kinds[0]

    what = re.sub("`([^`]+)`", name_types, what)
    return what[:1].lower() + what[1:]


def _dialogue_at(document: Document, path: str) -> str | None:
    """The id of the dialogue that a path such as `$[3].turns[4]` leads into, if it is known."""
    index = re.match(r"\$\[(\d+)\]", path)
    if index is None:
        return None
    try:
        items: Any = msgspec.json.decode(document.data)
        name = items[int(index[1])]["dialogue_id"]
    except (*DECODING_ERRORS, KeyError, IndexError, TypeError):
        return None  # the error is still reported, with the path only
    return name if isinstance(name, str) else None
