"""What a reader declares about its format, and how the format of a document is recognised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

import msgspec

from troth.core.errors import UserError
from troth.core.registry import Registry
from troth.readers.decode import decode
from troth.readers.source import Document, empty


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """A file format: its name, what it is, and what it can hold. Whatever asks about a format asks this record."""

    name: str
    about: str  # one clause for `troth ls`
    profile: str | None = None  # the scoring profile of the field that predictions of this format come from
    side: Literal["gold", "pred"] | None = None  # the one side that files of this format hold; None: either, or both
    correctness: bool = False  # holds right or wrong per slot in place of values
    writes: bool = False  # the reader has a `write` function
    pairs: bool = False  # `write` takes pairs of gold and prediction, not only dialogues
    folder: bool = False  # written as a folder of files, with the schema of the services beside them
    ending: str = ".json"  # of a written file
    streams: bool = False  # one line per turn, whose key `dialogue` names its dialogue: large files are read in parts


class Reader(Protocol):
    """A module, or any object, that reads one format.

    It may also have `write(dialogues, out)`, where `out` is a new binary file, or a new folder if the format says so;
    `read_states(document)`, which leaves out acts and calls; `resembles(document)`, which recognises a file of this
    format with mistakes in it, and is asked after all formats; and `completed(dialogues)`, which gives the dialogues
    all that SGD's layout has, and their `schema()`.
    """

    FORMAT: Format

    def detect(self, document: Document) -> bool:
        """Whether a document has this format, decided by its content and not by its name."""
        ...

    def read(self, document: Document) -> Iterator[Any]:
        """The records of a document."""
        ...


def recognise(formats: Registry[Reader], document: Document, *, json: bool = True) -> str:
    """The name of the first format that recognises a document. `json`: all formats of the registry are JSON."""
    if not document.data.strip():
        raise empty(document)
    for name in formats.by_name():
        if formats.load(name).detect(document):
            return name
    for name in formats:
        resembles = getattr(formats.load(name), "resembles", None)
        if resembles is not None and resembles(document):
            return name
    if json or document.starts(b"{") or document.starts(b"["):
        decode(document, object)  # broken JSON is the likeliest reason: the error says where it is broken
    raise UserError(
        f"not a known {formats.kind}", file=document.name, hint="name it with --format: " + ", ".join(formats)
    )
