"""Transcripts with mistakes anywhere in them: an answer or one line, never a traceback; and texts made to be slow."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.limits import processor_limit
from tests.readers.test_trajectories import ANTHROPIC, OPENAI, OTEL, RESPONSES, TAU, TAU2
from troth import demo
from troth.agents.claims import action_claims
from troth.agents.score import agent
from troth.agents.sources import Sources
from troth.agents.support import find_details
from troth.agents.tools import Toolbox
from troth.core.errors import UserError
from troth.core.trajectories import Message, Trajectory

BUNDLED = [json.loads(line) for line in Path(demo.path("agents/hasty.jsonl")).read_text().splitlines()[:2]]
BFCL = [
    {"id": "s", "result": [{"f": {"a": 1}}]}, {"id": "m", "result": [[[{"f": "{}"}]]]},
    {"id": "q", "question": [[{"role": "user", "content": "x"}]], "function": [{"name": "f", "parameters": {}}]},
    {"id": "a", "ground_truth": [{"f": {"a": [1, ""]}}]},
]  # fmt: skip
FILES: dict[str, Any] = {
    "openai": OPENAI, "anthropic": [ANTHROPIC], "responses": [RESPONSES], "otel": OTEL, "tau": TAU, "tau2": TAU2,
    "bundled": BUNDLED, "bfcl": BFCL,
}  # fmt: skip
JUNK: list[Any] = [
    None,
    True,
    -1,
    1e308,
    "",
    "x",
    [],
    {},
    [[]],
    [{}],
    {"a": 1},
    "{",
    [{"type": "tool_result"}],
    "a" * 99,
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def spoiled(value: Any, draw: random.Random) -> Any:
    """A copy with one value somewhere in it replaced by something else, or taken out."""
    copy = json.loads(json.dumps(value))
    path = draw.choice([path for path in places(copy) if path])
    inside = copy
    for key in path[:-1]:
        inside = inside[key]
    if draw.random() < 0.1:
        del inside[path[-1]]
    else:
        inside[path[-1]] = draw.choice(JUNK)
    return copy


@pytest.mark.parametrize("name", FILES)
def test_an_answer_or_one_line(tmp_path: Path, name: str) -> None:
    draw = random.Random(name)
    file = tmp_path / "t.json"
    for _ in range(25):
        file.write_text(json.dumps(spoiled(FILES[name], draw)))
        assert "\n" not in outcome(file)


def outcome(file: Path) -> str:
    try:
        list(agent(file, resamples=10).explorer().trajectories)
    except UserError as error:
        return error.line()
    return "scored"


SLOW = ["a " * 50_000, "A1" * 50_000, "1," * 50_000, "has been " * 20_000, "one and " * 20_000, "." * 100_000,
        "I have now " * 10_000, "Aa Bb " * 20_000, "(" * 100_000]  # fmt: skip


@pytest.mark.parametrize("text", SLOW, ids=lambda text: text[:10])
def test_no_text_takes_long(text: str) -> None:
    one = Trajectory("t", (Message("user", text), Message("assistant", text)))
    with processor_limit():
        list(action_claims(one, Toolbox()))
        list(find_details(one, Sources(one)))
