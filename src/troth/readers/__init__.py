"""Readers: one file per format, all giving the same records.

A reader is a module (or any object) as `troth.readers.format.Reader` describes it. It declares its format in one
record, `FORMAT`. Other packages add readers through the entry point group `troth.readers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import one_of
from troth.core.records import Dialogue, Pair, Schema, Service
from troth.core.registry import Registry
from troth.readers import source
from troth.readers.decode import LAYOUT, unique, where
from troth.readers.format import Format, recognise
from troth.readers.shots import Shots, some
from troth.storage.files import check_new, new_file, new_folder

__all__ = ["FORMATS", "LAYOUT", "batches", "convert", "detect", "gold", "predictions", "read", "schema",
           "schema_beside", "side", "write"]  # fmt: skip

FORMATS = Registry(
    "format",
    "troth.readers",
    # In the order in which they are tried: those with the most telling marks first.
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
    return recognise(FORMATS, source.head(path))


def side(path: str, format: str | None = None) -> Literal["gold", "pred"] | None:
    """The side that a file holds, where its format has but one."""
    kind: Format = FORMATS.load(format or detect(path)).FORMAT
    return kind.side


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
    """The dialogues of one document after the other, with the document's name, which errors need.

    `states_only`: acts and calls are not needed, which makes some readers faster. `files`: only these of a folder.
    `parts`: a large file of JSON Lines is several documents.
    """
    read: Any = None
    if parts and source.is_large(path, files):
        parts = FORMATS.load(format or recognise(FORMATS, source.head(path, files))).FORMAT.streams
    paired = False
    for document in source.documents(path, files, parts=parts):
        if read is None:
            reader = FORMATS.load(format or recognise(FORMATS, document))
            read = getattr(reader, "read_states", reader.read) if states_only else reader.read
        with where(file=document.name, hint=LAYOUT):
            items = list(read(document))
            if parts:
                items, paired = _as_before(items, document, paired=paired)
        yield document.name, items


def _as_before(
    items: list[Dialogue | Pair], document: source.Document, *, paired: bool
) -> tuple[list[Dialogue | Pair], bool]:
    """The dialogues of a part, as pairs where the file has pairs; whether it has is known from its first part."""
    pairs = any(isinstance(item, Pair) for item in items)
    if document.line == 1:
        return items, pairs
    if pairs and not paired:
        what = f"predictions begin after line {document.line}, and not in the first 64 MB"
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

    `side`: what to take from a file that holds gold and predictions. A schema beside the dialogues goes along where the
    new format has a place for it. MultiWOZ's `data.json` becomes complete SGD, with intents, spans and a schema.
    `shots`: only some of the dialogues, as `readers.shots.some` takes them, drawn by `seed`.

    >>> import tempfile
    >>> from troth import demo
    >>> out = tempfile.mkdtemp() + "/gold.jsonl"
    >>> convert(demo.path("gold"), out, "jsonl")
    >>> detect(out), len(list(read(out)))
    ('jsonl', 22)
    """
    one_of("side", side, ("both", "gold", "pred"))
    path = path_of(path)
    document = source.beside(path, source.SCHEMA)
    name = format or detect(path)
    items: Iterable[Dialogue | Pair] = {"both": read, "gold": gold, "pred": predictions}[side](path, name)
    if shots is not None:
        items = some(list(items), shots, seed)
    write(items, path_of(out), to, schema=None if document is None else document.data, origin=name)


def write(
    dialogues: Iterable[Dialogue | Pair],
    out: str,
    format: str,
    *,
    schema: bytes | None = None,
    origin: str | None = None,
) -> None:
    """Writes dialogues in a format, whole or not at all: `out` appears when everything is in it.

    `schema`: the schema of the services, written beside the dialogues where the format is a folder. `origin`: the
    format that they were read from; without a schema, its reader may be able to add one, and what else is missing.
    """
    target, writer = writable(format), FORMATS.load(format)
    check_new(out)
    if not target.folder:
        with new_file(out) as file:
            writer.write(_checked(dialogues, target), file)
        return
    complete = None if origin is None or schema is not None else getattr(FORMATS.load(origin), "completed", None)
    completed = None if complete is None else complete(dialogues)
    with new_folder(out) as folder:
        writer.write(_checked(dialogues if completed is None else completed, target), folder)
        services = schema if completed is None else completed.schema()
        if services is not None:
            (folder / source.SCHEMA).write_bytes(services)


def writable_formats() -> dict[str, str]:
    """The formats that can be written, each with one line about it."""
    formats = {name: FORMATS.load(name).FORMAT for name in FORMATS}
    return {name: format.about for name, format in formats.items() if format.writes}


def writable(name: str) -> Format:
    """The format of this name, which must be one that can be written."""
    format: Format = FORMATS.load(name).FORMAT
    if not format.writes:
        able = ", ".join(sorted(writable_formats()))
        raise UserError(f"'{name}' can be read, but not written", hint=f"can be written: {able}")
    return format


def schema(path: str) -> Schema:
    """The services of a schema file in SGD's layout; `path` is the file, or the folder or archive that it lies in."""
    document = source.beside(path, source.SCHEMA) if source.files(path) else None
    return _schema(document or source.first(path))


def schema_beside(path: str) -> Schema | None:
    """The services of the `schema.json` that belongs to the dialogues under a path, or None."""
    document = source.beside(path, source.SCHEMA)
    return None if document is None else _schema(document)


def _checked(dialogues: Iterable[Dialogue | Pair], format: Format) -> Iterator[Dialogue | Pair]:
    """The dialogues; what a format has no place for is an error."""
    for item in dialogues:
        if isinstance(item, Pair) and not format.pairs:
            what = f"'{format.name}' holds gold or predictions, not both"
            raise UserError(what, dialogue=item.gold.id, hint="choose one side")
        for side in (item.gold, item.pred) if isinstance(item, Pair) else (item,):
            if side is not None and any(turn.correct is not None for turn in side.turns):
                what = "has right or wrong per slot and no values: nothing to convert"
                raise UserError(what, dialogue=side.id, hint="TripPy's pred_res files have the values")
        yield item


def _schema(document: source.Document) -> Schema:
    services: Schema = {}
    for service in unique(document, list[Service]):
        if service.name in services:
            raise UserError(f"duplicate service '{service.name}'", file=document.name, hint="keep one of the two")
        services[service.name] = service
    return services
