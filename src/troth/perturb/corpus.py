"""Files of a corpus that are rewritten one by one: what is worked on at once, and what the new files are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from troth.core.errors import UserError
from troth.readers import source
from troth.readers.unpack import unpacked_name

RECORD = "perturbation.json"  # what was made of what, and how; beside the new files


def shares(path: str) -> list[list[str] | None]:
    """What is worked on at once: the files of a folder one by one, anything else as a whole."""
    return [[str(file)] for file in source.files(path)] or [None]


def check_unique(names: Iterable[str], path: str) -> None:
    """An error where two documents would be written to one file."""
    double = next((name for name, count in Counter(names).items() if count > 1), None)
    if double is not None:
        raise UserError(f"'{double}' is in it twice, in two folders", file=path, hint="unpack it")


def new_name(path: str, document: source.Document) -> str:
    """The name of a rewritten document."""
    name = "dialogues.json" if path == "-" else unpacked_name(Path(document.name).name)
    if name in source.NOT_DIALOGUES:
        hint = "rename it: the folder that is written has files of that name of its own"
        raise UserError("cannot be written under this name", file=document.name, hint=hint)
    return name
