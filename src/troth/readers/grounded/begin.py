"""BEGIN's TSV files: one response per line with the label that people gave it; tabs, CRLF, no quoting.

Positive is "Fully attributable" ("entailment" in the first release), as in section 5.1 of PMI-Faith's paper; "Generic"
and "Not fully attributable" are negative. `source` is the file's `data_source`: wow, cmu, tc. Ids are made of it, of
the model that gave the response and of the line.
"""

from __future__ import annotations

from collections.abc import Iterator

from troth.core.records import Grounded
from troth.readers.format import Format
from troth.readers.grounded import rows
from troth.readers.source import Document, utf8

FORMAT = Format(name="begin", about="BEGIN's TSV files: one response per line with a human label")

LABELS = {"begin_label", "gold label"}


def detect(document: Document) -> bool:
    heading = document.data.partition(b"\n")[0].decode(errors="replace").rstrip("\r").split("\t")
    return rows.fits(heading) and not LABELS.isdisjoint(heading)


def read(document: Document) -> Iterator[Grounded]:
    lines = [line.removesuffix("\r") for line in utf8(document).split("\n")]
    heading = lines[0].split("\t")
    cells = ((number, line.split("\t")) for number, line in enumerate(lines[1:], 2))
    yield from rows.records(cells, rows.places(heading), len(heading))
