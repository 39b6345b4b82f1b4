"""Responses of a system to given turns: JSON Lines, CSV, or one per line beside a file of ids.

    {"dialogue": "1_00002", "turn": 1, "response": "Which location do you want?"}

`turn` is the index into all turns of the dialogue, from 0. The format is recognised by content. docs/formats.md has the
layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.options import check_choice
from troth.core.records import Speaker
from troth.readers import cells, plain, source
from troth.readers.decode import LAYOUT, error_context, lines
from troth.readers.source import Document
from troth.storage.explorer import CandidateView

COLUMNS = ("dialogue", "turn", "response")

Key = tuple[str, int]  # dialogue, index into its turns
Turns = Mapping[str, Sequence[Speaker]]  # by dialogue: who speaks in each of gold's turns


class Response(msgspec.Struct, frozen=True, gc=False):
    """The response of a system in one turn, and its position in the file."""

    text: str
    file: str
    line: int
    candidates: tuple[CandidateView, ...] = ()  # the n-best list that it was chosen from, if the file has it


class _Row(NamedTuple):
    line: int
    dialogue: str
    turn: int
    response: str
    candidates: tuple[CandidateView, ...] = ()


def read(
    path: str,
    turns: Turns,
    *,
    format: str | None = None,
    ids: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> dict[Key, Response]:
    """The responses of a file, by dialogue and turn. A response without a system turn in gold is an error, and so is a
    second response to a turn.

    `ids`: for a file with one response per line, a file with `dialogue turn` on each line. Without it, the responses
    are matched to the system turns of gold in order, and `tell` is called with a message that says so.
    """
    if format is not None:
        check_choice("the format of responses", format, FORMATS)
    responses: dict[Key, Response] = {}
    for document in source.documents(path):
        kind = format or detect(document)
        if ids is not None and kind != "lines":
            hint = "ids are for files with one response per line"
            raise UserError("already names its turns", file=document.name, hint=hint)
        with error_context(file=document.name, hint=LAYOUT):
            for row in FORMATS[kind](document, turns, ids):
                with error_context(line=row.line, dialogue=row.dialogue, turn=row.turn):
                    _check(row, turns, responses.get((row.dialogue, row.turn)), document.name)
                responses[row.dialogue, row.turn] = Response(row.response, document.name, row.line, row.candidates)
        if kind == "lines" and ids is None and tell is not None:
            tell(f"{document.name}: names no turns: matched to gold's system turns in order (or name them: --ids FILE)")
    return responses


def detect(document: Document) -> str:
    """The name of a document's format: jsonl, csv or lines."""
    if not document.data.strip():
        raise source.empty_error(document)
    head = document.head.strip()
    if head[:1] == b"{":
        return "jsonl"
    if head[:2] == b"[{" or head == b"[":
        raise UserError("is a JSON list", file=document.name, hint="one object per line is expected")
    names = {name.strip().strip('"') for name in head.decode(errors="replace").replace("\t", ",").split(",")}
    return "csv" if {"dialogue", "turn"} <= names else "lines"


def check_keys(responses: Mapping[Key, Response], turns: Turns) -> None:
    """Refuses responses in memory to turns that gold does not have."""
    for (dialogue, turn), response in responses.items():
        with error_context(file=response.file, dialogue=dialogue, turn=turn):
            _check(_Row(0, dialogue, turn, response.text), turns, None, response.file)


def _check(row: _Row, turns: Turns, other: Response | None, file: str) -> None:
    if row.dialogue not in turns:
        hint = suggest_name(row.dialogue, turns) or "do gold and responses belong together?"
        raise UserError("gold has no such dialogue", hint=hint)
    speakers = turns[row.dialogue]
    hint = "turns are counted from 0, both the user's and the system's"
    if row.turn >= len(speakers):
        raise UserError(f"gold has {len(speakers)} turns", hint=hint)
    if speakers[row.turn] != "SYSTEM":
        raise UserError("the user speaks in this turn", hint=hint)
    if other is not None:
        position = f"line {other.line}" if other.file == file else f"line {other.line} of {other.file}"
        raise UserError(f"already has a response on {position}", hint=plain.KEEP_ONE)


def _jsonl(document: Document, *_: object) -> Iterator[_Row]:
    for line, record in lines(document):
        with error_context(line=line):
            dialogue = plain.text_of(record, "dialogue")
            turn = plain.whole_number(plain.field(record, "turn"), "'turn'")
            if "response" not in record and "candidates" in record:
                raise UserError("has candidates, but no response", hint="choose one first: troth generate rerank")
            yield _Row(line, dialogue, turn, plain.text_of(record, "response"), _candidates(record))


def _candidates(record: Mapping[str, Any]) -> tuple[CandidateView, ...]:
    """The n-best list of a line that `troth generate` wrote; other files may use these names differently."""
    candidates = record.get("reasons", record.get("candidates"))
    if not isinstance(candidates, list):
        return ()
    items = [{"text": item} if isinstance(item, str) else item for item in candidates]
    try:
        return msgspec.convert(items, tuple[CandidateView, ...])
    except msgspec.ValidationError:
        return ()


def _csv(document: Document, *_: object) -> Iterator[_Row]:
    rows = cells.rows(document)
    first, header = next(rows)
    for name in COLUMNS:
        if name not in header:
            raise UserError(f"line {first}: no column '{name}'", hint="columns: " + ",".join(COLUMNS))
    for line, row in rows:
        if not row:
            continue
        with error_context(line=line):
            if len(row) != len(header):
                raise UserError(f"does not have {len(header)} cells", hint="is a comma not in quotes?")
            dialogue, turn, response = (row[header.index(name)] for name in COLUMNS)
            yield _Row(line, dialogue, plain.whole_number(turn, "'turn'"), response)


def _lines(document: Document, turns: Turns, ids: str | None) -> Iterator[_Row]:
    """An empty line is an empty response."""
    responses = _split(source.utf8(document))
    if ids is None:
        keys = [(name, turn) for name, who in turns.items() for turn, speaker in enumerate(who) if speaker == "SYSTEM"]
    else:
        keys = _ids(ids)
    if len(responses) != len(keys):
        targets = f"ids in {ids}" if ids else "system turns in gold"
        hint = "write one line for each" if ids else "name the turns of the responses: --ids FILE"
        raise UserError(f"{len(responses)} responses for {len(keys)} {targets}", hint=hint)
    for line, (key, response) in enumerate(zip(keys, responses, strict=True), 1):
        yield _Row(line, *key, response)


FORMATS: dict[str, Callable[[Document, Turns, str | None], Iterator[_Row]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "lines": _lines,
}


def _ids(path: str) -> list[Key]:
    document = source.first(path)
    keys = []
    for line, content in enumerate(_split(source.utf8(document)), 1):
        with error_context(line=line, file=document.name):
            parts = content.split()
            if len(parts) != 2:
                raise UserError("is not a dialogue and a turn", hint="for example: 1_00002 3")
            keys.append((parts[0], plain.whole_number(parts[1], "the turn")))
    return keys


def _split(content: str) -> list[str]:
    """Lines separated by line feed only: a response may contain other characters that Python treats as line ends."""
    pieces = [line.removesuffix("\r") for line in content.split("\n")]
    return pieces[:-1] if pieces and not pieces[-1] else pieces
