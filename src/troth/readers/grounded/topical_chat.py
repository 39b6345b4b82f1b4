"""Topical-Chat: conversations, each message with the part of its speaker's reading set that it was written from.

`conversations_valid_freq.json` is read with `reading_valid_freq.json` beside it; in the dataset's own folders,
`conversations/valid_freq.json` with `reading_sets/post-build/valid_freq.json` (or `pre-build`). As in the code of
PMI-Faith's authors, the document is the Wikipedia section, the fun facts and the article's sections that the message's
`knowledge_source` names, each closed by a full stop if it has no mark. Messages with personal knowledge among their
sources are left out, and so is the first message.

Reading sets have ids instead of texts, and the dataset's `build.py` fetches the texts. Entries without a text are not
in the document; without any text, the document is empty. If the dataset's `wiki.json` is beside the reading sets, it
gives the Wikipedia sections without a build.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers import source
from troth.readers.decode import decode_unique, first_object
from troth.readers.format import Format
from troth.readers.source import Document

FORMAT = Format(name="topical-chat", about="Topical-Chat's conversations with their reading sets")

PERSONAL = "Personal Knowledge"
LEADS = ("shortened_wiki_lead_section", "summarized_wiki_lead_section")
WIKI = "wiki.json"

Wiki = dict[str, dict[str, int]]  # kind of section to text to its number


class _Message(msgspec.Struct, frozen=True):
    message: str
    agent: str
    knowledge_source: tuple[str, ...] = ()


class _Conversation(msgspec.Struct, frozen=True):
    content: tuple[_Message, ...]


class _Facts(msgspec.Struct, frozen=True):
    shortened_wiki_lead_section: int | str | None = None
    summarized_wiki_lead_section: int | str | None = None
    fun_facts: tuple[str, ...] = ()


class _Reading(msgspec.Struct, frozen=True):
    agent_1: dict[str, _Facts] = {}
    agent_2: dict[str, _Facts] = {}
    article: dict[str, Any] = {}


def detect(document: Document) -> bool:
    first = bytes(next(iter(first_object(document).values()), b""))
    return b'"content"' in first and b'"article_url"' in first


def read(document: Document) -> Iterator[Grounded]:
    conversations = decode_unique(document, dict[str, _Conversation])
    reading_set = _reading_set(document)
    readings = decode_unique(reading_set, dict[str, _Reading])
    wiki = source.find_beside(reading_set.name, WIKI)
    sections = {} if wiki is None else decode_unique(wiki, Wiki)
    texts = {(kind, number): text for kind, numbers in sections.items() for text, number in numbers.items()}
    for id, conversation in conversations.items():
        if id not in readings:
            raise UserError(f"not in {reading_set.name}", dialogue=id, hint="do the two files belong together?")
        for number, message in enumerate(conversation.content):
            if number and PERSONAL not in message.knowledge_source:
                history = tuple(other.message for other in conversation.content[:number])
                text = _document(message, readings[id], texts)
                yield Grounded(f"{id}/{number}", text, message.message, history=history, source="topical-chat")


def _reading_set(document: Document) -> Document:
    file = Path(document.name)
    names = [file.with_name(file.name.replace("conversations", "reading", 1))]
    names += [file.parent.parent / "reading_sets" / built / file.name for built in ("post-build", "pre-build")]
    for other in names:
        if other != file and document.name != "<stdin>" and other.is_file():
            return source.first(str(other))
    raise UserError("no reading sets beside it", hint=f"for example '{names[0].name}' in the same folder")


def _document(message: _Message, reading: _Reading, texts: dict[tuple[str, int], str]) -> str:
    facts = {"agent_1": reading.agent_1, "agent_2": reading.agent_2}.get(message.agent, {})
    parts: list[str] = []
    for name in message.knowledge_source:
        if name in facts:
            kind = next((kind for kind in LEADS if getattr(facts[name], kind) is not None), None)
            if kind is not None:
                lead = getattr(facts[name], kind)
                parts.append(lead if isinstance(lead, str) else texts.get((kind, lead), ""))
            # A fact such as t3_42gqyk is the id of a Reddit thread that was not fetched.
            parts += (fact for fact in facts[name].fun_facts if not (fact.startswith("t3_") and fact[3:].isalnum()))
        elif isinstance(reading.article.get(name), str):
            parts.append(reading.article[name])
    sentences = [part.strip() for part in parts if part.strip()]
    return " ".join(part if part[-1] in string.punctuation else f"{part}." for part in sentences)
