"""Schema-Guided Dialogue / DSTC8 folders, gold and predictions; MultiWOZ 2.2 has the same layout.

A file is a list of dialogues, or an object from dialogue id to dialogue, as the public evaluation script takes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import msgspec

from troth.core.errors import UserError
from troth.core.records import Dialogue, Span, Speaker, State
from troth.readers.decode import decode
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(
    name="sgd",
    about="Schema-Guided Dialogue, DSTC8, SGD-X and MultiWOZ 2.2: gold or predictions",
    writes=True,
    folder=True,
)

PER_FILE = 128  # dialogues a file, as in the public release


class _Frame(msgspec.Struct, frozen=True, gc=False, rename={"spans": "slots"}):
    """A frame without acts, calls and results: half of a file, which scoring states has no use for."""

    service: str
    state: State | None = None
    spans: tuple[Span, ...] | None = None
    acts: ClassVar[tuple[()]] = ()
    service_call: ClassVar[None] = None
    service_results: ClassVar[None] = None


class _Turn(msgspec.Struct, frozen=True, gc=False, rename={"text": "utterance"}):
    speaker: Speaker
    text: str = ""
    frames: tuple[_Frame, ...] = ()
    number: int | None = None
    correct: ClassVar[None] = None
    context: ClassVar[None] = None
    coref: ClassVar[None] = None


class _Dialogue(msgspec.Struct, frozen=True, gc=False, rename={"id": "dialogue_id"}):
    """A `Dialogue` to whoever reads states, decoded in half the time."""

    id: str
    turns: tuple[_Turn, ...]
    services: tuple[str, ...] = ()
    user_turns = Dialogue.user_turns


D = TypeVar("D", Dialogue, _Dialogue)


def detect(document: Document) -> bool:
    return b'"turns"' in document.data and (b'"dialogue_id"' in document.data or b'"frames"' in document.data)


def read(document: Document) -> Iterator[Dialogue]:
    return _read(document, Dialogue)


def read_states(document: Document) -> Iterator[Dialogue]:
    """The dialogues with states and spans only."""
    return cast(Iterator[Dialogue], _read(document, _Dialogue))


def _read(document: Document, kind: type[D]) -> Iterator[D]:
    if document.data.lstrip()[:1] == b"{":
        for key, raw in decode(document, dict[str, msgspec.Raw]).items():
            dialogue = decode(document, kind, data=raw, dialogue=key)
            if dialogue.id != key:
                raise UserError(f"stands under the key '{key}'", dialogue=dialogue.id, hint="key and id must agree")
            yield dialogue
    else:
        listed: Any = list[kind]  # type: ignore[valid-type]
        yield from decode(document, listed)


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
