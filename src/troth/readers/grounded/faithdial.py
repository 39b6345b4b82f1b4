"""FaithDial's JSON: dialogues of Wizard of Wikipedia, with responses edited until the knowledge supports them.

    [{"dialog_idx": 0, "utterances": [{"history": ["…"], "speaker": "Wizard", "knowledge": "…", "response": "…",
      "original_response": "…", "BEGIN": ["Hallucination", "Entailment"], "VRM": ["Disclosure"]}]}]

Also one utterance per line, as rows of the hub are saved. `BEGIN` judges the original response, so the label is 1 only
if it is "Entailment" and nothing else, and an edited response has no label. The format `faithdial-original`, which is
never detected automatically, reads the original responses, all with labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from troth.core.records import Grounded
from troth.readers.decode import convert_value, decode_unique, error_context, first_object, lines
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.source import Document

FORMAT = Format(name="faithdial", about="FaithDial's JSON: edited responses, with labels where they were not edited")


class _Utterance(msgspec.Struct, frozen=True):
    response: str
    knowledge: str | None = None
    history: tuple[str, ...] = ()
    original_response: str | None = None
    begin: tuple[str, ...] | None = msgspec.field(name="BEGIN", default=None)
    dialog_idx: int | str | None = None


class _FaithDialogue(msgspec.Struct, frozen=True):
    utterances: tuple[_Utterance, ...]
    dialog_idx: int | str | None = None


def detect(document: Document) -> bool:
    keys = first_object(document)
    return "utterances" in keys or {"knowledge", "response", "history"} <= keys.keys()


def read(document: Document) -> Iterator[Grounded]:
    for id, turn in _utterances(document):
        edited = turn.original_response is not None and turn.original_response != turn.response
        label = None if edited else _label(id, turn.begin)
        yield _record(id, turn, turn.response, label, "faithdial")


class _Original:
    """FaithDial's JSON: the original responses, each with its label."""

    FORMAT = Format(name="faithdial-original", about="FaithDial's JSON: responses before the editing, all with labels")

    def detect(self, document: Document) -> bool:  # noqa: ARG002
        return False

    def read(self, document: Document) -> Iterator[Grounded]:
        for id, turn in _utterances(document):
            yield _record(id, turn, turn.original_response or turn.response, _label(id, turn.begin), "wow")


ORIGINAL = _Original()


def _record(id: str, turn: _Utterance, response: str, label: int | None, source: str) -> Grounded:
    document = turn.knowledge or ""
    return Grounded(id=id, document=document, response=response, history=turn.history, label=label, source=source)


def _label(id: str, tags: tuple[str, ...] | None) -> int | None:
    with error_context(dialogue=id):
        values = [label for tag in tags or () if (label := labels.parse_name(tag)) is not None]
    return min(values, default=None)


def _utterances(document: Document) -> Iterator[tuple[str, _Utterance]]:
    if document.starts(b"["):
        for number, dialogue in enumerate(decode_unique(document, list[_FaithDialogue])):
            name = number if dialogue.dialog_idx is None else dialogue.dialog_idx
            yield from ((f"{name}/{turn}", utterance) for turn, utterance in enumerate(dialogue.utterances))
        return
    turns: Counter[str] = Counter()
    for number, row in lines(document):
        with error_context(line=number):
            utterance = convert_value(document, row, _Utterance)
        name = str(utterance.dialog_idx if utterance.dialog_idx is not None else "")
        yield f"{name}/{turns[name]}".removeprefix("/"), utterance
        turns[name] += 1
