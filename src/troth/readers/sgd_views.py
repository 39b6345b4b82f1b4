"""An SGD document seen otherwise: only what is said and told, in half the time; or whole, to be written back.

Writing back keeps every key. A document that has the keys of the public release and no others decodes into classes that
miss none and drop none, and is encoded from them, with sorted keys as in the release; any other is kept as plain JSON,
and the changes are put into it (`patch`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol, cast

import msgspec

from troth.core.records import Act, Dialogue, Frame, ServiceCall, Span, Speaker, State, Turn
from troth.readers.decode import decode
from troth.readers.patch import Layout
from troth.readers.source import Document

# -- what is said and told ---------------------------------------------------------------------------------------------


class _ToldAct(msgspec.Struct, frozen=True, gc=False):
    slot: str = ""
    values: tuple[str, ...] = ()


class _ToldState(msgspec.Struct, frozen=True, gc=False):
    slot_values: dict[str, tuple[str, ...]] = {}


class _ToldFrame(msgspec.Struct, frozen=True, gc=False, rename={"acts": "actions"}):
    service: str
    state: _ToldState | None = None
    acts: tuple[_ToldAct, ...] = ()


class _ToldTurn(msgspec.Struct, frozen=True, gc=False, rename={"text": "utterance"}):
    speaker: Speaker
    text: str = ""
    frames: tuple[_ToldFrame, ...] = ()


class _Told(msgspec.Struct, frozen=True, gc=False, rename={"id": "dialogue_id"}):
    id: str
    turns: tuple[_ToldTurn, ...]
    services: ClassVar[tuple[()]] = ()


def told(document: Document) -> Iterator[Dialogue]:
    """Dialogues with text, states' values and acts' values: `Dialogue`s to whoever looks no further."""
    by_id = document.data.lstrip()[:1] == b"{"
    kind: Any = dict[str, _Told] if by_id else list[_Told]
    items = decode(document, kind)
    return cast(Iterator[Dialogue], iter(items.values() if by_id else items))


# -- whole -------------------------------------------------------------------------------------------------------------
# Without a default, a key must be there and is always written; with one that its type does not allow, it may be
# missing, but is not null. So what decodes encodes to the same keys.


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


class Whole(Protocol):
    """A document whose dialogues may be exchanged before it is written back."""

    dialogues: list[Dialogue]

    def patch(self, at: int, after: Dialogue) -> None: ...

    def encode(self) -> bytes: ...


class _Release:
    def __init__(self, dialogues: Iterable[Dialogue]) -> None:
        self.dialogues = list(dialogues)

    def patch(self, at: int, after: Dialogue) -> None:
        self.dialogues[at] = after

    def encode(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self.dialogues, order="sorted"), indent=2) + b"\n"


def whole(document: Document) -> Whole:
    """A document to be changed and written back with all its keys."""
    try:
        return _Release(msgspec.json.decode(document.data, type=list[_Dialogue]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # other keys, or broken: that is told from there
        return Layout(document)
