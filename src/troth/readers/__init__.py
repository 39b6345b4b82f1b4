"""Readers: one file per format, all giving the same records.

A reader is a module (or any object) as `troth.readers.format.Reader` describes it. It declares its format in one
record, `FORMAT`. Other packages add readers through the entry point group `troth.readers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, cast

from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import check_choice
from troth.core.records import Dialogue, Pair, Schema, Service
from troth.core.registry import Registry
from troth.readers import source
from troth.readers.decode import LAYOUT, decode_unique, error_context
from troth.readers.format import Format, Reader, recognise
from troth.readers.shots import Shots, sample
from troth.storage.files import check_new, new_file, new_folder

__all__ = ["FORMATS", "LAYOUT", "batches", "convert", "detect", "gold", "predictions", "read", "schema",
           "schema_beside", "side", "write"]  # fmt: skip

FORMATS: Registry[Reader] = Registry(
    "format",
    "troth.readers",
    # In the order in which they are tried: the most distinctive formats first.
    {
        "sgd": "troth.readers.sgd",
        "parlai": "troth.readers.parlai",
        "checkdst": "troth.readers.checkdst",
        "trippy-pred": "troth.readers.trippy_pred",
        "jsonl": "troth.readers.jsonl",
        "multiwoz": "troth.readers.multiwoz",
        "hi-dst": "troth.readers.hi_dst",
        "trade": "troth.readers.trade",
        "trippy": "troth.readers.trippy",
        "mwzeval": "troth.readers.mwzeval",
    },
)


def detect(path: str) -> str:
    """The name of the format of the first document under a path."""
    return recognise(FORMATS, source.first_part(path))


def side(path: str, format: str | None = None) -> Literal["gold", "pred"] | None:
    """The side that a file contains, if its format has only one."""
    return FORMATS.load(format or detect(path)).FORMAT.side


def read(path: str, format: str | None = None) -> Iterator[Dialogue | Pair]:
    """Every dialogue under a path, in the order of the files."""
    for _, items in batches(path, format):
        yield from items


def batches(
    path: str,
    format: str | None = None,
    *,
    states_only: bool = False,
    files: Sequence[str] | None = None,
    parts: bool = False,
) -> Iterator[tuple[str, list[Dialogue | Pair]]]:
    """The dialogues of each document, with the name of the document, which errors need.

    `states_only`: leave out acts and calls, which makes some readers faster. `files`: read only these files of a
    folder. `parts`: read a large file of JSON Lines as several documents.
    """
    read: Any = None
    if parts and source.is_large(path, files):
        parts = FORMATS.load(format or recognise(FORMATS, source.first_part(path, files))).FORMAT.streams
    paired = False
    for document in source.documents(path, files, parts=parts):
        if read is None:
            reader = FORMATS.load(format or recognise(FORMATS, document))
            read = getattr(reader, "read_states", reader.read) if states_only else reader.read
        with error_context(file=document.name, hint=LAYOUT):
            items = list(read(document))
            if parts:
                items, paired = _pair_part(items, document, paired=paired)
        yield document.name, items


def _pair_part(
    items: list[Dialogue | Pair], document: source.Document, *, paired: bool
) -> tuple[list[Dialogue | Pair], bool]:
    """The dialogues of a part, as pairs if the first part of the file has pairs."""
    pairs = any(isinstance(item, Pair) for item in items)
    if document.line == 1:
        return items, pairs
    if pairs and not paired:
        what = f"the first prediction is after line {document.line}, not in the first 64 MB"
        raise UserError(what, hint="put a dialogue with a prediction first")
    return [item if isinstance(item, Pair) or not paired else Pair(item, None) for item in items], paired


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


def convert(
    path: Path,
    out: Path,
    to: str,
    *,
    format: str | None = None,
    side: Literal["both", "gold", "pred"] = "both",
    shots: Shots = None,
    seed: int = 0,
) -> None:
    """Reads dialogues in one format and writes them in another; `out` must not exist yet.

    `side`: which side of a file with gold and predictions to convert. A schema beside the dialogues is copied if the
    new format has one. MultiWOZ's `data.json` becomes complete SGD, with intents, spans and a schema. `shots`: convert
    only a sample of the dialogues, as `readers.shots.sample` draws it, with this `seed`.

    >>> import tempfile
    >>> from troth import demo
    >>> out = tempfile.mkdtemp() + "/gold.jsonl"
    >>> convert(demo.path("gold"), out, "jsonl")
    >>> detect(out), len(list(read(out)))
    ('jsonl', 22)
    """
    check_choice("side", side, ("both", "gold", "pred"))
    path = path_of(path)
    document = source.find_beside(path, source.SCHEMA)
    name = format or detect(path)
    items: Iterable[Dialogue | Pair] = {"both": read, "gold": gold, "pred": predictions}[side](path, name)
    if shots is not None:
        items = sample(list(items), shots, seed)
    write(items, path_of(out), to, schema=None if document is None else document.data, origin=name)


def write(
    dialogues: Iterable[Dialogue | Pair],
    out: str,
    format: str,
    *,
    schema: bytes | None = None,
    origin: str | None = None,
) -> None:
    """Writes dialogues in a format, completely or not at all: `out` appears when it is complete.

    `schema`: the schema of the services, written beside the dialogues if the format is a folder. `origin`: the format
    that they were read from; without a schema, its reader may be able to add one and other missing annotations.
    """
    target, writer = writable(format), cast(Any, FORMATS.load(format))  # a format that is writable has `write`
    check_new(out)
    if not target.folder:
        with new_file(out) as file:
            writer.write(_check(dialogues, target), file)
        return
    complete = None if origin is None or schema is not None else getattr(FORMATS.load(origin), "completed", None)
    completed = None if complete is None else complete(dialogues)
    with new_folder(out) as folder:
        writer.write(_check(dialogues if completed is None else completed, target), folder)
        services = schema if completed is None else completed.schema()
        if services is not None:
            (folder / source.SCHEMA).write_bytes(services)


def writable_formats() -> dict[str, str]:
    """The formats that can be written, each with one line about it."""
    formats = {name: FORMATS.load(name).FORMAT for name in FORMATS}
    return {name: format.about for name, format in formats.items() if format.writes}


def writable(name: str) -> Format:
    """The format of this name; an error if it cannot be written."""
    format: Format = FORMATS.load(name).FORMAT
    if not format.writes:
        able = ", ".join(sorted(writable_formats()))
        raise UserError(f"'{name}' can be read, but not written", hint=f"can be written: {able}")
    return format


def schema(path: str) -> Schema:
    """The services of a schema file in SGD's layout; `path` is the file, or its folder or archive."""
    document = source.find_beside(path, source.SCHEMA) if source.files(path) else None
    return _schema(document or source.first(path))


def schema_beside(path: str) -> Schema | None:
    """The services of the `schema.json` that belongs to the dialogues under a path, or None."""
    document = source.find_beside(path, source.SCHEMA)
    return None if document is None else _schema(document)


def _check(dialogues: Iterable[Dialogue | Pair], format: Format) -> Iterator[Dialogue | Pair]:
    """The dialogues unchanged; an error if the format cannot represent one of them."""
    for item in dialogues:
        if isinstance(item, Pair) and not format.pairs:
            what = f"'{format.name}' contains gold or predictions, not both"
            raise UserError(what, dialogue=item.gold.id, hint="choose one side")
        for side in (item.gold, item.pred) if isinstance(item, Pair) else (item,):
            if side is not None and any(turn.correct is not None for turn in side.turns):
                what = "contains correctness per slot, not values: nothing to convert"
                raise UserError(what, dialogue=side.id, hint="TripPy's pred_res files have the values")
        yield item


def _schema(document: source.Document) -> Schema:
    services: Schema = {}
    for service in decode_unique(document, list[Service]):
        if service.name in services:
            raise UserError(f"duplicate service '{service.name}'", file=document.name, hint="keep one of the two")
        services[service.name] = service
    return services
