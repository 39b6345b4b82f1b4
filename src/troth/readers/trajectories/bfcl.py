"""BFCL's files, one task per line: questions with tools, accepted answers, and models' results.

    {"id": "simple_0", "question": [[{"role": "user", "content": "…"}]], "function": [{"name": …}]}
    {"id": "simple_0", "ground_truth": [{"area": {"base": [10], "unit": ["units", ""]}}]}
    {"id": "simple_0", "result": [{"area": "{\\"base\\": 10}"}]}

In accepted answers every argument has a list of values; "" in the list means that it may be left out. Results are
calls as objects (arguments as an object or as JSON text) or as Python text, `[area(base=10)]`, which is parsed and
never run. Results of several turns are lists of steps; their answers are Python text, one list per turn.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from troth.core.decode import is_too_deep
from troth.core.trajectories import Call, Expected, Message, Trajectory, Usage
from troth.readers import plain, tools
from troth.readers.decode import error_context
from troth.readers.format import Format
from troth.readers.source import Document
from troth.readers.trajectories.items import first_item, items, skipping
from troth.readers.trajectories.messages import MOST, messages, name_of
from troth.readers.trajectories.parts import call

FORMAT = Format(name="bfcl", about="BFCL's questions with tools, accepted answers, and results", profile="bfcl")
KINDS = ("question", "ground_truth", "result", "calls")


def detect(document: Document) -> bool:
    row = first_item(document)
    return isinstance(row, dict) and "id" in row and "messages" not in row and any(key in row for key in KINDS)


def read(document: Document) -> Iterator[Trajectory]:
    for value in items(document):
        row = plain.mapping(value, "a task")
        id = name_of(plain.field(row, "id", "a task"), "")
        with skipping(document), error_context(dialogue=id):
            unread: Counter[str] = Counter()
            conversation = tuple(_messages(row, unread))
            defined = tuple(tools.read(row["function"])) if row.get("function") else ()
            yield Trajectory(
                id, conversation, id, tools=defined, expected=_expected(row), usage=_usage(row), unread=dict(unread)
            )


def _messages(row: dict[str, Any], unread: Counter[str]) -> Iterator[Message]:
    if "question" in row:
        for turn in plain.sequence(row["question"], "'question'"):
            yield from messages(plain.sequence(turn, "a turn of 'question'"), unread)
        return
    answer = row.get("result", row.get("calls"))
    if answer is None:
        return
    several = isinstance(answer, list) and answer and all(isinstance(turn, list) for turn in answer)
    for turn in answer if several else [[answer]]:  # the steps of each turn
        yield Message("user")
        for step in turn:
            calls = _calls(step)
            yield Message("assistant", step if isinstance(step, str) and not calls else "", calls)


def _calls(step: Any) -> tuple[Call, ...]:
    if isinstance(step, str):
        return python_calls(step)
    return tuple(
        call(name, arguments)
        for item in plain.sequence(step, "'result'")
        for name, arguments in (plain.mapping(item, "a call").items() if not isinstance(item, str) else ())
    ) or tuple(call for item in step if isinstance(item, str) for call in python_calls(item))


def python_calls(text: str) -> tuple[Call, ...]:
    """Parses calls written as Python, `[f(x=1), g.h(y="z")]`; nothing is executed.

    Text that is not a list of calls gives an empty tuple. Arguments without a name are called "0", "1" and so on by
    their position.
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    nodes = body.elts if isinstance(body, ast.List | ast.Tuple) else [body]
    if not all(isinstance(node, ast.Call) for node in nodes):
        return ()
    return tuple(_python_call(node) for node in nodes if isinstance(node, ast.Call))


def _python_call(node: ast.Call) -> Call:
    arguments = [(str(position), value) for position, value in enumerate(node.args)]
    arguments += [(keyword.arg or "", keyword.value) for keyword in node.keywords]
    try:
        values = {name: ast.literal_eval(value) for name, value in arguments}
        msgspec.json.encode(values)  # Python has values that JSON does not, such as 2j
        if not is_too_deep(values):
            return Call(ast.unparse(node.func), values)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        pass
    return Call(ast.unparse(node.func), {}, broken=ast.unparse(node))


def _expected(row: dict[str, Any]) -> tuple[Expected, ...] | None:
    if "ground_truth" not in row:
        return None
    expected: list[Expected] = []
    for number, item in enumerate(plain.sequence(row["ground_truth"], "'ground_truth'")):
        if isinstance(item, list):  # a turn of several
            for call in (call for text in item for call in python_calls(plain.text(text, "an expected call"))):
                arguments = {name: (value,) for name, value in call.arguments.items()}
                expected.append(Expected(call.tool, arguments, turn=number))
        else:
            expected += (_expect(name, values) for name, values in plain.mapping(item, "an accepted answer").items())
    return tuple(expected)


def _expect(name: str, raw: object) -> Expected:
    arguments = plain.mapping(raw, f"the arguments of '{name}'")
    values = {key: tuple(plain.sequence(value, f"'{key}' of '{name}'")) for key, value in arguments.items()}
    optional = frozenset(key for key, accepted in values.items() if any(value == "" for value in accepted))
    return Expected(name, values, optional, turn=0, nested=True)


def _usage(row: dict[str, Any]) -> Usage | None:
    """Token counts and latency of a result; with several turns they are nested lists, which are summed."""
    totals = [_sum(row[key]) if key in row else None for key in ("input_token_count", "output_token_count", "latency")]
    if all(total is None for total in totals):
        return None
    counts = [None if total is None else round(total) for total in totals[:2]]
    return Usage(counts[0], counts[1], totals[2])


def _sum(value: Any) -> float:
    if isinstance(value, list):
        return sum(_sum(item) for item in value)
    return float(value) if isinstance(value, int | float) and 0 <= value < MOST else 0.0
