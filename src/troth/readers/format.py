"""The declaration of a reader's format, and the recognition of a document's format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import msgspec

from troth.core.errors import UserError
from troth.core.registry import Registry
from troth.readers.decode import decode, first_object
from troth.readers.source import Document, empty_error

KEYS = 12  # of an object in an error


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """A file format: its name, its description, and what it can contain."""

    name: str
    about: str  # description for `troth ls`
    profile: str | None = None  # the scoring profile that suits predictions of this format
    side: Literal["gold", "pred"] | None = None  # the only side that files of this format contain; None: either or both
    correctness: bool = False  # contains correctness per slot instead of values
    writes: bool = False  # the reader has a `write` function
    pairs: bool = False  # `write` accepts pairs of gold and prediction, not only dialogues
    folder: bool = False  # written as a folder of files, with the schema of the services beside them
    ending: str = ".json"  # of a written file
    streams: bool = False  # one line per turn, with the dialogue's id in `dialogue`: large files are read in parts


class Reader(Protocol):
    """A module, or any object, that reads one format.

    It may also have `write(dialogues, out)`, where `out` is a new binary file, or a new folder if the format says so;
    `read_states(document)`, which leaves out acts and calls; `resembles(document)`, which recognises a file of this
    format that has mistakes, and is called if no format was recognised; and `completed(dialogues)`, which adds the
    annotations of SGD's layout that the dialogues lack, and has a method `schema()`.
    """

    FORMAT: Format

    def detect(self, document: Document) -> bool:
        """Whether a document has this format, decided by its content and not by its name."""
        ...

    def read(self, document: Document) -> Iterator[Any]:
        """The records of a document."""
        ...


def recognise(
    formats: Registry[Reader],
    document: Document,
    *,
    json: bool = True,
    explain: Callable[[Document], UserError | None] = lambda _: None,
) -> str:
    """The name of the first format that recognises a document. `json`: all formats of the registry are JSON.

    `explain`: gives a more helpful error for a document that none recognises, or None.
    """
    if not document.data.strip():
        raise empty_error(document)
    for name in formats.by_name():
        if formats.load(name).detect(document):
            return name
    for name in formats:
        resembles = getattr(formats.load(name), "resembles", None)
        if resembles is not None and resembles(document):
            return name
    keys = list(first_object(document))
    if not keys and (json or document.starts(b"{") or document.starts(b"[")):
        decode(document, object)  # the most likely reason is broken JSON: this raises an error with its position
    if (error := explain(document)) is not None:
        raise error
    hint = "name the format: " + ", ".join(formats)
    what = f"not a known {formats.kind}"
    what += f"; its keys are {', '.join(keys[:KEYS])}{', …' if len(keys) > KEYS else ''}" if keys else ""
    raise UserError(what, file=document.name, hint=hint)
