"""BEGIN's TSV files: one response per line with a human label; tabs, CRLF, no quoting.

Positive is "Fully attributable" ("entailment" in the first release), as in section 5.1 of PMI-Faith's paper; "Generic"
and "Not fully attributable" are negative. `source` is the file's `data_source`: wow, cmu, tc. Ids consist of it,
the model that gave the response, and the line.
"""

from __future__ import annotations

from collections.abc import Iterator

from troth.core.records import Grounded
from troth.readers.format import Format
from troth.readers.grounded import csv
from troth.readers.source import Document, utf8

FORMAT = Format(name="begin", about="BEGIN's TSV files: one response per line with a human label")

LABELS = {"begin_label", "gold label"}


def detect(document: Document) -> bool:
    header = document.data.partition(b"\n")[0].decode(errors="replace").rstrip("\r").split("\t")
    return csv.has_columns(header) and not LABELS.isdisjoint(header)


def read(document: Document) -> Iterator[Grounded]:
    lines = enumerate(utf8(document).split("\n"), 1)
    return csv.records((number, line.removesuffix("\r").split("\t")) for number, line in lines)
