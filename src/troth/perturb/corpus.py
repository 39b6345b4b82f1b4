"""Files of a corpus that are rewritten one by one: units of work, and names of the new files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from troth.core.errors import UserError
from troth.readers import source
from troth.readers.unpack import unpacked_name

RECORD = "perturbation.json"  # record of the source and the settings, beside the new files


def shares(path: str) -> list[list[str] | None]:
    """The units of work: each file of a folder; anything else as a whole."""
    return [[str(file)] for file in source.files(path)] or [None]


def check_unique(names: Iterable[str], path: str) -> None:
    """Raises an error if two documents would be written to the same file."""
    double = next((name for name, count in Counter(names).items() if count > 1), None)
    if double is not None:
        raise UserError(f"duplicate file name '{double}' in two folders", file=path, hint="unpack it")


def new_name(path: str, document: source.Document) -> str:
    """The name of a rewritten document."""
    name = "dialogues.json" if path == "-" else unpacked_name(Path(document.name).name)
    if name in source.NOT_DIALOGUES:
        hint = "rename it: the new folder has its own file of that name"
        raise UserError("cannot be written under this name", file=document.name, hint=hint)
    return name
