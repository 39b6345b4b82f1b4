"""Readers: one file per format, all giving the same records.

A reader is a module (or any object) with

    detect(document) -> bool          does this document look like the format? Decided by content, not by name
    read(document) -> Iterator[Dialogue | Pair]
                                      dialogues; pairs where the format holds gold and prediction together
    write(dialogues, out) -> None     optional: what `troth convert` calls; `out` is a path that does not exist yet

and a docstring whose first line `troth ls` shows. Readers of others plug in through the entry point group `troth.readers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.errors import UserError
from troth.readers import source
from troth.readers.decode import decode
from troth.records import Dialogue, Pair, Schema, Service
from troth.registry import Registry

FORMATS = Registry(
    "format",
    "troth.readers",
    # In the order in which they are tried: the ones with the most telling marks first.
    {
        "sgd": "troth.readers.sgd",
        "parlai": "troth.readers.parlai",
        "checkdst": "troth.readers.checkdst",
        "trippy-pred": "troth.readers.trippy_pred",
        "jsonl": "troth.readers.jsonl",
        "multiwoz": "troth.readers.multiwoz",
        "trade": "troth.readers.trade",
        "trippy": "troth.readers.trippy",
        "mwzeval": "troth.readers.mwzeval",
    },
)


def detect(path: str) -> str:
    """The name of the format that the first document under `path` has."""
    return _recognise(source.first(path))


def read(path: str, format: str | None = None) -> Iterator[Dialogue | Pair]:
    """Every dialogue under a path, document by document, in the order of the files."""
    reader: Any = None
    for document in source.documents(path):
        if reader is None:
            reader = FORMATS.load(format or _recognise(document))
        try:
            yield from reader.read(document)
        except UserError as error:
            raise error.at(file=document.name) from error


def gold(path: str, format: str | None = None) -> Iterator[Dialogue]:
    """The gold side of a file of pairs, or the dialogues themselves."""
    return (item.gold if isinstance(item, Pair) else item for item in read(path, format))


def predictions(path: str, format: str | None = None) -> Iterator[Dialogue]:
    """The predicted side of a file of pairs, or the dialogues themselves."""
    for item in read(path, format):
        if isinstance(item, Dialogue):
            yield item
        elif item.pred is not None:
            yield item.pred


def schema(path: str) -> Schema:
    """A schema file in SGD's layout: a list of services."""
    return _schema(source.first(path))


def schema_beside(path: str) -> Schema | None:
    """The `schema.json` in the same folder or archive as the dialogues, if there is one."""
    document = source.beside(path, "schema.json")
    return None if document is None else _schema(document)


def _schema(document: source.Document) -> Schema:
    found: Schema = {}
    for service in decode(document, list[Service]):
        if service.name in found:
            raise UserError(f"service '{service.name}' is defined twice", file=document.name, hint="remove one")
        found[service.name] = service
    return found


def _recognise(document: source.Document) -> str:
    for name in FORMATS:
        if FORMATS.load(name).detect(document):
            return name
    if not document.data.strip():
        raise UserError("the file is empty", file=document.name, hint="is it the right one?")
    decode(document, object)  # broken JSON is the likelier trouble: say so where it is
    raise UserError(
        "not a format that is known here", file=document.name, hint="name it with --format: " + ", ".join(FORMATS)
    )
