"""FaithDial's JSON: dialogues of Wizard of Wikipedia whose wizard was edited until the knowledge supported it.

    [{"dialog_idx": 0, "utterances": [{"history": ["…"], "speaker": "Wizard", "knowledge": "…", "response": "…",
      "original_response": "…", "BEGIN": ["Hallucination", "Entailment"], "VRM": ["Disclosure"]}]}]

Also one utterance a line, as the hub's rows are when saved. `BEGIN` judges the response that stood in Wizard of
Wikipedia. So the label is 1 iff it is "Entailment" alone, and an edited response has none. The format
`faithdial-original`, which is never guessed, reads the responses before the editing, every one with its label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from troth.core.records import Grounded
from troth.readers.decode import decode, where
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.grounded.opening import opening
from troth.readers.source import Document

FORMAT = Format(name="faithdial", about="FaithDial's JSON: edited responses, with labels where they were not edited")


class Utterance(msgspec.Struct, frozen=True):
    response: str
    knowledge: str | None = None
    history: tuple[str, ...] = ()
    original_response: str | None = None
    begin: tuple[str, ...] | None = msgspec.field(name="BEGIN", default=None)
    dialog_idx: int | str | None = None


class Dialogue(msgspec.Struct, frozen=True):
    utterances: tuple[Utterance, ...]
    dialog_idx: int | str | None = None


def detect(document: Document) -> bool:
    keys = opening(document)
    return "utterances" in keys or {"knowledge", "response", "history"} <= keys.keys()


def read(document: Document) -> Iterator[Grounded]:
    for id, turn in _utterances(document):
        edited = turn.original_response is not None and turn.original_response != turn.response
        label = None if edited else _label(id, turn.begin)
        yield Grounded(id, turn.knowledge or "", turn.response, turn.history, label, "faithdial")


class Original:
    """FaithDial's JSON: the responses before the editing, each with its label."""

    FORMAT = Format(name="faithdial-original", about="FaithDial's JSON: responses before the editing, all with labels")

    def detect(self, document: Document) -> bool:  # noqa: ARG002
        return False

    def read(self, document: Document) -> Iterator[Grounded]:
        for id, turn in _utterances(document):
            text = turn.original_response or turn.response
            yield Grounded(id, turn.knowledge or "", text, turn.history, _label(id, turn.begin), "wow")


ORIGINAL = Original()


def _label(id: str, tags: tuple[str, ...] | None) -> int | None:
    with where(dialogue=id):
        found = [label for tag in tags or () if (label := labels.named(tag)) is not None]
    return min(found) if found else None


def _utterances(document: Document) -> Iterator[tuple[str, Utterance]]:
    if document.data.lstrip()[:1] == b"[":
        for number, dialogue in enumerate(decode(document, list[Dialogue])):
            name = number if dialogue.dialog_idx is None else dialogue.dialog_idx
            yield from ((f"{name}/{turn}", found) for turn, found in enumerate(dialogue.utterances))
        return
    turns: Counter[str] = Counter()
    for number, line in enumerate(document.data.split(b"\n"), 1):
        if line.strip():
            with where(line=number):
                found = decode(document, Utterance, data=line)
            name = str(found.dialog_idx if found.dialog_idx is not None else "")
            yield f"{name}/{turns[name]}".removeprefix("/"), found
            turns[name] += 1
