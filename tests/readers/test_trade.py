"""Result files of TRADE and SOM-DST."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError

Read = Callable[..., list[Any]]


def state(turn: Any) -> dict[str, dict[str, tuple[str, ...]]]:
    return {frame.service: frame.state.slot_values for frame in turn.frames}


def test_small(read: Read, samples: dict[str, bytes]) -> None:
    (found,) = read(samples["trade"])
    assert found.gold.id == found.pred.id == "mul0001"
    assert [state(turn) for turn in found.gold.turns] == [{"hotel": {"area": ("north",)}}] * 2
    assert [state(turn) for turn in found.pred.turns] == [{"hotel": {"area": ("east",)}}, {}]
    assert [number for number, _ in found.gold.user_turns()] == [0, 1]


def test_lists(read: Read, samples: dict[str, bytes]) -> None:
    (found,) = read(samples["trade lists"])
    assert state(found.gold.turns[1]) == {"hotel": {"area": ("north",)}}
    assert state(found.pred.turns[0]) == {"hotel": {"area": ("east",), "name": ("a-b",)}}


def test_generated_lists(read: Read) -> None:
    (found,) = read({"d": {"0": {"turn_belief": ["a-b-none", "a-c-x"], "pred_bs_gen": ["a-c-x", "a-c-y"]}}})
    assert state(found.gold.turns[0]) == {"a": {"c": ("x",)}}
    assert state(found.pred.turns[0]) == {"a": {"c": ("x", "y")}}


def test_turns_by_number(read: Read) -> None:
    turns = {str(n): {"gt": {"hotel": {"stay": str(n)}}, "pr": {}} for n in (10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)}
    (found,) = read({"SNG01.json": turns})
    assert [state(turn)["hotel"]["stay"] for turn in found.gold.turns] == [(str(n),) for n in range(11)]


TURN: dict[str, Any] = {"gt": {}, "pr": {}}


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ({"0": TURN, "1": TURN, "3": TURN}, "dialogue mul0001: turn 2 is missing"),
        ({"1": TURN}, "turn 0 is missing"),
        ({"0": TURN, "00": TURN}, "dialogue mul0001, turn 0: duplicate turn"),
        ({"x": TURN}, "the turn's number is 'x'"),
        ({"-1": TURN}, "the turn's number is '-1'"),
        ({"²": TURN}, "the turn's number is '²'"),
        ({"9" * 5000: TURN}, "the turn's number is"),
        ([TURN], "the dialogue is a list, not an object"),
        ({"0": []}, "turn 0: the turn is a list"),
        ({"0": {"gt": {}}}, "turn 0: has no 'pr' or 'pred_bs_ptr' or 'pred_bs_gen'"),
        ({"0": {"pr": {}}}, "turn 0: has no 'gt' or 'turn_belief'"),
        ({"0": TURN, "1": {"gt": {"hotel": "x"}, "pr": {}}}, "turn 1: 'gt' of 'hotel' is text, not an object"),
        ({"0": {"gt": ["hotel-area"], "pr": {}}}, "'hotel-area' in 'gt' is not of the form domain-slot-value"),
        ({"0": {"gt": [3], "pr": {}}}, "an entry of 'gt' is a number, not text"),
    ],
)
def test_bad(read: Read, turns: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read({"MUL0001.json": turns}, "trade")


def test_sides(tmp_path: Path, samples: dict[str, bytes]) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(samples["trade"])
    assert [d.turns[0].frames for d in readers.gold(str(path))] != [
        d.turns[0].frames for d in readers.predictions(str(path))
    ]
