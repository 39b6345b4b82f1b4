"""Responses from files whose keys have other names: JSON Lines, a JSON list, or CSV, by a map of names.

    {"question": "Who makes crayons?", "contexts": ["Crayola …", "Chalk …"], "answer": "Crayola does.", "trace": 17}

is read with `document=contexts,response=answer,history=question,id=trace`. A name with dots is a path into objects
(`document=inputs.contexts`). A document is a text, a list of passages, or a list of objects that have a text. Other
keys are ignored; a response without an id has its line number as id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from troth.core.errors import UserError, suggest_name
from troth.core.records import Grounded
from troth.readers.cells import rows
from troth.readers.decode import decode_unique, error_context, line_object
from troth.readers.grounded import labels
from troth.readers.source import Document

COLUMNS = "columns"  # the keyword that takes the map
EXAMPLE = "for example document=contexts,response=answer"
OURS = ("id", "document", "response", "history", "label", "source")
TEXTS = ("text", "content", "page_content", "passage", "document", "body")  # keys under which a passage has its text


def parse_columns(text: str) -> dict[str, str]:
    """`document=contexts,response=answer` as a map from our names to those of the file."""
    columns: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, theirs = (piece.strip() for piece in part.partition("="))
        if not equals or not theirs:
            raise UserError(f"has '{part}', which gives no name", option=COLUMNS, hint=EXAMPLE)
        if name not in OURS:
            hint = suggest_name(name, OURS) or "one of: " + ", ".join(OURS)
            raise UserError(f"has '{name}', which does not exist", option=COLUMNS, hint=hint)
        if name in columns:
            raise UserError(f"names '{name}' twice", option=COLUMNS, hint=EXAMPLE)
        columns[name] = theirs
    return columns


def read(document: Document, columns: Mapping[str, str], skipped: list[str] | None = None) -> Iterator[Grounded]:
    """The responses of a document by a map of names; errors of single rows are appended to `skipped`, if given."""
    names = {"document": "document", "response": "response"} | dict(columns)
    is_json = document.starts(b"[") or document.starts(b"{")
    numbered = json_rows(document) if is_json else _table_rows(document)
    return read_rows(document, numbered, lambda row, line: _record(row, names, line), skipped)


def read_rows(
    document: Document,
    numbered: Iterable[tuple[int, Callable[[], Any]]],
    parse: Callable[[Any, int], Grounded],
    skipped: list[str] | None,
) -> Iterator[Grounded]:
    """The responses of numbered rows; errors of single rows are appended to `skipped`, if given."""
    seen: dict[str, int] = {}
    for line, row in numbered:
        try:
            with error_context(line=line):
                item = parse(row(), line)
                if item.id in seen:
                    what = f"duplicate id '{item.id}', already on line {seen[item.id]}"
                    raise UserError(what, hint="ids must be unique")
        except UserError as error:
            if skipped is None:
                raise
            skipped.append(str(error.at(file=document.name)))
            continue
        seen[item.id] = line
        yield item


def json_rows(document: Document) -> Iterator[tuple[int, Callable[[], Any]]]:
    """The number of each row of JSON Lines, or of a JSON list, with a function that reads the row.

    An error then concerns only that row.
    """
    if document.starts(b"["):
        yield from ((number, lambda row=row: row) for number, row in enumerate(decode_unique(document, list[Any]), 1))
    else:
        every = enumerate(document.data.split(b"\n"), 1)
        yield from ((number, partial(line_object, document, line)) for number, line in every if line.strip())


def _table_rows(document: Document) -> Iterator[tuple[int, Callable[[], Any]]]:
    """As `json_rows`, for CSV with a header."""
    table = rows(document)
    header = [name.strip() for name in next(table)[1]]
    yield from ((line, partial(_cells, header, cells)) for line, cells in table if any(map(str.strip, cells)))


def _cells(header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    if len(cells) != len(header):
        raise UserError(f"has {len(cells)} cells, not {len(header)}", hint="is a quote or a tab out of place?")
    return dict(zip(header, cells, strict=True))


def _record(row: Any, names: Mapping[str, str], line: int) -> Grounded:
    if not isinstance(row, dict):
        raise UserError("is not an object {…}")
    values = {ours: _value(row, theirs, ours in ("document", "response")) for ours, theirs in names.items()}
    for ours, value in values.items():
        if isinstance(value, dict):
            inside = ", ".join(f"{ours}={names[ours]}.{key}" for key in list(value)[:3])
            raise UserError(f"'{names[ours]}' is an object", hint=f"name what is in it: {inside}" if inside else None)
    id = values.get("id")
    return Grounded(
        id=str(line) if id in (None, "") else identifier(id, f"'{names['id']}'"),
        document=passages(values["document"], f"'{names['document']}'"),
        response=_text(values["response"], f"'{names['response']}'"),
        history=tuple(_turns(values.get("history"), names.get("history", ""))),
        label=labels.parse_label(values.get("label")),
        source=_text(values.get("source") or "", f"'{names.get('source')}'"),
    )


def _value(row: dict[str, Any], path: str, needed: bool) -> Any:
    value: Any = row
    for key in [path] if path in row else path.split("."):
        if not isinstance(value, dict) or key not in value:
            if needed:
                hint = suggest_name(path, list(row)) or "it has: " + ", ".join(list(row)[:10])
                raise UserError(f"has no '{path}'", hint=hint)
            return None
        value = value[key]
    return value


def identifier(value: object, what: str = "'id'") -> str:
    """An id as text; many programs write ids as numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(value, what)


def passages(value: object, what: str) -> str:
    """A document from a text, a list of passages, or a list of objects with a text each."""
    if not isinstance(value, list):
        return _text(value, what)
    return "\n\n".join(_passage(part, f"a part of {what}") for part in value)


def _passage(part: object, what: str) -> str:
    if isinstance(part, dict):
        text = next((part[key] for key in TEXTS if isinstance(part.get(key), str)), None)
        if text is None:
            raise UserError(f"{what} is an object without a text", hint="keys for a text: " + ", ".join(TEXTS))
        return str(text)
    return _text(part, what)


def _turns(value: object, name: str) -> Iterator[str]:
    if isinstance(value, list):
        yield from (_passage(turn, f"a turn of '{name}'") for turn in value)
    elif value not in (None, ""):
        yield _text(value, f"'{name}'")


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{what} is not text")
    return value
