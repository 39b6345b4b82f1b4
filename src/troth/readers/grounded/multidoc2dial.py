"""MultiDoc2Dial's JSON: each turn of the agent, with the passages of the documents that it refers to.

`multidoc2dial_dial_*.json` holds the dialogues, `multidoc2dial_doc.json` in the same folder the documents. As in the
code of PMI-Faith's authors, a passage is a run of spans with the same title, and a turn's document is every passage
with a span among its `references`. A turn without references has an empty document. `source` is the domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.records import Grounded
from troth.readers import source
from troth.readers.decode import decode_unique, error_context, first_object
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(name="multidoc2dial", about="MultiDoc2Dial's JSON: each agent turn with the passages that it refers to")

DOCUMENTS = "multidoc2dial_doc.json"


class _Reference(msgspec.Struct, frozen=True):
    doc_id: str
    id_sp: str = ""
    sp_id: str = ""  # its name in rows of the hub


class _DocTurn(msgspec.Struct, frozen=True):
    role: str
    utterance: str
    turn_id: int
    references: tuple[_Reference, ...] = ()


class _DocDialogue(msgspec.Struct, frozen=True):
    dial_id: str
    turns: tuple[_DocTurn, ...]


class _Dialogues(msgspec.Struct, frozen=True):
    dial_data: dict[str, tuple[_DocDialogue, ...]]


class _DocSpan(msgspec.Struct, frozen=True):
    text_sp: str
    title: str = ""


class _DocText(msgspec.Struct, frozen=True):
    spans: dict[str, _DocSpan]


class _DocTexts(msgspec.Struct, frozen=True):
    doc_data: dict[str, dict[str, _DocText]]


Passages = Mapping[str, Mapping[str, str]]  # by document and span: the passage with the span


def detect(document: Document) -> bool:
    return "dial_data" in first_object(document)


def read(document: Document) -> Iterator[Grounded]:
    dialogues = decode_unique(document, _Dialogues)
    texts = source.find_beside("" if document.name == "<stdin>" else document.name, DOCUMENTS)
    if texts is None:
        raise UserError(f"no {DOCUMENTS} beside it", hint="put the documents into the same folder")
    passages = _passages(texts)
    for domain, items in dialogues.dial_data.items():
        for dialogue in items:
            history: list[str] = []
            for turn in dialogue.turns:
                if turn.role == "agent":
                    with error_context(dialogue=dialogue.dial_id, turn=turn.turn_id):
                        text = _document(turn.references, passages)
                    id = f"{dialogue.dial_id}/{turn.turn_id}"
                    yield Grounded(id, text, turn.utterance, history=tuple(history), source=domain)
                history.append(turn.utterance)


def _passages(document: Document) -> dict[str, dict[str, str]]:
    passages: dict[str, dict[str, str]] = {}
    for texts in decode_unique(document, _DocTexts).doc_data.values():
        for name, text in texts.items():
            if not all(id.isdigit() for id in text.spans):
                what, hint = f"a span of '{name}' has no number", "spans are numbered 1, 2, 3 …"
                raise UserError(what, file=document.name, hint=hint)
            spans = passages.setdefault(name, {})
            rows = ((text.spans[id].title, id) for id in sorted(text.spans, key=int))
            for _, group in groupby(rows, key=itemgetter(0)):
                ids = [id for _, id in group]
                spans |= dict.fromkeys(ids, "".join(text.spans[id].text_sp for id in ids))
    return passages


def _document(references: tuple[_Reference, ...], passages: Passages) -> str:
    texts: dict[str, None] = {}
    for reference in references:
        name, span = reference.doc_id, reference.id_sp or reference.sp_id
        if name not in passages:
            raise UserError(f"document '{name}' is not in {DOCUMENTS}", hint=suggest_name(name, passages))
        if span not in passages[name]:
            raise UserError(f"span '{span}' is not in document '{name}'", hint=f"is it the right {DOCUMENTS}?")
        texts[passages[name][span].strip()] = None
    return " ".join(texts)
