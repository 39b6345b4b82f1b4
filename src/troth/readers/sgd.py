"""Schema-Guided Dialogue / DSTC8 folders, gold and predictions; MultiWOZ 2.2 has the same layout.

A file is a list of dialogues, or an object from dialogue id to dialogue, as the public evaluation script takes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from troth.errors import UserError
from troth.readers.decode import decode
from troth.readers.source import Document
from troth.records import Dialogue

PER_FILE = 128  # dialogues a file, as in the public release


def detect(document: Document) -> bool:
    return b'"turns"' in document.data and (b'"dialogue_id"' in document.data or b'"frames"' in document.data)


def read(document: Document) -> Iterator[Dialogue]:
    if document.data.lstrip()[:1] == b"{":
        for key, raw in decode(document, dict[str, msgspec.Raw]).items():
            dialogue = decode(document, Dialogue, data=raw, dialogue=key)
            if dialogue.id != key:
                raise UserError(f"stands under the key '{key}'", dialogue=dialogue.id, hint="key and id must agree")
            yield dialogue
    else:
        yield from decode(document, list[Dialogue])


def write(dialogues: Iterable[Dialogue], out: Path) -> None:
    """A folder of `dialogues_001.json` and so on, in the public release's layout."""
    out.mkdir(parents=True)
    batch: list[Dialogue] = []
    number = 0

    def flush() -> None:
        data = msgspec.json.format(msgspec.json.encode(batch), indent=2)
        (out / f"dialogues_{number:03d}.json").write_bytes(data + b"\n")
        batch.clear()

    for dialogue in dialogues:
        batch.append(dialogue)
        if len(batch) == PER_FILE:
            number += 1
            flush()
    if batch or number == 0:
        number += 1
        flush()
