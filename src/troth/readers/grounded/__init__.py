"""Readers of grounded responses: one file per format, all giving `records.Grounded`.

A reader is a module (or any object) with

    detect(document) -> bool                  does this document look like the format? Decided by content, not by name
    read(document) -> Iterator[Grounded]      one record a response

and a docstring whose first line says what it reads. Readers of others plug in through the entry point group
`troth.grounded_readers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.registry import Registry
from troth.readers import LAYOUT, source
from troth.readers.grounded.opening import opening
from troth.readers.source import Document

ENDINGS = tuple(f".{kind}{packed}" for kind in ("json", "jsonl", "csv", "tsv") for packed in ("", ".gz"))
# What lies beside the dialogues of MultiDoc2Dial and Topical-Chat, and is read together with them.
NOT_RESPONSES = ("multidoc2dial_doc", "reading_", "wiki.json", "run.json")

FORMATS = Registry(
    "format of grounded responses",
    "troth.grounded_readers",
    # In the order in which they are tried: the ones with the most telling marks first.
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


class Batch(NamedTuple):
    """A document with the records in it."""

    document: Document
    items: list[Grounded]


def read(path: str, format: str | None = None) -> Iterator[Grounded]:
    """Every response under a path (a file, a folder, an archive, `-`), in the order of the files."""
    for batch in batches(path, format):
        yield from batch.items


def batches(path: str, format: str | None = None) -> Iterator[Batch]:
    """The responses of one document after the other. What several responses are grounded in is kept once."""
    reader = None if format is None else FORMATS.load(format)
    kept: dict[str, str] = {}
    for document in _documents(path):
        if not document.data.strip():
            raise UserError("the file is empty", file=document.name, hint="is it the right one?")
        if reader is None:
            reader = FORMATS.load(detect(document))
        try:
            yield Batch(document, list(_sharing(reader.read(document), kept)))
        except UserError as error:
            raise error.at(file=document.name, hint=LAYOUT) from error


def detect(document: Document) -> str:
    """The name of the format that a document has."""
    for name in FORMATS.by_name():
        if FORMATS.load(name).detect(document):
            return name
    if document.data.lstrip()[:1] in (b"{", b"["):
        opening(document, strict=True)  # broken JSON is the likelier trouble: say so where it is
    hint = "name it with --format: " + ", ".join(FORMATS)
    raise UserError("not a format of grounded responses that is known here", file=document.name, hint=hint)


def _documents(path: str) -> Iterator[Document]:
    place = Path(path)
    try:
        folder = path != "-" and bool(path) and place.is_dir()
        inside = sorted(place.iterdir()) if folder else []
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", file=path, hint="check the path") from error
    found = [file for file in inside if file.name.endswith(ENDINGS) and not file.name.startswith(NOT_RESPONSES)]
    if folder and not found:
        raise UserError("no .jsonl, .json, .csv or .tsv file in this folder", file=path, hint="is it the right one?")
    for file in [str(file) for file in found] if folder else [path]:
        yield from source.documents(file)


def _sharing(items: Iterable[Grounded], kept: dict[str, str]) -> Iterator[Grounded]:
    """The same records; equal documents are one text in memory."""
    for item in items:
        text = kept.setdefault(item.document, item.document)
        yield item if text is item.document else msgspec.structs.replace(item, document=text)
