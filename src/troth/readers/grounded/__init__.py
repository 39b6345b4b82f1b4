"""Readers of grounded responses: one file per format, all giving `records.Grounded`.

A reader is a module (or any object) as `troth.readers.format.Reader` describes it. It declares its format in one
record, `FORMAT`. Other packages add readers through the entry point group `troth.grounded_readers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.registry import Registry
from troth.readers import source
from troth.readers.decode import LAYOUT, error_context
from troth.readers.format import Reader, recognise
from troth.readers.grounded import mapped
from troth.readers.grounded.unknown import explain_unknown
from troth.readers.paths import to_path
from troth.readers.source import Document

_KINDS = ("json", "jsonl", "csv", "tsv")
ENDINGS = (*(f".{kind}{packed}" for kind in _KINDS for packed in source.PACKED), ".parquet")
# Files beside the dialogues of MultiDoc2Dial and Topical-Chat, which are read together with them.
NOT_RESPONSES = ("multidoc2dial_doc", "reading_", "wiki.json", "run.json")

FORMATS: Registry[Reader] = Registry(
    "format of grounded responses",
    "troth.grounded_readers",
    # In the order in which they are tried: the most distinctive formats first.
    {
        "begin": "troth.readers.grounded.begin",
        "chat": "troth.readers.grounded.chat",
        "faithdial": "troth.readers.grounded.faithdial",
        "faithdial-original": "troth.readers.grounded.faithdial:ORIGINAL",
        "wow": "troth.readers.grounded.wow",
        "multidoc2dial": "troth.readers.grounded.multidoc2dial",
        "topical-chat": "troth.readers.grounded.topical_chat",
        "jsonl": "troth.readers.grounded.jsonl",
        "csv": "troth.readers.grounded.csv",
    },
)


class GroundedDocument(NamedTuple):
    """A document with the responses in it."""

    document: Document
    items: list[Grounded]


def read(path: str, format: str | None = None) -> Iterator[Grounded]:
    """Every response under a path (a file, a folder, an archive, `-`), in the order of the files."""
    for batch in batches(path, format):
        yield from batch.items


def batches(
    path: str,
    format: str | None = None,
    context: Sequence[str] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    skipped: list[str] | None = None,
) -> Iterator[GroundedDocument]:
    """The responses of each document. A text that several responses are grounded in is stored once.

    `context`: for chat transcripts, the kinds of messages that answers may be grounded in; other formats have
    documents. `columns`: the file's names of our fields, see `mapped`. `skipped`: a list for the errors of rows that
    are skipped; None: the first error is raised.
    """
    reader = None if format is None else FORMATS.load(format)
    texts: dict[str, str] = {}
    for document in _documents(path):
        if not document.data.strip():
            raise source.empty_error(document)
        if reader is None and not columns:
            reader = FORMATS.load(detect(document))
        with error_context(file=document.name, hint=LAYOUT):
            records = mapped.read(document, columns, skipped) if columns else _read(reader, document, context, skipped)
            items = list(_share_texts(records, texts))
        yield GroundedDocument(document, items)


def _read(
    reader: Any, document: Document, context: Sequence[str] | None, skipped: list[str] | None
) -> Iterator[Grounded]:
    if skipped is not None:
        if not hasattr(reader, "read_sound"):
            what = f"rows of the format {reader.FORMAT.name} cannot be skipped"
            raise UserError(what, hint="only rows of JSON Lines, and of files that are read with a map of names")
        return cast(Iterator[Grounded], reader.read_sound(document, skipped))
    has_context = context is not None and hasattr(reader, "CONTEXT")
    return cast(Iterator[Grounded], reader.read(document, context) if has_context else reader.read(document))


def detect(document: Document) -> str:
    """The name of the format of a document."""
    return recognise(FORMATS, document, json=False, explain=explain_unknown)


def _documents(path: str) -> Iterator[Document]:
    files = source.files(path, lambda name: name.endswith(ENDINGS) and not name.startswith(NOT_RESPONSES))
    if not files and path not in ("", "-") and to_path(path).is_dir():
        raise UserError("no .jsonl, .json, .csv or .tsv file in this folder", file=path, hint=source.RIGHT_FILE)
    for file in map(str, files) if files else [path]:
        yield from source.documents(file)


def _share_texts(items: Iterable[Grounded], texts: dict[str, str]) -> Iterator[Grounded]:
    """The same records; equal documents share one text in memory."""
    for item in items:
        text = texts.setdefault(item.document, item.document)
        yield item if text is item.document else msgspec.structs.replace(item, document=text)
