"""Logs with one row per model call become conversations, whatever repeats and in whatever order; nothing is lost."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.readers.shapes import LITELLM, OPENAI, SHAPES, calls_of_model, completion
from troth.core.errors import UserError
from troth.core.trajectories import Trajectory
from troth.readers import trajectories
from troth.readers.source import Document


def read(folder: Path, rows: list[Any], skipped: list[str] | None = None) -> list[Trajectory]:
    file = folder / "log.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return list(trajectories.read(str(file), skipped=skipped))


def said(one: Trajectory) -> list[str]:
    return [message.text for message in one.messages if message.text]


def talk(*texts: str, **further: Any) -> list[dict[str, Any]]:
    """A row per answer of a conversation; users and the assistant take turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return [{"messages": messages[:n], "response": messages[n], **further} for n in range(1, len(messages), 2)]


ONE, TWO = talk("Hi", "Hello", "Cancel", "Done"), talk("Hi", "Hello", "Refund", "No")


@pytest.mark.parametrize("session", [True, False])
def test_conversations_that_begin_alike_stay_apart(tmp_path: Path, session: bool) -> None:
    rows = [
        {**row, **({"session_id": name} if session else {})} for name, own in (("a", ONE), ("b", TWO)) for row in own
    ]
    read_rows = read(tmp_path, rows)
    assert sorted(map(said, read_rows)) == [["Hi", "Hello", "Cancel", "Done"], ["Hi", "Hello", "Refund", "No"]]
    assert [one.rows for one in read_rows] == [2, 2]
    if session:
        assert [one.id for one in read_rows] == ["a", "b"]


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    for rows in (LITELLM, LITELLM[::-1], ONE, ONE[::-1]):
        (one,) = read(tmp_path, rows)
        assert len(one.messages) == (7 if "trace_id" in rows[0] else 4)


def test_usage_is_summed(tmp_path: Path) -> None:
    (one,) = read(tmp_path, SHAPES["gateway request and response"].rows)
    assert one.usage is not None
    assert (one.usage.input_tokens, one.usage.output_tokens) == (15, 6)
    (logged,) = read(tmp_path, LITELLM)
    assert logged.usage is not None
    assert logged.usage.cost == 1.5


def test_a_window_of_messages_is_continued(tmp_path: Path) -> None:
    """A client that sends only the last messages."""
    whole = talk("a", "b", "c", "d", "e", "f", session_id="s")
    whole[2]["messages"] = whole[2]["messages"][2:]
    (one,) = read(tmp_path, whole)
    assert said(one) == ["a", "b", "c", "d", "e", "f"]


def test_a_retry_replaces_the_answer(tmp_path: Path) -> None:
    (one,) = read(tmp_path, [*talk("a", "b", session_id="s"), *talk("a", "B", "c", "d", session_id="s")])
    assert said(one) == ["a", "B", "c", "d"]


def test_another_agent_of_a_session_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    title = {"system": "Write a title.", "messages": [{"role": "user", "content": "Hi"}], "response": "Greeting"}
    rows = [{"system": "Help.", "session_id": "s", **row} for row in ONE]
    first, second = read(tmp_path, [rows[0], {"session_id": "s", **title}, rows[1]])
    assert (first.id, said(first)) == ("s", ["Help.", "Hi", "Hello", "Cancel", "Done"])
    assert (second.id, said(second)) == ("s#2", ["Write a title.", "Hi", "Greeting"])


def test_whole_conversations_are_not_joined(tmp_path: Path) -> None:
    """Transcripts without a logged answer, and trials of a task, are what they are, even if one begins the other."""
    assert len(read(tmp_path, [{"messages": OPENAI[:3]}, {"messages": OPENAI}])) == 2
    trials = [{"task": "t", "trial": n, **row} for n, row in enumerate(ONE)]
    assert [one.rows for one in read(tmp_path, trials)] == [1, 1]
    different = [{"session_id": "s", "id": str(n), "messages": row["messages"][-1:]} for n, row in enumerate(ONE)]
    assert len(read(tmp_path, different)) == 2


def test_a_truncated_row_is_an_error_or_is_skipped(tmp_path: Path) -> None:
    before, answer = calls_of_model(OPENAI)[-1]
    row = {"messages": before, "response": completion(answer)}
    for rows, number in (([row, '{"messages": [{"role"'], 2), (['{"messages": [{"role"', row], 1)):
        with pytest.raises(UserError, match=f"line {number}: broken JSON"):
            read(tmp_path, rows)
        skipped: list[str] = []
        assert len(read(tmp_path, rows, skipped)) == 1
        (error,) = skipped
        assert f"line {number}: broken JSON" in error


@pytest.mark.parametrize("bad", [
    {"messages": [{"role": "uzer", "content": "x"}]},
    {"messages": [{"role": "uzer", "content": "x"}], "response": "y"},
    {"hologram": 1},
])  # fmt: skip
def test_a_row_that_does_not_fit_is_skipped(tmp_path: Path, bad: dict[str, Any]) -> None:
    skipped: list[str] = []
    assert len(read(tmp_path, [{"messages": OPENAI}, bad], skipped)) == 1
    assert len(skipped) == 1
    with pytest.raises(UserError):
        read(tmp_path, [{"messages": OPENAI}, bad])


@pytest.mark.parametrize("row", [
    {"colour": "red", "size": 3},
    {"input": "Cancel order 7.", "output": "It has been cancelled."},  # two texts may be anything
    {"prompt": "Cancel order 7.", "label": 1},
    {"type": "function", "name": "cancel", "parameters": {}},
])  # fmt: skip
@pytest.mark.parametrize("number", [1, 2])
def test_an_unknown_shape_names_its_keys(tmp_path: Path, row: dict[str, Any], number: int) -> None:
    keys = ", ".join(row)
    with pytest.raises(UserError, match=f"not a known format of trajectories; its keys are {keys}") as refused:
        read(tmp_path, [row] * number)
    assert "\n" not in refused.value.line()


REPLACEMENTS: list[Any] = [None, 7, "x", [], {}, [[]], True, [7], {"a": 1}, -1.5, [{}], {"type": "text"}]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("name", SHAPES)
def test_damaged_shapes_are_read_or_refused(name: str) -> None:
    """Any value in any place: trajectories, or an error of one line."""
    shape, draw = SHAPES[name], random.Random(name)
    rows = shape.rows[0] if shape.whole else shape.rows
    places = list(paths(rows))
    for _ in range(12):
        damaged = replaced(rows, draw.choice(places), draw.choice(REPLACEMENTS))
        is_lines = not shape.whole and isinstance(damaged, list)
        text = "\n".join(map(json.dumps, damaged)) if is_lines else json.dumps(damaged)
        document = Document("damaged", text.encode())
        with contextlib.suppress(UserError):
            for one in trajectories.FORMATS.load(trajectories.detect(document)).read(document):
                assert msgspec.json.encode(one)
