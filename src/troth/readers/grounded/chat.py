"""Chat transcripts: OpenAI-style messages, with retrieved passages in messages of their own.

    {"id": "c1", "messages": [
      {"role": "system", "content": "Answer from the passages."},
      {"role": "user", "content": "Who makes crayons?"},
      {"role": "tool", "content": "Crayola makes crayons in Easton."},
      {"role": "assistant", "content": "Crayola does."}]}

One conversation per line, a list of conversations, or a single one; a list of messages is a conversation, too. Each
message of the assistant that has text and comes after a context message is a record:

- Context messages have the role `context`, `tool` or `function`. Where a conversation has none of these, `system` and
  `developer` messages are the context; else they are instructions, and no document.
- The document is all context since the assistant last spoke. If there was none, the one before still holds.
- History is what user and assistant said before. A `label` of the message (0 or 1) is the record's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.readers import plain
from troth.readers.decode import lines, unique, where
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.grounded.opening import opening
from troth.readers.source import Document

FORMAT = Format(name="chat", about="OpenAI-style chat messages, with retrieved passages as messages of their own")

CONTEXT = ("context", "tool", "function")
INSTRUCTIONS = ("system", "developer")
ROLES = (*CONTEXT, *INSTRUCTIONS, "user", "assistant")


def detect(document: Document) -> bool:
    keys = opening(document)
    return "messages" in keys or ("role" in keys and document.starts(b"["))


def read(document: Document) -> Iterator[Grounded]:
    seen: set[str] = set()
    for number, chat in enumerate(_conversations(document)):
        keys = chat if isinstance(chat, dict) else {"messages": chat}
        name = keys.get("id", str(number))
        id = str(name) if isinstance(name, int) and not isinstance(name, bool) else plain.text(name, "'id'")
        if id in seen:
            raise UserError("duplicate id", dialogue=id, hint="ids must be unique")
        seen.add(id)
        source = plain.text_of(keys, "source", default="")
        with where(dialogue=id):
            messages = plain.sequence(plain.field(keys, "messages", "the conversation"), "'messages'")
            yield from _records(id, messages, source)


def _conversations(document: Document) -> Iterator[Any]:
    if document.starts(b"["):
        items = unique(document, list[Any])
        if not items:
            raise UserError("no conversation in it", hint="is it the right file?")
        yield from [items] if isinstance(items[0], dict) and "role" in items[0] else items
    elif not opening(Document(document.name, document.head)):  # the first line is not an object by itself
        yield unique(document, dict[str, Any])
    else:
        for line, row in lines(document):
            with where(line=line):
                plain.field(row, "messages")
            yield row


def _records(id: str, messages: list[Any], source: str) -> Iterator[Grounded]:
    turns = [plain.mapping(message, f"message {number}") for number, message in enumerate(messages)]
    roles = [_role(turn, number) for number, turn in enumerate(turns)]
    context = CONTEXT if any(role in CONTEXT for role in roles) else INSTRUCTIONS
    history: list[str] = []
    passages: list[str] = []
    spoken = False  # the assistant has answered from these passages
    for number, (role, turn) in enumerate(zip(roles, turns, strict=True)):
        with where(turn=number):
            said = _text(turn.get("content"))
            if role in context:
                passages, spoken = [*([] if spoken else passages), said], False
            elif role in ("user", "assistant") and said.strip():
                if role == "assistant" and passages:
                    yield Grounded(
                        id=f"{id}/{number}",
                        document="\n\n".join(passages),
                        response=said,
                        history=tuple(history),
                        label=labels.any_of(turn.get("label")),
                        source=source,
                    )
                    spoken = True
                history.append(said)


def _role(turn: dict[str, Any], number: int) -> str:
    role = plain.text_of(turn, "role", f"message {number}")
    if role not in ROLES:
        raise UserError(f"role '{role[:40]}' is not known", turn=number, hint="known: " + ", ".join(ROLES))
    return role


def _text(content: object) -> str:
    """The text of a message: as it is, or joined from its text parts. A call of a tool has none."""
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [plain.mapping(part, "a part of 'content'") for part in content]
        return "\n".join(plain.text_of(part, "text") for part in parts if "text" in part)
    return plain.text(content, "'content'")
