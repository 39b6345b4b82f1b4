"""The same conversation in every shape gives the same trajectory, and what is not understood is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.readers.shapes import ASKED, CALLS, FIRST, LAST, SHAPES, SYSTEM, Shape, text
from troth.core.trajectories import Trajectory
from troth.readers import source, trajectories


def write(folder: Path, shape: Shape) -> str:
    file = folder / "log.jsonl"
    file.write_text(json.dumps(shape.rows[0], indent=1) if shape.whole else "\n".join(map(json.dumps, shape.rows)))
    return str(file)


def outline(one: Trajectory) -> dict[str, Any]:
    """What was said and called, without the borders of messages, which differ between layouts."""
    said = [message.text for message in one.messages if message.role == "assistant" and message.text]
    calls = [(n.call.tool, n.call.arguments, None if n.result is None else one.messages[n.result]) for n in one.calls()]
    return {
        "system": [message.text for message in one.messages if message.role == "system"],
        "user": one.users(),
        "calls": [(tool, arguments, result and result.text, result and result.error) for tool, arguments, result in calls],
        "assistant": said,
        "order": [message.role for message in one.messages if message.role in ("user", "tool")],
    }


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_gives_the_same_conversation(tmp_path: Path, name: str) -> None:
    shape = SHAPES[name]
    path = write(tmp_path, shape)
    (one,) = trajectories.read(path)
    assert outline(one) == {
        "system": [SYSTEM] if shape.system else [],
        "user": [ASKED],
        "calls": [(tool, arguments, text(result), False) for tool, arguments, result in CALLS],
        "assistant": [FIRST, LAST],
        "order": ["user", "tool", "tool"],
    }
    assert [tool.name for tool in one.tools] == (["cancel_order", "refund"] if shape.tools else [])
    assert (one.unread, one.rows) == ({}, shape.joined)
    assert trajectories.detect(source.first(path)) == shape.format


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) >= 48
