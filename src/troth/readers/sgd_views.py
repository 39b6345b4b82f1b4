"""Other views of an SGD document: only its texts and values, in half the time; or all of it, to be written back.

Writing back keeps every key. A document with exactly the keys of the public release is decoded into classes that have
all of them, and is encoded with sorted keys as in the release. Any other document is kept as plain JSON, and changes
are made in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

import msgspec

from troth.core.decode import DECODING_ERRORS
from troth.core.records import Act, Dialogue, Frame, ServiceCall, Span, Speaker, State, Turn
from troth.readers.decode import convert_value, decode
from troth.readers.plain import encode_indented
from troth.readers.sgd import SlotTexts, check_id, decode_dialogues, fill
from troth.readers.source import Document


class _TextAct(msgspec.Struct, frozen=True, gc=False):
    slot: str = ""
    values: tuple[str, ...] = ()


class _TextFrame(msgspec.Struct, frozen=True, gc=False, rename={"acts": "actions"}):
    service: str
    state: SlotTexts | None = None
    acts: tuple[_TextAct, ...] = ()


class _TextTurn(msgspec.Struct, frozen=True, gc=False, rename={"text": "utterance"}):
    speaker: Speaker
    text: str = ""
    frames: tuple[_TextFrame, ...] = ()


class _TextDialogue(msgspec.Struct, frozen=True, gc=False, rename={"id": "dialogue_id"}):
    id: str
    turns: tuple[_TextTurn, ...]
    services: ClassVar[tuple[()]] = ()


def read_texts(document: Document) -> Iterator[Dialogue]:
    """Dialogues with only text, values of states and values of acts."""
    return fill(document, decode_dialogues(document, _TextDialogue))


# A field without a default must be present and is always written; a field whose default is not of its type may be
# missing, but is never null. So a decoded document is encoded with the same keys.


class _Span(Span, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    pass


class _Act(Act, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    slot: str
    values: tuple[str, ...]
    canonical_values: tuple[str, ...]


class _State(State, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    active_intent: str
    requested_slots: tuple[str, ...]
    slot_values: dict[str, tuple[str, ...]]


class _Call(ServiceCall, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    parameters: dict[str, Any]


class _Frame(
    Frame, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True,
    rename={"spans": "slots", "acts": "actions"},
):  # fmt: skip
    state: _State = cast(_State, None)
    spans: tuple[_Span, ...]
    acts: tuple[_Act, ...]
    service_call: _Call = cast(_Call, None)
    service_results: tuple[dict[str, Any], ...] = cast(tuple[dict[str, Any], ...], None)


class _Turn(
    Turn, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True,
    rename={"text": "utterance"},
):  # fmt: skip
    text: str
    frames: tuple[_Frame, ...]
    # Not keys of the release: a document that has them is kept as plain JSON.
    number: None = None
    correct: None = None
    context: None = None
    coref: None = None


class _Dialogue(
    Dialogue, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True,
    rename={"id": "dialogue_id"},
):  # fmt: skip
    turns: tuple[_Turn, ...]
    services: tuple[str, ...]


def to_release(dialogue: Dialogue) -> Dialogue:
    """A dialogue that is encoded with every key of the public release, including empty lists."""
    plain = msgspec.to_builtins(dialogue)
    for turn in plain["turns"]:
        turn.setdefault("frames", [])
        turn["frames"] = [{"slots": [], "actions": []} | frame for frame in turn["frames"]]
    return msgspec.convert({"services": []} | plain, _Dialogue)


class WholeDocument:
    """A document with the keys of the public release; its dialogues can be replaced before it is written back."""

    def __init__(self, dialogues: list[Dialogue]) -> None:
        self.dialogues = dialogues

    def patch(self, index: int, after: Dialogue) -> None:
        """Replaces a dialogue by one with the same number of turns and frames."""
        self.dialogues[index] = after

    def encode(self) -> bytes:
        """The document with two spaces per level, as the public release has it."""
        return encode_indented(self.dialogues, order="sorted")


def open_document(document: Document) -> WholeDocument:
    """A document that can be changed and written back with all its keys."""
    try:
        return WholeDocument(list(msgspec.json.decode(document.data, type=list[_Dialogue])))
    except DECODING_ERRORS:  # other keys, or broken: reading it as plain JSON reports where
        return _Patched(document)


class _Patched(WholeDocument):
    """A document as plain JSON, and its dialogues; unknown keys are kept, in their order."""

    def __init__(self, document: Document) -> None:
        self.raw: Any = decode(document, object)
        self.items: Any = list(self.raw.values()) if isinstance(self.raw, dict) else self.raw
        super().__init__(convert_value(document, self.items, list[Dialogue]))
        for key, dialogue in zip(self.raw, self.dialogues, strict=True) if isinstance(self.raw, dict) else ():
            check_id(key, dialogue.id)

    def patch(self, index: int, after: Dialogue) -> None:
        _patch(self.items[index], self.dialogues[index], after)

    def encode(self) -> bytes:
        return encode_indented(self.raw)


def _patch(raw: dict[str, Any], old: msgspec.Struct, new: msgspec.Struct) -> None:
    """Writes the changed fields of a record into the JSON that it was read from."""
    for field in msgspec.structs.fields(new):
        was, now = getattr(old, field.name), getattr(new, field.name)
        if now is was:
            continue
        if isinstance(now, msgspec.Struct) and isinstance(was, msgspec.Struct):
            _patch(raw[field.encode_name], was, now)
        elif isinstance(now, tuple) and now and isinstance(now[0], msgspec.Struct):
            for part, before, after in zip(raw[field.encode_name], was, now, strict=True):
                _patch(part, before, after)
        elif now != was:
            raw[field.encode_name] = now
