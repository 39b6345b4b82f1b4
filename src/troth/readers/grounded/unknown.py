"""What a file lacks that no format of grounded responses recognises, and how to read it."""

from __future__ import annotations

import re

from troth.core.errors import UserError
from troth.readers.cells import separator
from troth.readers.decode import first_object
from troth.readers.grounded.csv import COLUMNS
from troth.readers.source import RIGHT_FILE, Document

SHOWN = 12  # keys or columns in an error
THEIRS = {  # what our required fields are often called, with the name of the example first
    "document": ("contexts", "context", "passages", "documents", "retrieved_contexts", "retrieval_context", "sources"),
    "response": ("answer", "output", "completion", "generation", "prediction", "actual_output", "reply"),
}

_EMPTY_LIST = re.compile(rb"\s*\[\s*\]\s*")


def explain_unknown(document: Document) -> UserError | None:
    """The error for rows without a document or a response, and for an empty list; None for any other file."""
    if _EMPTY_LIST.fullmatch(document.data):
        return UserError("the list is empty", file=document.name, hint=RIGHT_FILE)
    names, kind = list(first_object(document)), "key"
    if not names:
        line = document.head.decode(errors="replace").strip()
        if ";" in line and separator(line) not in line:
            what = "its cells are separated by semicolons"
            return UserError(what, file=document.name, hint="save it with commas or tabs between the cells")
        names, kind = [name.strip().strip('"') for name in line.split(separator(line))], "column"
        if len(names) < 2 or document.starts(b"{") or document.starts(b"["):
            return None
    missing = [ours for ours in THEIRS if {name.lower() for name in names}.isdisjoint(COLUMNS[ours])]
    if not missing:
        return None
    pairs = (f"{ours}={next((one for one in THEIRS[ours] if one in names), THEIRS[ours][0])}" for ours in missing)
    lacks = " and ".join(f"no {kind} '{ours}'" for ours in missing)
    shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    hint = f"map its names: --map {','.join(pairs)}, or columns=… in Python; formats: docs/formats.md"
    return UserError(f"has {lacks}; its {kind}s are {shown}", file=document.name, hint=hint)
