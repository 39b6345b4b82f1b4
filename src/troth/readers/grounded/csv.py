"""CSV with a heading: document, response, and what else there is; also FaithDial's audit of gold responses.

Columns: `document` (or `knowledge`, `evidence`), `response`, and where given `id`, `history` (one text: what was said
right before), `label` (0, 1, or BEGIN's names; also as `BEGIN`), `source`. Others are passed over. Cells may be quoted
and hold line breaks; tabs in place of commas are fine.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers.format import Format
from troth.readers.grounded import rows
from troth.readers.source import Document

FORMAT = Format(name="csv", about="CSV or TSV with a header; also FaithDial's audit of gold responses")

LIMIT = 1 << 27  # characters of a cell: documents are longer than the 128 kB that Python's reader allows by itself


def detect(document: Document) -> bool:
    line = document.data.lstrip().partition(b"\n")[0].decode(errors="replace").strip()
    return rows.fits([name.strip('"') for name in line.split(_comma(line))])


def read(document: Document) -> Iterator[Grounded]:
    content = rows.decoded(document).lstrip()
    # Without the line ends' translation, which would change what stands inside quotes.
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
