"""Wizard of Wikipedia's JSON: each turn of the wizard, with the sentence that it is based on.

    [{"chosen_topic": "Crayola", "dialog": [{"speaker": "0_Apprentice", "text": "…"},
      {"speaker": "1_Wizard", "text": "…", "checked_sentence": {"partner_Crayola_1": "…"}}]}]

The document is the checked sentence, as in BEGIN. If the wizard checked none ("no_passages_used"), the document is
empty: such turns cannot be scored, and are counted.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from troth.core.records import Grounded
from troth.readers.decode import decode_unique, first_object
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(
    name="wow", about="Wizard of Wikipedia's JSON: each wizard turn with the sentence that it was written from"
)

NONE = "no_passages_used"


class _WowTurn(msgspec.Struct, frozen=True):
    speaker: str
    text: str
    checked_sentence: dict[str, str] | None = None


class _WowDialogue(msgspec.Struct, frozen=True):
    dialog: tuple[_WowTurn, ...]


def detect(document: Document) -> bool:
    return document.starts(b"[") and {"dialog", "chosen_topic"} <= first_object(document).keys()


def read(document: Document) -> Iterator[Grounded]:
    for number, dialogue in enumerate(decode_unique(document, list[_WowDialogue])):
        for position, turn in enumerate(dialogue.dialog):
            if "wizard" in turn.speaker.lower():
                checked = next(iter((turn.checked_sentence or {}).values()), NONE)
                document_text = "" if checked == NONE else checked
                history = tuple(other.text for other in dialogue.dialog[:position])
                yield Grounded(f"{number}/{position}", document_text, turn.text, history=history, source="wow")
