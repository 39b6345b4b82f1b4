"""Chat transcripts: OpenAI-style messages, with retrieved passages in messages of their own.

    {"id": "c1", "messages": [
      {"role": "system", "content": "Answer from the passages."},
      {"role": "user", "content": "Who makes crayons?"},
      {"role": "tool", "content": "Crayola makes crayons in Easton."},
      {"role": "assistant", "content": "Crayola does."}]}

One conversation per line, a list of conversations, or a single one; a list of messages is a conversation, too. Messages
may also have Anthropic's blocks (`tool_result`) or be items of the Responses API. Each message of the assistant that
has text and comes after a result or a message of the user is a record:

- The document is all context so far of the selected kinds, in order: `tools` (results and passages: roles `tool`,
  `function` and `context`), `user` (messages of the user) and `system` (instructions: roles `system` and `developer`).
  By default all three are selected. A new result is added to the earlier ones; an empty one changes nothing. An answer
  without any such context has an empty document: it cannot be scored, and is counted.
- The history is the earlier messages of user and assistant. A `label` of the message (0 or 1) becomes the record's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from troth.core.errors import UserError
from troth.core.names import parse_names
from troth.core.options import check_choice
from troth.core.records import Grounded
from troth.readers import plain
from troth.readers.decode import decode_unique, error_context, first_object, lines
from troth.readers.format import Format
from troth.readers.grounded import labels
from troth.readers.source import Document

FORMAT = Format(name="chat", about="chat messages, with results of tools and passages as messages of their own")

RESULTS = ("context", "tool", "function")
KINDS = {
    **dict.fromkeys(RESULTS, "tools"), **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("system", "developer"), "system"),
}  # fmt: skip
CONTEXT = ("tools", "user", "system")
ROLES = (*KINDS, "assistant")
OUTPUTS = ("function_call_output", "custom_tool_call_output")  # items of the Responses API with results


def detect(document: Document) -> bool:
    keys = first_object(document)
    return "messages" in keys or ("role" in keys and document.starts(b"["))


def parse_context(kinds: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds of context, from `tools+user`, a list, or text with commas."""
    names = parse_names(kinds.replace("+", ",") if isinstance(kinds, str) else kinds)
    if not names:
        raise UserError("no kind of context is named", hint="one of: " + ", ".join(CONTEXT))
    return tuple(check_choice("context", name, CONTEXT) for name in names)


def read(document: Document, context: Sequence[str] = CONTEXT) -> Iterator[Grounded]:
    """The answers of a document; `context`: the kinds of messages that they may be grounded in."""
    seen: set[str] = set()
    for number, chat in enumerate(_conversations(document)):
        keys = chat if isinstance(chat, dict) else {"messages": chat}
        name = keys.get("id", str(number))
        id = str(name) if isinstance(name, int) and not isinstance(name, bool) else plain.text(name, "'id'")
        if id in seen:
            raise UserError("duplicate id", dialogue=id, hint="ids must be unique")
        seen.add(id)
        source = plain.text_of(keys, "source", default="")
        with error_context(dialogue=id):
            messages = plain.sequence(plain.field(keys, "messages", "the conversation"), "'messages'")
            yield from _records(id, messages, source, context)


def _conversations(document: Document) -> Iterator[Any]:
    if document.starts(b"["):
        items = decode_unique(document, list[Any])
        if not items:
            raise UserError("no conversation in it", hint="is it the right file?")
        yield from [items] if isinstance(items[0], dict) and "role" in items[0] else items
    elif not first_object(Document(document.name, document.head)):  # the first line is not an object by itself
        yield decode_unique(document, dict[str, Any])
    else:
        for line, row in lines(document):
            with error_context(line=line):
                plain.field(row, "messages")
            yield row


def _records(id: str, messages: list[Any], source: str, context: Sequence[str]) -> Iterator[Grounded]:
    history: list[str] = []
    seen: list[str] = []
    is_answer = False  # whether the next message answers something: a result, or a message of the user
    for number, message in enumerate(messages):
        turn = plain.mapping(message, f"message {number}")
        with error_context(turn=number):
            role, text, results = _read(turn, number)
            results = [result for result in results if result.strip()]
            seen += results if "tools" in context else []
            is_answer = is_answer or bool(results)
            if not text.strip() or role in RESULTS:
                continue
            if role == "assistant" and is_answer:
                label, before = labels.parse_label(turn.get("label")), tuple(history)
                name, document = f"{id}/{number}", "\n\n".join(seen)
                yield Grounded(name, document, text, history=before, label=label, source=source, conversation=id)
            is_answer = is_answer or KINDS.get(role) == "user"
            if KINDS.get(role) in context:
                seen.append(text)
            if role == "assistant" or KINDS.get(role) == "user":
                history.append(text)


def _read(turn: dict[str, Any], number: int) -> tuple[str, str, list[str]]:
    """The role of a message, its text, and the results in it."""
    if "role" not in turn and isinstance(turn.get("type"), str):  # an item of the Responses API
        return "tool", "", [_text(turn.get("output"))] if turn["type"] in OUTPUTS else []
    role = plain.text_of(turn, "role", f"message {number}")
    if role not in ROLES:
        raise UserError(f"role '{role[:40]}' is not known", turn=number, hint="known: " + ", ".join(ROLES))
    content = turn.get("content")
    if role in RESULTS:
        return role, "", [_text(content)]
    parts = content if isinstance(content, list) else []
    blocks = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_result"]
    return role, _text(content), [_text(block.get("content")) for block in blocks]


def _text(content: object) -> str:
    """The text of a message, joined from its text parts if it has several. A call of a tool has no text."""
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [plain.mapping(part, "a part of 'content'") for part in content]
        return "\n".join(plain.text_of(part, "text") for part in parts if "text" in part)
    return plain.text(content, "'content'")
