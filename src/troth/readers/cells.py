"""Rows of CSV and TSV files, with the number of their line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from troth.core.errors import UserError
from troth.readers.source import Document, utf8

LIMIT = 1 << 27  # characters per cell: documents can be longer than the 128 kB that Python's reader allows


def separator(line: str) -> str:
    """The separator of the cells of a file with this first line."""
    return "\t" if "\t" in line else ","


def rows(document: Document) -> Iterator[tuple[int, list[str]]]:
    """The last line and the cells of each row, the header first; blank lines at the start are skipped."""
    text = utf8(document)
    content = text.lstrip()
    above = text[: len(text) - len(content)].count("\n")
    # newline="": line ends inside quotes are part of the cell.
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator(content.partition("\n")[0]), strict=True)
    before = csv.field_size_limit(LIMIT)
    try:
        yield from ((above + reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise UserError(f"line {above + reader.line_num}: {error}", hint="is a quote not closed?") from error
    finally:
        csv.field_size_limit(before)
