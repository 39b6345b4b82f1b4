"""CSV with a header: document, response, and optional columns; also FaithDial's audit of gold responses.

Columns: `document` (or `knowledge`, `evidence`), `response`, and where given `id`, `history` (one text: what was said
right before), `label` (0, 1, or BEGIN's names; also as `BEGIN`), `source`. Others are not read. Cells may be quoted and
hold line breaks; tabs may take the place of commas.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.format import Format
from troth.readers.grounded import rows
from troth.readers.source import Document, utf8

FORMAT = Format(name="csv", about="CSV or TSV with a header; also FaithDial's audit of gold responses")

LIMIT = 1 << 27  # characters per cell: documents can be longer than the 128 kB that Python's reader allows


def detect(document: Document) -> bool:
    line = document.data.lstrip().partition(b"\n")[0].decode(errors="replace").strip()
    return rows.fits([name.strip('"') for name in line.split(_comma(line))])


def read(document: Document) -> Iterator[Grounded]:
    content = utf8(document).lstrip()
    # newline="": line ends inside quotes are part of the cell.
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=_comma(content.partition("\n")[0]), strict=True)
    before = csv.field_size_limit(LIMIT)
    try:
        heading = next(reader)
        cells = ((reader.line_num, row) for row in reader)
        yield from rows.records(cells, rows.places(heading), len(heading))
    except csv.Error as error:
        raise UserError(f"line {reader.line_num}: {error}", hint="is a quote not closed?") from error
    finally:
        csv.field_size_limit(before)


def _comma(line: str) -> str:
    return "\t" if "\t" in line else ","
