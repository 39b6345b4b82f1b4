"""MultiWOZ `data.json` with `log` and `metadata`: 2.0, 2.1, 2.3 and 2.4.

`log` alternates between user and system; the state after a user turn is in the `metadata` of the system entry that
follows. `span_info` is not read: its spans belong to dialogue acts, whose slots (`Dest`, `Depart`) have other names
than those of the state, and they count tokens, although not every version tokenises the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from troth.core.errors import UserError
from troth.core.records import Dialogue, Turn
from troth.readers import plain
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.text.normalize import is_empty, multiwoz_file

if TYPE_CHECKING:
    from troth.readers.multiwoz_sgd import Completed

FORMAT = Format(name="multiwoz", about="MultiWOZ `data.json` (2.0, 2.1, 2.3, 2.4)", side="gold", writes=True)

# The state of MultiWOZ 2.1: scripts that prepare data for trackers expect every domain and slot in every turn.
SEMI = {
    "taxi": ("leaveAt", "destination", "departure", "arriveBy"),
    "police": (),
    "restaurant": ("food", "pricerange", "name", "area"),
    "hospital": ("department",),
    "hotel": ("name", "area", "parking", "pricerange", "stars", "internet", "type"),
    "attraction": ("type", "name", "area"),
    "train": ("leaveAt", "destination", "day", "arriveBy", "departure"),
}
BOOK = {"restaurant": ("people", "day", "time"), "hotel": ("people", "day", "stay"), "train": ("people",)}

_MARKS = re.compile(rb'"log"\s*:\s*\['), re.compile(rb'"metadata"\s*:\s*\{')

# "centre|west", "cheap>moderate", "monday<thursday": values that the annotators consider equally good.
_ALTERNATIVES = re.compile(r"[|<>]")
_SPELLINGS = {slot.lower(): slot for slots in SEMI.values() for slot in slots}


def detect(document: Document) -> bool:
    return document.starts(b"{") and all(mark.search(document.data) for mark in _MARKS)


def read(document: Document) -> Iterator[Dialogue]:
    # 2.3 marks a turn that needs coreference by a key and leaves it out elsewhere; earlier versions never have it.
    annotated = b'"coreference"' in document.data
    for name, raw in plain.dialogues(document):
        with error_context(dialogue=name):
            log = plain.sequence(plain.field(plain.mapping(raw, "the dialogue"), "log", "the dialogue"), "'log'")
            turns = tuple(_turns(log, annotated=annotated))
        yield plain.dialogue(name, turns)


def completed(dialogues: Iterable[Dialogue]) -> Completed:
    """The dialogues with the annotations of SGD's layout, and their schema."""
    from troth.readers.multiwoz_sgd import Completed

    return Completed(dialogues)


def _turns(log: list[Any], *, annotated: bool) -> Iterator[Turn]:
    coref = False
    frames = plain.FrameMaker(_slots)
    for position in range(0, len(log), 2):
        with error_context(turn=position // 2):
            user = plain.mapping(log[position], f"log[{position}]")
            if user.get("metadata"):
                what = f"log[{position}] should be the user's, but has a state in 'metadata'"
                raise UserError(what, hint="user and system must alternate, beginning with the user")
            if position + 1 == len(log):
                what = "the user's last turn has no system entry after it, so its state is unknown"
                raise UserError(what, hint="add the entry or remove the turn")
            system = plain.mapping(log[position + 1], f"log[{position + 1}]")
            # A state keeps its values, so later turns need the coreference as well; CheckDST counts them in the same
            # way.
            coref = coref or "coreference" in user
            metadata = plain.mapping(plain.field(system, "metadata", f"log[{position + 1}]"), "'metadata'")
            text = _text(user, position)
            yield Turn(speaker="USER", text=text, frames=frames(metadata), coref=coref if annotated else None)
            yield Turn(speaker="SYSTEM", text=_text(system, position + 1))


def _text(entry: dict[str, Any], position: int) -> str:
    return plain.text(plain.field(entry, "text", f"log[{position}]"), f"'text' of log[{position}]")


def _slots(domain: str, raw: object) -> plain.PlainSlots:
    state: plain.PlainState = {}
    parts = plain.mapping(raw, f"'metadata' of '{domain}'")
    for part, prefix in (("semi", ""), ("book", "book ")):
        for slot, value in plain.mapping(parts.get(part, {}), f"'{part}' of '{domain}'").items():
            if slot == "booked":  # what the system booked, not what the user asked for
                continue
            for alternative in _alternatives(value, f"{domain}-{slot}"):
                plain.add(state, domain, prefix + slot.lower(), alternative)
    return state.get(domain, {})


def _alternatives(raw: object, slot: str) -> Iterator[str]:
    for item in raw if isinstance(raw, list) else (raw,):
        for value in _ALTERNATIVES.split(plain.value_text(item, slot)):
            if not is_empty(value.strip()):
                yield value.strip()


def write(dialogues: Iterable[Dialogue], out: BinaryIO) -> None:
    """One JSON object as in the release: every domain and slot in every state, `goal` empty, no acts and no spans."""
    plain.write_object(map(_entry, dialogues), out)


def _entry(dialogue: Dialogue) -> tuple[str, dict[str, Any]]:
    plain.refuse_gaps(dialogue)
    with error_context(dialogue=dialogue.id):
        return multiwoz_file(dialogue.id), {"goal": {}, "log": list(_log(dialogue))}


def _log(item: Dialogue) -> Iterator[dict[str, Any]]:
    """User and system in turn. If the system says nothing, its entry has an empty text: the entry has the state."""
    number, coref = 0, False
    for before, turn, after in zip((None, *item.turns), item.turns, (*item.turns[1:], None), strict=False):
        with error_context(turn=number):
            if turn.speaker == "SYSTEM" and (before is None or before.speaker == "SYSTEM"):
                raise UserError("the system speaks first, or twice in a row", hint="this format cannot represent it")
            if turn.speaker == "SYSTEM":
                continue
            mark: dict[str, Any] = {"coreference": {}} if turn.coref and not coref else {}
            coref = coref or bool(turn.coref)
            yield {"text": turn.text, "metadata": {}, **mark}
            answer = after.text if after is not None and after.speaker == "SYSTEM" else ""
            yield {"text": answer, "metadata": _metadata(turn)}
        number += 1


def _metadata(turn: Turn) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        domain: {
            "book": {"booked": []} | dict.fromkeys(BOOK.get(domain, ()), ""),
            "semi": dict.fromkeys(SEMI.get(domain, ()), ""),
        }
        for domain in dict.fromkeys((*(frame.service for frame in turn.frames), *SEMI))
    }
    for frame in turn.frames:
        for slot, values in (frame.state.slot_values if frame.state else {}).items():
            name, joined = slot.removeprefix("book "), "|".join(values)
            if tuple(_alternatives(joined, slot)) != values or slot != slot.lower() or name == "booked":
                what = f"'{frame.service} {slot} {joined}' cannot be written in this format"
                raise UserError(what, hint="slots are in lower case; values must not contain | < > or be 'none'")
            semi = name == slot
            metadata[frame.service]["semi" if semi else "book"][_SPELLINGS.get(name, name) if semi else name] = joined
    return metadata
