"""Conversations in the layouts of chat APIs, agent frameworks, gateways and observability tools.

    {"id": "c1", "task": "refund", "trial": 0, "messages": [
      {"role": "user", "content": "Cancel order 7."},
      {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "cancel", "arguments": "{\\"id\\": 7}"}}]},
      {"role": "tool", "tool_call_id": "a", "content": "done"},
      {"role": "assistant", "content": "Order 7 is cancelled."}],
     "tools": […], "expected": [{"name": "cancel", "arguments": {"id": 7}, "turn": 0}], "reward": 1.0}

One conversation per line, a list of conversations, or a single one; a list of messages is a conversation, too. Only the
messages are required; `rows` says under which keys they may be, `messages` and `parts` how they may look. A logged
`response` (a text, a message, or the whole answer of a server) is added after the messages, unless it is already the
last of them. Rows that are single calls of a model are folded into conversations (`fold`). Trials of one task have the
same `task`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.trajectories import Expected, Message, Tool, Trajectory, Usage
from troth.readers import plain
from troth.readers.decode import decode_unique, error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.fold import Conversation, fold, is_foldable, single_conversation
from troth.readers.trajectories.items import first_item, items, skipping
from troth.readers.trajectories.messages import messages, name_of, trial_number, usage
from troth.readers.trajectories.parts import text_of
from troth.readers.trajectories.rows import Exchange, exchanges, is_of_trace
from troth.readers.trajectories.tau import reward
from troth.readers.trajectories.wrappers import is_message

FORMAT = Format(
    name="chat", about="chat messages with tool calls, of all common APIs, frameworks, gateways and tracing tools",
    writes=True, ending=".jsonl",
)  # fmt: skip
HOLDERS = ("messages", "contents", "input", "output")
PASSED = {"C": 1.0, "I": 0.0}  # Inspect: correct and incorrect


def detect(document: Document) -> bool:
    row = first_item(document)
    if is_message(row) or (isinstance(row, list) and row and is_message(row[0])):
        return True
    if not isinstance(row, dict):
        return False
    if any(isinstance(row.get(key), list) for key in HOLDERS):
        return True
    try:
        return next(exchanges(row), None) is not None
    except UserError:
        return True  # reading it reports the error


def read(document: Document) -> Iterator[Trajectory]:
    calls: list[Conversation] = []
    cache: dict[bytes, bytes] = {}
    numbers: dict[int, str] = {}  # of rows, by the identity of their exchanges
    for number, value in enumerate(_conversations(document)):
        whole: list[Trajectory] = []
        with skipping(document), error_context(dialogue=str(number)):
            for index, exchange in enumerate(_exchanges(value)):
                name = f"{number}-{index}" if index else str(number)
                if is_foldable(exchange):
                    calls.append(single_conversation(exchange, cache))
                    numbers[id(exchange)] = name
                else:
                    whole.append(_row_trajectory(exchange, name))
        yield from whole
    used: Counter[str] = Counter()
    for conversation in fold(calls):
        first = conversation.exchanges[0]
        is_joined = len(conversation.exchanges) > 1 or used[first.session] > 0
        name = first.session if first.session and is_joined else _name(first, numbers[id(first)])
        used[name] += 1
        name = name if used[name] == 1 else f"{name}#{used[name]}"
        with skipping(document), error_context(dialogue=name):
            yield _folded_trajectory(name, conversation)


def write(trajectories: Iterable[Trajectory], out: BinaryIO) -> None:
    """One conversation per line, in OpenAI's layout."""
    plain.write_lines(map(to_row, trajectories), out)


def to_row(trajectory: Trajectory) -> dict[str, Any]:
    """A trajectory as a line of this format; reading it gives the same trajectory."""
    row: dict[str, Any] = {"id": trajectory.id}
    row |= {"task": trajectory.task, "trial": trajectory.trial} if trajectory.task else {}
    row["messages"] = [message_row(message) for message in trajectory.messages]
    if trajectory.tools:
        row["tools"] = [{"type": "function", "function": _tool_row(tool)} for tool in trajectory.tools]
    if trajectory.expected is not None:
        row["expected"] = [msgspec.to_builtins(expected) for expected in trajectory.expected]
    row |= {"outputs": list(trajectory.outputs)} if trajectory.outputs else {}
    row |= {} if trajectory.reward is None else {"reward": trajectory.reward}
    row |= {"unread": trajectory.unread} if trajectory.unread else {}
    return row | _usage_row(trajectory)


def _conversations(document: Document) -> Iterator[Any]:
    head = first_item(document)
    if is_message(head) and document.starts(b"[") and next(exchanges(head), None) is None:
        yield decode_unique(document, list[Any])
        return
    for value in items(document):
        if not isinstance(value, list | dict):
            raise UserError("a conversation is neither an object nor a list")
        yield value


def _exchanges(value: Any) -> Iterator[Exchange]:
    if isinstance(value, list):
        yield Exchange({"messages": value}, value, [])
        return
    is_empty = True
    for exchange in exchanges(value):
        is_empty = False
        yield exchange
    if is_empty and not is_of_trace(value):
        if is_message(value):
            raise UserError("is a single message", hint="a conversation is a list of messages, or names its session")
        keys = ", ".join(list(value)[:12]) or "none"
        raise UserError(f"the conversation has no 'messages'; its keys are {keys}")


def _name(exchange: Exchange, default: str) -> str:
    row = exchange.row
    if row.get("task") is not None:
        default = f"{row['task']}/{row.get('trial', 0)}"
    id = next((row[key] for key in ("id", "conversation_id", "custom_id") if row.get(key) is not None), None)
    return name_of(id, exchange.session or default)


