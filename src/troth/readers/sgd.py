"""Schema-Guided Dialogue / DSTC8 folders, gold and predictions; MultiWOZ 2.2 has the same layout.

A file is a list of dialogues, or an object from dialogue id to dialogue: the public evaluation script accepts both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.core.errors import UserError
from troth.core.records import Dialogue, Span, Speaker
from troth.readers.decode import KEY_END, check_keys, decode
from troth.readers.format import Format
from troth.readers.plain import encode_indented
from troth.readers.source import Document

FORMAT = Format(name="sgd", about="Schema-Guided Dialogue, DSTC8, SGD-X, MultiWOZ 2.2", writes=True, folder=True)

PER_FILE = 128  # dialogues per file, as in the public release

_decode_slots = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode


class SlotTexts(msgspec.Struct, frozen=True, gc=False):
    """A state whose slots are not decoded yet."""

    slot_values: msgspec.Raw = msgspec.Raw(b"{}")


class _State(SlotTexts, frozen=True, gc=False):
    active_intent: str | None = None
    requested_slots: tuple[str, ...] | None = None


class _Frame(msgspec.Struct, frozen=True, gc=False, rename={"spans": "slots"}):
    """A frame without acts, calls and results, which are half of a file and not needed to score states."""

    service: str
    state: _State | None = None
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
    """A dialogue with only the fields that scoring of states needs: decoding takes half the time."""

    id: str
    turns: tuple[_Turn, ...]
    services: tuple[str, ...] = ()
    user_turns = Dialogue.user_turns


def detect(document: Document) -> bool:
    return b'"turns"' in document.data and (b'"dialogue_id"' in document.data or b'"frames"' in document.data)


def read(document: Document) -> Iterator[Dialogue]:
    dialogues = decode_dialogues(document, Dialogue)
    read_states(document)  # a duplicate slot in a state is an error
    return iter(dialogues)


def read_states(document: Document) -> Iterator[Dialogue]:
    """The dialogues with states and spans only."""
    return fill(document, decode_dialogues(document, _Dialogue))


def decode_dialogues(document: Document, kind: type[Any]) -> list[Any]:
    """The dialogues of either layout as `kind`."""
    if not document.starts(b"{"):
        kinds: Any = list[kind]  # type: ignore[valid-type]
        return cast(list[Any], decode(document, kinds))
    dialogues = []
    for key, raw in decode(document, dict[str, msgspec.Raw]).items():
        dialogue = decode(document, kind, data=raw, dialogue=key)
        check_id(key, dialogue.id)
        dialogues.append(dialogue)
    if document.data.count(b'"dialogue_id"') != len(dialogues):
        check_keys(document, dialogues=True)
    return dialogues


def check_id(key: str, id: str) -> None:
    """Raises an error for a dialogue under another key than its id."""
    if key != id:
        raise UserError(f"is under the key '{key}'", dialogue=id, hint="key and id must agree")


def fill(document: Document, dialogues: list[Any]) -> Iterator[Dialogue]:
    """Decodes the slots of all states (`SlotTexts`), equal texts only once; a duplicate slot in a state is an error.

    Since consecutive states are often equal, this takes no longer than decoding them in place.
    """
    known: dict[bytes, dict[str, tuple[str, ...]]] = {}
    try:
        for state in [frame.state for item in dialogues for turn in item.turns for frame in turn.frames]:
            if state is not None:
                text = bytes(state.slot_values)
                if text not in known:
                    known[text] = _decode_slots(text)
                    if len(known[text]) != text.count(KEY_END):
                        check_keys(Document(document.name, text))
                msgspec.structs.force_setattr(state, "slot_values", known[text])
    except (*DECODING_ERRORS, UserError):
        check_keys(document, dialogues=document.starts(b"{"))
        decode_dialogues(document, Dialogue)  # raises an error with the position in the document
        raise
    return cast(Iterator[Dialogue], iter(dialogues))


def write(dialogues: Iterable[Dialogue], out: Path) -> None:
    """Fills a folder with `dialogues_001.json` and so on, in the public release's layout."""
    rest = iter(dialogues)
    number = 0
    while (batch := list(islice(rest, PER_FILE))) or number == 0:
        number += 1
        (out / f"dialogues_{number:03d}.json").write_bytes(encode_indented(batch))
