"""CSV with a header: document, response, and optional columns; also FaithDial's audit of gold responses.

Columns: `document` (or `knowledge`, `evidence`), `response`, and optionally `id`, `history` (one text: the message
before the response), `label` (0, 1, or BEGIN's names; also as `BEGIN`), `source`. Other columns are ignored. Cells may
be quoted and contain line breaks; the separator may be a tab.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.cells import rows, separator
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.source import Document

FORMAT = Format(name="csv", about="CSV or TSV with a header; also FaithDial's audit of gold responses")

COLUMNS = {  # our names, and those of other files: BEGIN of 2022, BEGIN of 2021, FaithDial's audit
    "id": ("id",),
    "document": ("document", "knowledge", "evidence"),
    "history": ("history", "message", "previous turn"),
    "response": ("response",),
    "label": ("label", "begin_label", "gold label", "begin"),
    "source": ("source", "data_source"),
    "model": ("model_name",),
}


def detect(document: Document) -> bool:
    line = document.head.decode(errors="replace").strip()
    return has_columns([name.strip('"') for name in line.split(separator(line))])


def read(document: Document) -> Iterator[Grounded]:
    return records(rows(document))


def has_columns(header: Sequence[str]) -> bool:
    """Whether a header has the required columns."""
    names = {name.strip().lower() for name in header}
    return "response" in names and not names.isdisjoint(COLUMNS["document"])


def records(lines: Iterable[tuple[int, Sequence[str]]]) -> Iterator[Grounded]:
    """One record per line after the header; lines without any text are skipped. The default id is the line's number."""
    rest = iter(lines)
    names = [name.strip().lower() for name in next(rest)[1]]
    positions = {
        ours: names.index(name) for ours, known in COLUMNS.items() for name in reversed(known) if name in names
    }
    for what in ("document", "response"):
        if what not in positions:
            raise UserError(f"line 1: no column '{what}'", hint="columns: " + ", ".join(COLUMNS))
    seen: dict[str, int] = {}
    for line, cells in rest:
        if not any(cell.strip() for cell in cells):
            continue
        with error_context(line=line):
            if len(cells) != len(names):
                raise UserError(f"has {len(cells)} cells, not {len(names)}", hint="is a quote or a tab out of place?")
            row = dict.fromkeys(COLUMNS, "") | {what: cells[position] for what, position in positions.items()}
            id = row["id"] or "/".join(filter(None, (row["source"], row["model"], str(line))))
            if id in seen:
                raise UserError(f"duplicate id '{id}', already on line {seen[id]}", hint="ids must be unique")
            seen[id] = line
            history, label = (row["history"],) if row["history"].strip() else (), labels.parse_label(row["label"])
            yield Grounded(id, row["document"], row["response"], history=history, label=label, source=row["source"])
