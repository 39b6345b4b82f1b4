"""A changed dialogue written into the JSON it came from: keys that the records do not know stay, in their order."""

from __future__ import annotations

from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.records import Act, Dialogue, Frame, Span, State
from troth.readers.decode import decode, place
from troth.readers.source import Document


class Layout:
    """An SGD document as it is on disk, beside its dialogues."""

    def __init__(self, document: Document) -> None:
        self.raw: Any = decode(document, object)
        items: Any = list(self.raw.values()) if isinstance(self.raw, dict) else self.raw
        try:
            self.dialogues = msgspec.convert(items, list[Dialogue])
        except msgspec.ValidationError as error:
            raise place(document, error) from error
        self.items: list[dict[str, Any]] = items
        for key, dialogue in zip(self.raw, self.dialogues, strict=True) if isinstance(self.raw, dict) else ():
            if dialogue.id != key:
                raise UserError(f"stands under the key '{key}'", dialogue=dialogue.id, hint="key and id must agree")

    def patch(self, at: int, after: Dialogue) -> None:
        """Put a dialogue's changes into the document; its turns and frames are those that it had."""
        before = self.dialogues[at]
        turns = zip(self.items[at]["turns"], before.turns, after.turns, strict=True)
        for raw, old, new in turns:
            if new is old:
                continue
            if new.text != old.text:
                raw["utterance"] = new.text
            for fields, was, now in zip(raw.get("frames", ()), old.frames, new.frames, strict=True):
                if now is not was:
                    _frame(fields, was, now)

    def encode(self) -> bytes:
        """The document with two spaces a level, as the public release has it."""
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
