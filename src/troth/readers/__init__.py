"""Readers: one file per format, all giving the same records.

A reader is a module (or any object) with

    detect(document) -> bool          does this document look like the format? Decided by content, not by name
    read(document) -> Iterator[Dialogue | Pair]
                                      dialogues; pairs where the format holds gold and prediction together
    write(dialogues, out) -> None     optional: what `troth convert` calls; `out` is a path that does not exist yet

                                      (PAIRS = True where it takes pairs, too)

and a docstring whose first line `troth ls` shows. Readers of others plug in through the entry point group
`troth.readers`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Dialogue, Pair, Schema, Service
from troth.core.registry import Registry
from troth.readers import source
from troth.readers.decode import decode

LAYOUT = "see docs/formats.md for the layout"

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
    """Every dialogue under a path, in the order of the files."""
    for _, items in batches(path, format):
        yield from items


def batches(
    path: str, format: str | None = None, *, states_only: bool = False, files: Sequence[str] | None = None
) -> Iterator[tuple[str, list[Dialogue | Pair]]]:
    """The dialogues of one document after the other, with the document's name: what errors need to say where.

    `states_only`: acts and calls are not asked for, which a reader may make use of (`read_states`). `files`: only these
    of a folder.
    """
    read: Any = None
    for document in source.documents(path, files):
        if read is None:
            reader = FORMATS.load(format or _recognise(document))
            read = getattr(reader, "read_states", reader.read) if states_only else reader.read
        try:
            yield document.name, list(read(document))
        except UserError as error:
            raise error.at(file=document.name, hint=LAYOUT) from error


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


def write(dialogues: Iterable[Dialogue | Pair], out: str, format: str, *, schema: bytes | None = None) -> None:
    """Write dialogues in another format, whole or not at all: `out` appears when everything is in it.

    `schema`: the services' schema, laid beside the dialogues where the format is a folder.
    """
    writer = FORMATS.load(format)
    if not writer.FORMAT.writes:
        able = ", ".join(sorted(name for name in FORMATS if FORMATS.load(name).FORMAT.writes))
        raise UserError(f"'{format}' can be read, but not written", hint=f"can be written: {able}")
    place = Path(out)
    part = place.parent / f".{place.name}.{os.getpid()}.part"
    try:
        if place.exists() or place.is_symlink():
            raise UserError("exists already", file=out, hint="name a new file or folder")
        if not place.parent.is_dir():
            raise UserError("its folder does not exist", file=out, hint=f"make '{place.parent}' first")
        try:
            writer.write(_writable(dialogues, format, pairs=writer.FORMAT.pairs), part)
            if schema is not None and part.is_dir():
                (part / "schema.json").write_bytes(schema)
            part.rename(place)
        finally:
            if part.is_dir():
                shutil.rmtree(part)
            else:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror}", file=out, hint="is there room, and the right to?"
        ) from error


def schema(path: str) -> Schema:
    """A schema file in SGD's layout, a list of services; or the folder that it lies in."""
    document = source.beside(path, "schema.json") if source.files(path) else None
    return _schema(document or source.first(path))


def schema_beside(path: str) -> Schema | None:
    """The `schema.json` in the same folder or archive as the dialogues, if there is one."""
    document = source.beside(path, "schema.json")
    return None if document is None else _schema(document)


def _writable(dialogues: Iterable[Dialogue | Pair], format: str, *, pairs: bool) -> Iterator[Dialogue | Pair]:
    """What a format has a place for; the rest is refused and not dropped."""
    for item in dialogues:
        if isinstance(item, Pair) and not pairs:
            raise UserError(
                f"'{format}' holds gold or predictions, not both", dialogue=item.gold.id, hint="choose one side"
            )
        for side in (item.gold, item.pred) if isinstance(item, Pair) else (item,):
            if side is not None and any(turn.correct is not None for turn in side.turns):
                what = "has right or wrong per slot and no values: nothing to convert"
                hint = "TripPy's pred_res files have the values"
                raise UserError(what, dialogue=side.id, hint=hint)
        yield item


def _schema(document: source.Document) -> Schema:
    found: Schema = {}
    for service in decode(document, list[Service]):
        if service.name in found:
            raise UserError(f"service '{service.name}' is defined twice", file=document.name, hint="remove one")
        found[service.name] = service
    return found


def _recognise(document: source.Document) -> str:
    for name in FORMATS.by_name():
        if FORMATS.load(name).detect(document):
            return name
    if not document.data.strip():
        raise UserError("the file is empty", file=document.name, hint="is it the right one?")
    decode(document, object)  # broken JSON is the likelier trouble: say so where it is
    raise UserError(
        "not a format that is known here", file=document.name, hint="name it with --format: " + ", ".join(FORMATS)
    )
