"""Grounded responses word by word: what the document supports and what it does not, by PMI-Faith's language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from troth.core.records import Grounded
from troth.grounding import pmi
from troth.grounding.metrics import Progress
from troth.models import Lm
from troth.storage.files import new_file


class Explained(msgspec.Struct, frozen=True):
    """A response with its words; `value` is its PMI-Faith, None with a reason."""

    system: str
    id: str
    value: float | None
    words: tuple[pmi.Word, ...]
    reason: str | None = None


def explained(
    systems: Mapping[str, Sequence[Grounded]], lm: Lm, *, progress: Progress | None = None
) -> list[Explained]:
    """One for each system's items, in their order. What has no document or no response has no words."""
    items = [(name, item) for name, own in systems.items() for item in own]
    able = [item for _, item in items if item.document.strip() and item.response.strip()]
    found = iter(pmi.measure(able, lm, progress=progress))
    made = []
    for name, item in items:
        if not item.document.strip() or not item.response.strip():
            made.append(Explained(name, item.id, None, (), "no document, or no response"))
            continue
        faith = next(found)
        made.append(Explained(name, item.id, faith.value, tuple(pmi.words(item.response, faith)), faith.reason))
    return made


def least(rows: Sequence[Explained], number: int) -> list[Explained]:
    """Those with the lowest value, the lowest first; of equal ones the earlier."""
    known = [row for row in rows if row.value is not None]
    return sorted(known, key=lambda row: row.value or 0.0)[:number]


def write(rows: Sequence[Explained], out: str) -> None:
    """Every response's words as JSONL, whole or not at all."""
    encoder = msgspec.json.Encoder()
    with new_file(out) as file:
        for row in rows:
            file.write(encoder.encode(row) + b"\n")
