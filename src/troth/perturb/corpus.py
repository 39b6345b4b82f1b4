"""Files of a corpus that are rewritten one by one: what is worked on at once, and what the new files are called."""

from __future__ import annotations

from pathlib import Path

import msgspec

from troth.core.errors import UserError
from troth.readers import source

RECORD = "perturbation.json"  # what was made of what, and how; beside the new files


def shares(path: str) -> list[list[str] | None]:
    """What is worked on at once: the files of a folder one by one, anything else as a whole."""
    return [[str(file)] for file in source.files(path)] or [None]


class NewFiles:
    """The names of the files that were written; none comes twice."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.names: set[str] = set()

    def add(self, name: str) -> None:
        if name in self.names:
            raise UserError(f"'{name}' is in it twice, in two folders", file=self.path, hint="unpack it")
        self.names.add(name)


def new_name(path: str, document: source.Document) -> str:
    """The name of a rewritten document."""
    name = "dialogues.json" if path == "-" else Path(document.name).name.removesuffix(".gz")
    if name in source.NOT_DIALOGUES:
        hint = "rename it: the folder that is written has files of that name of its own"
        raise UserError("cannot be written under this name", file=document.name, hint=hint)
    return name


def encoded(record: object, indent: int = 2) -> bytes:
    """A JSON file."""
    return msgspec.json.format(msgspec.json.encode(record), indent=indent) + b"\n"
