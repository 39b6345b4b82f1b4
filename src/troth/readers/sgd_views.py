"""Other views of an SGD document: only its words and values, in half the time; or whole, to be written back.

Writing back keeps every key. A document that has the keys of the public release and no others decodes into classes that
lose none, and is encoded from them, with sorted keys as in the release. Any other document is kept as plain JSON, and
changes are put into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol, cast

import msgspec

from troth.core.errors import UserError
from troth.core.records import Act, Dialogue, Frame, ServiceCall, Span, Speaker, State, Turn
from troth.readers.decode import BROKEN, converted, decode
from troth.readers.sgd import SlotTexts, decoded, fill
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
    turns = tuple(
        _Turn(
            speaker=turn.speaker,
            text=turn.text,
            frames=tuple(_released(frame) for frame in turn.frames),
        )
        for turn in dialogue.turns
    )
    return _Dialogue(id=dialogue.id, turns=turns, services=dialogue.services)


def _released(frame: Frame) -> _Frame:
    plain = msgspec.to_builtins(frame)
    plain.setdefault("slots", [])
    plain.setdefault("actions", [])
    return msgspec.convert(plain, _Frame)


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
        return msgspec.json.format(msgspec.json.encode(self.dialogues, order="sorted"), indent=2) + b"\n"


class _Patched:
    """A document as it is on disk, beside its dialogues; unknown keys stay, in their order."""

    def __init__(self, document: Document) -> None:
        self.raw: Any = decode(document, object)
        items: Any = list(self.raw.values()) if isinstance(self.raw, dict) else self.raw
        self.dialogues = converted(document, items, list[Dialogue])
        self.items: list[dict[str, Any]] = items
        for key, dialogue in zip(self.raw, self.dialogues, strict=True) if isinstance(self.raw, dict) else ():
            if dialogue.id != key:
                raise UserError(f"stands under the key '{key}'", dialogue=dialogue.id, hint="key and id must agree")

    def patch(self, at: int, after: Dialogue) -> None:
        for raw, old, new in zip(self.items[at]["turns"], self.dialogues[at].turns, after.turns, strict=True):
            if new is old:
                continue
            if new.text != old.text:
                raw["utterance"] = new.text
            for fields, was, now in zip(raw.get("frames", ()), old.frames, new.frames, strict=True):
                if now is not was:
                    _frame(fields, was, now)

    def encode(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self.raw), indent=2) + b"\n"


def _frame(raw: dict[str, Any], old: Frame, new: Frame) -> None:
    if new.spans is not None and old.spans is not None and new.spans is not old.spans:
        _spans(raw["slots"], old.spans, new.spans)
    if new.state is not None and old.state is not None and new.state is not old.state:
        _state(raw["state"], old.state, new.state)
    for fields, was, now in zip(raw.get("actions", ()), old.acts, new.acts, strict=True):
        if now is not was:
            _act(fields, was, now)
    if new.service_call is not None and new.service_call is not old.service_call:
        raw["service_call"]["parameters"] = new.service_call.parameters
    if new.service_results is not None and new.service_results is not old.service_results:
        raw["service_results"] = new.service_results


def _spans(raw: list[dict[str, Any]], old: tuple[Span, ...], new: tuple[Span, ...]) -> None:
    for fields, was, now in zip(raw, old, new, strict=True):
        if now is not was:
            fields["start"], fields["exclusive_end"] = now.start, now.exclusive_end
            if now.value is not msgspec.UNSET:
                fields["value"] = now.value


def _state(raw: dict[str, Any], old: State, new: State) -> None:
    raw["slot_values"] = new.slot_values
    if new.active_intent != old.active_intent:
        raw["active_intent"] = new.active_intent
    if new.requested_slots != old.requested_slots:
        raw["requested_slots"] = new.requested_slots


def _act(raw: dict[str, Any], old: Act, new: Act) -> None:
    raw["values"] = new.values
    if new.canonical_values != old.canonical_values:
        raw["canonical_values"] = new.canonical_values
