"""Folds the rows of a log into conversations: one row per call of a model becomes one conversation with all of them.

Rows with the same session are joined in order of time. A row that repeats the conversation so far extends it, one that
repeats only its end (a window, or nothing but new messages) is appended, one that repeats its beginning and then
differs (a retry) replaces what followed. A row of another agent, with other instructions, is a conversation of its own.
Without sessions, a row belongs to the conversation that its messages begin with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import msgspec

from troth.core.trajectories import Message
from troth.readers.trajectories.messages import messages
from troth.readers.trajectories.parts import text_of
from troth.readers.trajectories.rows import Exchange

TROTH = ("task", "task_id", "trial", "expected", "reward", "epoch")  # a row with one is a whole conversation


@dataclass
class Conversation:
    """A conversation that grows by rows: messages as the file has them, with keys that are equal for equal messages."""

    exchanges: list[Exchange] = field(default_factory=list)
    opening: list[Any] = field(default_factory=list)  # messages of the system before all others
    body: list[Any] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    system: str = ""

    @property
    def raw(self) -> list[Any]:
        return [*self.opening, *self.body]

    @property
    def unread(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for exchange in self.exchanges:
            counts.update(exchange.unread)
        return counts

    @property
    def rows(self) -> int:
        return sum(not exchange.executes and not exchange.appends for exchange in self.exchanges) or 1


def single_conversation(exchange: Exchange, cache: dict[bytes, bytes] | None = None) -> Conversation:
    """The conversation of one row. `cache`: keys of messages that rows repeat."""
    cache = {} if cache is None else cache
    conversation = Conversation([exchange])
    size = len(list(takewhile(_is_system, exchange.history)))
    conversation.opening = exchange.history[:size]
    history, answer = _key_messages(exchange.history[size:], cache), _key_messages(exchange.answer, cache)
    conversation.body, conversation.keys = _merge(*history, *answer)
    conversation.system = text_of(exchange.system) + "\n".join(text_of(m.get("content")) for m in conversation.opening)
    return conversation


def fold(rows: Sequence[Conversation]) -> list[Conversation]:
    """The conversations of separate rows, in the order of their first rows."""
    order = {id(row.exchanges[0]): index for index, row in enumerate(rows)}
    sessions: dict[str, list[Conversation]] = {}
    for row in rows:
        sessions.setdefault(row.exchanges[0].session, []).append(row)
    loose = sessions.pop("", [])
    conversations = [c for session in sessions.values() for c in _fold_session(session)] + _fold_prefixes(loose)
    return sorted(conversations, key=lambda c: min(order[id(exchange)] for exchange in c.exchanges))


def is_foldable(exchange: Exchange) -> bool:
    """Whether a row may be a part of a conversation: a logged call, or one of several rows of a session."""
    outputs = exchange.row.get("outputs")  # of gold, or of a logged call
    is_task = isinstance(outputs, list) and any(isinstance(output, str) for output in outputs)
    is_task = is_task or any(exchange.row.get(key) is not None for key in TROTH)
    return not is_task and bool(exchange.answer or exchange.session)


def _fold_session(rows: list[Conversation]) -> list[Conversation]:
    threads: list[Conversation] = []
    for new in _sort_by_time(rows):
        exchange = new.exchanges[0]
        if exchange.executes and threads:
            _add_execution(threads[-1], exchange)
        elif exchange.appends and threads:
            threads[-1].exchanges.append(exchange)
            threads[-1].body += exchange.history
        elif not any(_extend(thread, new) for thread in reversed(threads)):
            threads.append(new)
    return threads


def _extend(thread: Conversation, new: Conversation) -> bool:
    """Adds the messages of a row to a conversation, if they belong to it."""
    is_same_agent = not thread.system or not new.system or thread.system == new.system
    if not new.keys or not thread.keys:
        related = is_same_agent
        if related:
            thread.body, thread.keys = [*thread.body, *new.body], [*thread.keys, *new.keys]
    elif thread.keys[0] == new.keys[0] and _is_subsequence(new.keys, thread.keys):
        related = True
    elif _overlap(thread.keys, new.keys) or (thread.keys[0] != new.keys[0] and is_same_agent and _is_call(new)):
        related = True
        thread.body, thread.keys = _merge(thread.body, thread.keys, new.body, new.keys)
    else:
        related = thread.keys[0] == new.keys[0] and is_same_agent
        if related:
            thread.body, thread.keys = new.body, new.keys
    if related:
        thread.exchanges += new.exchanges
        thread.opening, thread.system = new.opening or thread.opening, new.system or thread.system
    return related


def _is_call(conversation: Conversation) -> bool:
    """Whether the row is a call of a model; a transcript without an answer of its own is not appended to another."""
    return any(exchange.answer for exchange in conversation.exchanges)


def _fold_prefixes(rows: list[Conversation]) -> list[Conversation]:
    """Rows without a session: each continues the conversation that its history begins with, the longest one."""
    waiting: dict[int, list[Conversation]] = {}  # by a hash of all keys
    conversations: list[Conversation] = []
    for new in sorted(rows, key=lambda conversation: len(conversation.keys)):
        hashes = [0]
        for key in new.keys:
            hashes.append(hash((hashes[-1], key)))
        candidates = (waiting[value] for value in reversed(hashes[1:-1]) if waiting.get(value))
        before = next(candidates, None)
        if before is None or not _is_call(new):
            conversations.append(new)
            thread = new
        else:
            thread = before.pop()
            thread.exchanges += new.exchanges
            thread.opening, thread.body, thread.keys = new.opening, new.body, new.keys
        waiting.setdefault(hashes[-1], []).append(thread)
    return conversations


def _add_execution(thread: Conversation, exchange: Exchange) -> None:
    """Adds the result of an executed tool, unless a message has it, and the call, unless one is waiting for it."""
    thread.exchanges.append(exchange)
    (request, result) = (messages([raw])[0] for raw in exchange.history)
    earlier = messages(thread.body)
    id, tool = result.call_id or request.calls[0].id, request.calls[0].tool
    if id and any(message.role == "tool" and message.call_id == id for message in earlier):
        return
    answered = Counter(message.call_id for message in earlier if message.role == "tool")
    calls = [call for message in earlier for call in message.calls]
    open_ids = [call.id for call in calls if call.tool == tool and call.id and not answered[call.id]]
    raw = list(exchange.history)
    if id and any(call.id == id for call in calls):
        raw = raw[1:]
    elif not id and open_ids:
        raw = [{**raw[1], "tool_call_id": open_ids[0]}]
    elif not id and any(call.tool == tool and call.arguments == request.calls[0].arguments for call in calls):
        return
    thread.body, thread.keys = [*thread.body, *raw], [*thread.keys, *_key_messages(raw, {})[1]]


def _sort_by_time(rows: list[Conversation]) -> list[Conversation]:
    """The rows in order of time, if all have one."""
    times = {id(row): row.exchanges[0].time for row in rows}
    return rows if None in times.values() else sorted(rows, key=lambda row: times[id(row)] or 0.0)


def _is_system(message: Any) -> bool:
    return isinstance(message, dict) and str(message.get("role")).lower() in ("system", "developer")


def _key_messages(raw: Sequence[Any], cache: dict[bytes, bytes]) -> tuple[list[Any], list[bytes]]:
    """Messages, each with a key that is equal however a client repeats it; without those that nothing is read from."""
    keys: list[bytes] = []
    for value in raw:
        encoded = msgspec.json.encode(value)
        if encoded not in cache:
            unread: Counter[str] = Counter()
            parsed: list[Any] = [_key(message) for message in messages([value], unread)] or sorted(unread)
            cache[encoded] = msgspec.json.encode(parsed, order="sorted") if parsed else b""
        keys.append(cache[encoded])
    pairs = [(value, key) for value, key in zip(raw, keys, strict=True) if key]
    return [value for value, _ in pairs], [key for _, key in pairs]


def _key(message: Message) -> list[Any]:
    if message.calls:
        return [message.role, [[call.tool, call.arguments, call.broken] for call in message.calls]]
    return [message.role, (message.call_id if message.role == "tool" else "") or message.text.strip()]


def _merge(
    old: list[Any], old_keys: list[bytes], new: list[Any], new_keys: list[bytes]
) -> tuple[list[Any], list[bytes]]:
    """Two lists of messages as one; messages at the end of the first that begin the second are there once."""
    if old_keys and len(new_keys) > len(old_keys) and new_keys[0] == old_keys[0]:
        return new, new_keys  # the answer repeats the whole conversation
    size = _overlap(old_keys, new_keys)
    return [*old, *new[size:]], [*old_keys, *new_keys[size:]]


def _overlap(old: list[bytes], new: list[bytes]) -> int:
    """Number of messages at the end of the first list that the second begins with."""
    sizes = range(min(len(old), len(new)), 0, -1)
    return next((size for size in sizes if old[-size:] == new[:size]), 0)


def _is_subsequence(short: list[bytes], long: list[bytes]) -> bool:
    rest = iter(long)
    return all(key in rest for key in short)
