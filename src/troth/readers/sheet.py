"""Sheets for people to fill in, as CSV: written for spreadsheets, read back from whatever they save."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from troth.core.errors import UserError
from troth.core.table import escape_formula
from troth.readers import source


def encode_sheet(head: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """A sheet as CSV, with a byte order mark so that spreadsheets recognise UTF-8. No cell is a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(head)
    for row in rows:
        writer.writerow(map(escape_formula, row))
    return text.getvalue().encode("utf-8-sig")


def read_sheet(path: str) -> tuple[list[str], list[list[str]]]:
    """The headings, in lower case, and the rows of a sheet with commas, semicolons or tabs."""
    text = source.read_text(path)
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        return [name.strip().lower() for name in next(reader, [])], list(reader)
    except csv.Error as error:
        raise UserError(f"line {reader.line_num}: {error}", file=path, hint="is a quote not closed?") from error