def _row_trajectory(exchange: Exchange, number: str) -> Trajectory:
    """The trajectory of a row that is a conversation."""
    row = exchange.row
    task, trial = name_of(row.get("task", row.get("task_id")), ""), trial_number(row.get("trial"))
    name = _name(exchange, number)
    if "epoch" in row:  # Inspect: samples that are run several times
        task, trial = name, trial_number(row["epoch"], 1) - 1
        name = f"{task}/{trial}"
    with error_context(dialogue=name):
        unread = Counter(exchange.unread) + _unread_counts(row)
        history = messages(exchange.history, unread)
        answer = messages(exchange.answer, unread) if exchange.answer else ()
        outputs = row.get("outputs") if isinstance(row.get("outputs"), list) else []
        return Trajectory(
            name,
            (*_system(exchange, unread), *history, *(answer if history[-len(answer) :] != answer else ())),
            task,
            trial,
            exchange.tools,
            _expected(row.get("expected")),
            tuple(plain.text(output, "an output") for output in plain.sequence(outputs, "'outputs'")),
            reward(row["reward"]) if "reward" in row else _inspect_score(row.get("scores")),
            _usage([exchange]),
            dict(unread),
        )


def _folded_trajectory(name: str, conversation: Conversation) -> Trajectory:
    """The trajectory of rows that are calls of a model."""
    unread = conversation.unread
    model_calls = [exchange for exchange in conversation.exchanges if not exchange.executes]
    system = next(filter(None, (_system(exchange, unread) for exchange in model_calls)), ())
    conversation_messages = messages(conversation.raw, unread)
    tools = next(filter(None, (exchange.tools for exchange in reversed(model_calls))), ())
    return Trajectory(
        name,
        (*system, *conversation_messages),
        tools=tools,
        usage=_usage(model_calls),
        unread=dict(unread),
        rows=conversation.rows,
    )


def _system(exchange: Exchange, unread: Counter[str]) -> tuple[Message, ...]:
    text = text_of(exchange.system, unread)
    return (Message("system", text),) if text else ()


def _usage(rows: list[Exchange]) -> Usage | None:
    """The usage of all rows together, as they or their answers report it."""
    usages = [spending for row in rows if (spending := usage(row.row) or _answer_usage(row.row)) is not None]
    totals = [
        sum(values) if (values := [value for item in usages if (value := getattr(item, name)) is not None]) else None
        for name in ("input_tokens", "output_tokens", "seconds", "cost")
    ]
    return Usage(*totals) if usages else None


def _answer_usage(row: dict[str, Any]) -> Usage | None:
    answers = [row.get(key) for key in ("response", "response_body", "output")]
    below = [answer.get(key) for answer in answers if isinstance(answer, dict) for key in ("body", "outputBodyJson")]
    return next(filter(None, (usage(value) for value in (*answers, *below) if isinstance(value, dict))), None)


def _unread_counts(row: dict[str, Any]) -> Counter[str]:
    counts = row.get("unread")
    items = counts.items() if isinstance(counts, dict) else ()
    return Counter({name: count for name, count in items if isinstance(count, int)})


def _inspect_score(scores: Any) -> float | None:
    """The first score of a sample of Inspect, if it is a number or says correct or incorrect."""
    first = next(iter(scores.values()), None) if isinstance(scores, dict) else None
    value = first.get("value") if isinstance(first, dict) else None
    if isinstance(value, str):
        return PASSED.get(value)
    return float(value) if isinstance(value, int | float) else None


def _expected(value: Any) -> tuple[Expected, ...] | None:
    """Gold calls: as `to_row` writes them, or with one plain value per argument."""
    if value is None:
        return None
    expected: list[Expected] = []
    for item in plain.sequence(value, "'expected'"):
        row = plain.mapping(item, "an expected call")
        if "tool" in row:
            with reading(None, "not an expected call"):
                expected.append(msgspec.convert(row, Expected))
            continue
        arguments = plain.mapping(row.get("arguments") or {}, "'arguments'")
        turn = None if row.get("turn") is None else plain.whole_number(row["turn"], "'turn'")
        name = plain.text_of(row, "name", "an expected call")
        expected.append(Expected(name, {key: (value,) for key, value in arguments.items()}, turn=turn))
    return tuple(expected)


def message_row(message: Message) -> dict[str, Any]:
    """A message in OpenAI's layout."""
    row: dict[str, Any] = {"role": message.role, "content": message.text}
    for call in message.calls:
        arguments = msgspec.json.encode(call.arguments).decode() if call.broken is None else call.broken
        function = {"name": call.tool, "arguments": arguments}
        row.setdefault("tool_calls", []).append({"id": call.id, "type": "function", "function": function})
    row |= {"tool_call_id": message.call_id} if message.call_id else {}
    row |= {"name": message.tool} if message.tool else {}
    row |= {"error": True} if message.error else {}
    return row | _usage_row(message)


def _tool_row(tool: Tool) -> dict[str, Any]:
    row = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return row if tool.writes is None else row | {"annotations": {"readOnlyHint": not tool.writes}}


def _usage_row(item: Trajectory | Message) -> dict[str, Any]:
    values = {} if item.usage is None else msgspec.structs.asdict(item.usage)
    rest = {name: value for name, value in values.items() if value is not None}
    tokens = {name: rest.pop(name) for name in ("input_tokens", "output_tokens") if name in rest}
    return ({"usage": tokens} if tokens else {}) | rest
