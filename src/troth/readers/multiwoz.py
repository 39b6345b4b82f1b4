"""MultiWOZ `data.json` with `log` and `metadata`: 2.0, 2.1, 2.3 and 2.4.

`log` alternates between user and system; what the user wants after saying something stands in the `metadata` of the
system's entry that follows. `span_info` is not read: its spans belong to dialogue acts, whose slots (`Dest`, `Depart`)
are other names than the state's, in tokens of a text that not every version tokenises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.normalize import is_empty
from troth.core.records import Dialogue, Turn
from troth.readers.decode import where
from troth.readers.format import Format
from troth.readers.plain import PlainState, add, dialogues, field, frames, mapping, sequence, services, text, value_text
from troth.readers.source import Document

FORMAT = Format(name="multiwoz", about="MultiWOZ `data.json` (2.0, 2.1, 2.3, 2.4)")

_LOG, _METADATA = re.compile(rb'"log"\s*:\s*\['), re.compile(rb'"metadata"\s*:\s*\{')

# "centre|west", "cheap>moderate", "monday<thursday": values that the annotators hold to be equally good.
_ALTERNATIVES = re.compile(r"[|<>]")


def detect(document: Document) -> bool:
    data = document.data
    return data.lstrip()[:1] == b"{" and bool(_LOG.search(data)) and bool(_METADATA.search(data))


def read(document: Document) -> Iterator[Dialogue]:
    # 2.3 marks a turn that needs coreference by a key and leaves it out elsewhere; versions before it never have it.
    annotated = b'"coreference"' in document.data
    for name, raw in dialogues(document):
        with where(dialogue=name):
            log = sequence(field(mapping(raw, "the dialogue"), "log", "the dialogue"), "'log'")
            turns = tuple(_turns(log, annotated=annotated))
        yield Dialogue(id=name, turns=turns, services=services(turns))


def _turns(log: list[Any], *, annotated: bool) -> Iterator[Turn]:
    coref = False
    for position in range(0, len(log), 2):
        with where(turn=position // 2):
            user = mapping(log[position], f"log[{position}]")
            if user.get("metadata"):
                raise UserError(
                    f"log[{position}] should be the user's, but has a state in 'metadata'",
                    hint="user and system must alternate, the user first",
                )
            if position + 1 == len(log):
                raise UserError(
                    "the user's last turn has no system entry after it, so its state is unknown",
                    hint="add the entry or remove the turn",
                )
            system = mapping(log[position + 1], f"log[{position + 1}]")
            # A state keeps what it has taken over: later turns need the coreference as well, as CheckDST counts them.
            coref = coref or "coreference" in user
            yield Turn(
                speaker="USER",
                text=_said(user, position),
                frames=frames(_state(field(system, "metadata", f"log[{position + 1}]"))),
                coref=coref if annotated else None,
            )
            yield Turn(speaker="SYSTEM", text=_said(system, position + 1))


def _said(entry: dict[str, Any], position: int) -> str:
    return text(field(entry, "text", f"log[{position}]"), f"'text' of log[{position}]")


def _state(metadata: object) -> PlainState:
    found: PlainState = {}
    for domain, parts in mapping(metadata, "'metadata'").items():
        held = mapping(parts, f"'metadata' of '{domain}'")
        for part, prefix in (("semi", ""), ("book", "book ")):
            for slot, raw in mapping(held.get(part, {}), f"'{part}' of '{domain}'").items():
                if slot == "booked":  # what the system booked, not what the user asked for
                    continue
                for value in _alternatives(raw, f"{domain}-{slot}"):
                    add(found, domain, prefix + slot.lower(), value)
    return found


def _alternatives(raw: object, slot: str) -> Iterator[str]:
    for item in raw if isinstance(raw, list) else (raw,):
        for value in _ALTERNATIVES.split(value_text(item, slot)):
            if not is_empty(value.strip()):
                yield value.strip()
