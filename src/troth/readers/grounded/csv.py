"""CSV with a header: document, response, and optional columns; also FaithDial's audit of gold responses.

Columns: `document` (or `knowledge`, `evidence`), `response`, and where given `id`, `history` (one text: what was said
right before), `label` (0, 1, or BEGIN's names; also as `BEGIN`), `source`. Others are not read. Cells may be quoted and
hold line breaks; tabs may take the place of commas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.cells import comma, rows
from troth.readers.decode import where
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
    return fits([name.strip('"') for name in line.split(comma(line))])


def read(document: Document) -> Iterator[Grounded]:
    return records(rows(document))


def fits(header: Sequence[str]) -> bool:
    """Whether a header has the columns that are needed."""
    names = {name.strip().lower() for name in header}
    return "response" in names and not names.isdisjoint(COLUMNS["document"])


def records(lines: Iterable[tuple[int, Sequence[str]]]) -> Iterator[Grounded]:
    """One record per line after the header; lines without any text are skipped. The default id is the line's number."""
    rest = iter(lines)
    names = [name.strip().lower() for name in next(rest)[1]]
    at = {what: names.index(name) for what, known in COLUMNS.items() for name in reversed(known) if name in names}
    for what in ("document", "response"):
        if what not in at:
            raise UserError(f"line 1: no column '{what}'", hint="columns: " + ", ".join(COLUMNS))
    seen: dict[str, int] = {}
    for line, cells in rest:
        if not any(cell.strip() for cell in cells):
            continue
        with where(line=line):
            if len(cells) != len(names):
                raise UserError(f"has {len(cells)} cells, not {len(names)}", hint="is a quote or a tab out of place?")
            row = dict.fromkeys(COLUMNS, "") | {what: cells[position] for what, position in at.items()}
            id = row["id"] or "/".join(filter(None, (row["source"], row["model"], str(line))))
            if id in seen:
                raise UserError(f"duplicate id '{id}', already on line {seen[id]}", hint="ids must be unique")
            seen[id] = line
            yield Grounded(
                id=id,
                document=row["document"],
                response=row["response"],
                history=(row["history"],) if row["history"].strip() else (),
                label=labels.any_of(row["label"]),
                source=row["source"],
            )
