"""Responses of a system to given turns: JSONL, CSV, or one a line beside a file of ids.

    {"dialogue": "1_00002", "turn": 1, "response": "Which location do you want?"}

`turn` is the index into all turns of the dialogue, from 0. The format is told by what is in the file. docs/formats.md
has the layouts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from troth.core.errors import UserError, near
from troth.core.records import Speaker
from troth.readers import source
from troth.readers.decode import lines, where
from troth.readers.plain import field, text, whole
from troth.readers.source import Document

FORMATS = ("jsonl", "csv", "lines")
COLUMNS = ("dialogue", "turn", "response")

Key = tuple[str, int]  # dialogue, index into its turns
Turns = Mapping[str, Sequence[Speaker]]  # by dialogue: who speaks in each of gold's turns


class Response(msgspec.Struct, frozen=True, gc=False):
    text: str
    file: str
    line: int


class _Row(NamedTuple):
    line: int
    dialogue: str
    turn: int
    response: str


def read(
    path: str,
    turns: Turns,
    *,
    format: str | None = None,
    ids: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> dict[Key, Response]:
    """A file's responses by dialogue and turn. One that gold has no system turn for is an error, and so is a second.

    `ids`: for a file with one response a line, a file with `dialogue turn` on each line. Without it the responses stand
    for all of gold's system turns in order, which `tell` is told.
    """
    if format is not None and format not in FORMATS:
        known = "one of: " + ", ".join(FORMATS)
        raise UserError(f"no format of responses is called '{format}'", hint=near(format, FORMATS) or known)
    found: dict[Key, Response] = {}
    for document in source.documents(path):
        kind = format or detect(document)
        if ids is not None and kind != "lines":
            raise UserError("names its turns itself", file=document.name, hint="--ids is for one response a line")
        try:
            for row in _rows(document, kind, turns, ids):
                with where(line=row.line, dialogue=row.dialogue, turn=row.turn):
                    _check(row, turns, found, document.name)
                found[row.dialogue, row.turn] = Response(row.response, document.name, row.line)
        except UserError as error:
            raise error.at(file=document.name, hint="see docs/formats.md for the layout") from error
        if kind == "lines" and ids is None and tell is not None:
            tell(f"{document.name}: names no turns: taken in the order of gold's system turns (--ids FILE names them)")
    return found


def detect(document: Document) -> str:
    """jsonl, csv or lines."""
    if not document.data.strip():
        raise UserError("the file is empty", file=document.name, hint="is it the right one?")
    head = document.data.lstrip().partition(b"\n")[0].strip()
    if head[:1] == b"{":
        return "jsonl"
    if head[:2] == b"[{" or head == b"[":
        raise UserError("is a JSON list", file=document.name, hint="one object a line is expected")
    named = {name.strip().strip('"') for name in head.decode(errors="replace").replace("\t", ",").split(",")}
    return "csv" if {"dialogue", "turn"} <= named else "lines"


def _check(row: _Row, turns: Turns, found: Mapping[Key, Response], file: str) -> None:
    if row.dialogue not in turns:
        hint = near(row.dialogue, turns) or "do gold and responses belong together?"
        raise UserError("gold has no such dialogue", hint=hint)
    speakers = turns[row.dialogue]
    if row.turn >= len(speakers):
        raise UserError(f"gold has {len(speakers)} turns", hint="they count from 0, the user's and the system's")
    if speakers[row.turn] != "SYSTEM":
        raise UserError("the user speaks in this turn", hint="turns count from 0, the user's and the system's")
    if (row.dialogue, row.turn) in found:
        first = found[row.dialogue, row.turn]
        place = f"line {first.line}" if first.file == file else f"line {first.line} of {first.file}"
        raise UserError(f"has a response already on {place}", hint="remove one")


def _rows(document: Document, kind: str, turns: Turns, ids: str | None) -> Iterator[_Row]:
    if kind == "jsonl":
        return _jsonl(document)
    return _csv(document) if kind == "csv" else _lines(document, turns, ids)


def _jsonl(document: Document) -> Iterator[_Row]:
    for line, record in lines(document):
        with where(line=line):
            dialogue = text(field(record, "dialogue", "the object"), "'dialogue'")
            turn = whole(field(record, "turn", "the object"), "'turn'")
            if "response" not in record and "candidates" in record:
                raise UserError("has candidates and no response", hint="choose one first: troth generate rerank")
            said = text(field(record, "response", "the object"), "'response'")
        yield _Row(line, dialogue, turn, said)


def _csv(document: Document) -> Iterator[_Row]:
    decoded = _decoded(document)
    content = decoded.lstrip()
    above = decoded[: len(decoded) - len(content)].count("\n")  # blank lines before the heading
    comma = "\t" if "\t" in content.partition("\n")[0] else ","
    # Without the line ends' translation, which would change what stands inside quotes.
    reader = csv.DictReader(io.StringIO(content, newline=""), delimiter=comma, strict=True)
    try:
        lacking = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if lacking:
            raise UserError(f"line {above + 1}: no column '{lacking[0]}'", hint="columns: " + ",".join(COLUMNS))
        for record in reader:
            line = above + reader.line_num
            with where(line=line):
                if None in record or None in record.values():
                    raise UserError(f"has not {len(reader.fieldnames or ())} cells", hint="is a comma not in quotes?")
                yield _Row(line, record["dialogue"], whole(record["turn"], "'turn'"), record["response"])
    except csv.Error as error:
        raise UserError(f"line {above + reader.reader.line_num}: {error}", hint="is a quote not closed?") from error


def _lines(document: Document, turns: Turns, ids: str | None) -> Iterator[_Row]:
    """An empty line is an empty response."""
    said = _split(_decoded(document))
    if ids is None:
        keys = [(name, turn) for name, who in turns.items() for turn, speaker in enumerate(who) if speaker == "SYSTEM"]
        whose = "system turns in gold"
    else:
        keys, whose = _ids(ids), f"ids in {ids}"
    if len(said) != len(keys):
        hint = "give each a line" if ids else "name the turns with --ids FILE"
        raise UserError(f"{len(said)} responses for {len(keys)} {whose}", hint=hint)
    for line, ((dialogue, turn), response) in enumerate(zip(keys, said, strict=True), 1):
        yield _Row(line, dialogue, turn, response)


def _ids(path: str) -> list[Key]:
    document = source.first(path)
    keys = []
    for line, content in enumerate(_split(_decoded(document)), 1):
        try:
            with where(line=line):
                parts = content.split()
                if len(parts) != 2:
                    raise UserError("is not a dialogue and a turn", hint="for example: 1_00002 3")
                keys.append((parts[0], whole(parts[1], "the turn")))
        except UserError as error:
            raise error.at(file=document.name) from error
    return keys


def _split(content: str) -> list[str]:
    """Lines by line feed alone: a response may hold other characters that Python takes for line ends."""
    found = [line.removesuffix("\r") for line in content.split("\n")]
    return found[:-1] if found and not found[-1] else found


def _decoded(document: Document) -> str:
    try:
        return document.data.decode()
    except UnicodeDecodeError as error:
        line = document.data[: error.start].count(b"\n") + 1
        raise UserError(f"line {line}: not valid UTF-8", file=document.name, hint="save it as UTF-8") from error
