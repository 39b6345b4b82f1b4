"""Other views of an SGD document: only its words and values, in half the time; or whole, to be written back.

Writing back keeps every key. A document that has the keys of the public release and no others decodes into classes that
lose none, and is encoded from them, with sorted keys as in the release. Any other document is kept as plain JSON, and
changes are put into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol, cast

import msgspec

from troth.core.records import Act, Dialogue, Frame, ServiceCall, Span, Speaker, State, Turn
from troth.readers.decode import BROKEN, converted, decode
from troth.readers.plain import indented
from troth.readers.sgd import SlotTexts, check_id, decoded, fill
from troth.readers.source import Document

# -- words and values --------------------------------------------------------------------------------------------------


class _WordsAct(msgspec.Struct, frozen=True, gc=False):
    slot: str = ""
    values: tuple[str, ...] = ()


class _WordsFrame(msgspec.Struct, frozen=True, gc=False, rename={"acts": "actions"}):
    service: str
    state: SlotTexts | None = None
    acts: tuple[_WordsAct, ...] = ()


class _WordsTurn(msgspec.Struct, frozen=True, gc=False, rename={"text": "utterance"}):
    speaker: Speaker
    text: str = ""
    frames: tuple[_WordsFrame, ...] = ()


class _WordsDialogue(msgspec.Struct, frozen=True, gc=False, rename={"id": "dialogue_id"}):
    id: str
    turns: tuple[_WordsTurn, ...]
    services: ClassVar[tuple[()]] = ()


def words(document: Document) -> Iterator[Dialogue]:
    """Dialogues with text, values of states and values of acts: `Dialogue`s to whoever needs nothing else."""
    return fill(document, decoded(document, _WordsDialogue))


# -- whole documents ---------------------------------------------------------------------------------------------------
# A field without a default must be there and is always written; one whose default its type does not allow may be
# missing, but is never null. So what decodes encodes to the same keys.


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
    Frame,
    frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, omit_defaults=True,
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
    # Not the release's keys, and therefore none that may be dropped again.
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


def released(dialogue: Dialogue) -> Dialogue:
    """A dialogue whose encoding has every key of the public release, empty lists included."""
    plain = msgspec.to_builtins(dialogue)
    for turn in plain["turns"]:
        turn.setdefault("frames", [])
        turn["frames"] = [{"slots": [], "actions": []} | frame for frame in turn["frames"]]
    return msgspec.convert({"services": []} | plain, _Dialogue)


class WholeDocument(Protocol):
    """A document whose dialogues can be replaced before it is written back."""

    dialogues: list[Dialogue]

    def patch(self, at: int, after: Dialogue) -> None:
        """Replaces a dialogue; its turns and frames are those that it had."""
        ...

    def encode(self) -> bytes:
        """The document with two spaces per level, as the public release has it."""
        ...


def whole(document: Document) -> WholeDocument:
    """A document that can be changed and written back with all its keys."""
    try:
        return _Release(msgspec.json.decode(document.data, type=list[_Dialogue]))
    except BROKEN:  # other keys, or broken: the plain document says where
        return _Patched(document)


class _Release:
    def __init__(self, dialogues: Iterable[Dialogue]) -> None:
        self.dialogues = list(dialogues)

    def patch(self, at: int, after: Dialogue) -> None:
        self.dialogues[at] = after

    def encode(self) -> bytes:
        return indented(self.dialogues, order="sorted")


class _Patched:
    """A document as it is on disk, beside its dialogues; unknown keys stay, in their order."""

    def __init__(self, document: Document) -> None:
        self.raw: Any = decode(document, object)
        self.items: Any = list(self.raw.values()) if isinstance(self.raw, dict) else self.raw
        self.dialogues = converted(document, self.items, list[Dialogue])
        for key, dialogue in zip(self.raw, self.dialogues, strict=True) if isinstance(self.raw, dict) else ():
            check_id(key, dialogue.id)

    def patch(self, at: int, after: Dialogue) -> None:
        _patch(self.items[at], self.dialogues[at], after)

    def encode(self) -> bytes:
        return indented(self.raw)


def _patch(raw: dict[str, Any], old: msgspec.Struct, new: msgspec.Struct) -> None:
    """Puts the fields of a record that have changed into the JSON that it came from."""
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
