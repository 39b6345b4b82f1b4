"""TripPy: right or wrong per slot, and its own prediction files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.readers.trippy import SLOTS
from troth.readers.trippy_pred import tokenize

Read = Callable[..., list[Any]]


def test_real(shared: Path) -> None:
    found: list[Any] = list(readers.read(str(shared / "data/fga/trippy_result.json")))
    assert len(found) == 999, "one of the thousand is left out"
    turns = [turn for pair in found for turn in pair.pred.turns]
    # Golden: fga_trippy.json, printed by the FGA authors' script.
    assert len(turns) == 7368
    assert sum(all(turn.correct.values()) for turn in turns) == 3926
    assert [found[n].gold.id for n in (0, 499, -1)] == ["mul0484", "pmul3662", "pmul0506"]
    assert len(found[0].gold.turns) == 5
    assert all(found[499].pred.turns[-1].correct.values())
    wrong = [slot for slot, right in found[-1].pred.turns[-1].correct.items() if not right]
    assert wrong == ["restaurant-food", "restaurant-name"]
    assert all(turn.frames == () and turn.correct is None for turn in found[-1].gold.turns)


def test_slot_names(read: Read) -> None:
    (found,) = read({"a": {"0": [1] * 29 + [0]}}, "trippy")
    assert len(SLOTS) == len(set(SLOTS)) == 30
    assert [slot for slot, right in found.pred.turns[0].correct.items() if not right] == ["train-departure"]
    (found,) = read({"a": {"0": [1, 0]}}, "trippy")
    assert found.pred.turns[0].correct == {"slot_00": True, "slot_01": False}


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ({"0": [1], "2": [1]}, "dialogue mul0001: turn 1 is missing"),
        ({"0": [1, 2]}, "dialogue mul0001, turn 0: 2 where 0 or 1 is expected"),
        ({"0": [1, None]}, "null where 0 or 1 is expected"),
        ({"0": 1}, "the turn is a number, not a list"),
    ],
)
def test_bad(read: Read, turns: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read({"MUL0001.json": turns}, "trippy")


def row(guid: object, gold: object = "none", pred: object = "none") -> dict[str, Any]:
    return {"guid": guid, "slot_groundtruth_hotel-name": gold, "slot_prediction_hotel-name": pred, "loss": 0.1}


def state(turn: Any) -> dict[str, dict[str, tuple[str, ...]]]:
    return {frame.service: frame.state.slot_values for frame in turn.frames}


def test_predictions(read: Read, samples: dict[str, bytes]) -> None:
    (found,) = read(samples["trippy-pred"])
    assert found.gold.id == "mul0001"
    assert [state(turn) for turn in found.gold.turns] == [{"hotel": {"area": ("north",)}}] * 2
    assert [state(turn) for turn in found.pred.turns] == [{}, {"hotel": {"area": ("north",)}}]


def test_predictions_in_any_order(read: Read) -> None:
    found = read([row("test-A-B-1", "x"), row("test-C-0"), row("test-A-B-0", "y")])
    assert [pair.gold.id for pair in found] == ["A-B", "C"]
    assert [state(turn)["hotel"]["name"] for turn in found[0].gold.turns] == [("y",), ("x",)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("x", "§§y", ("y",)),
        ("x", "§§none", ("x",)),
        ("x", "§§ none", ("x",)),
        ("x", "none", None),
        ("none", "17 : 15", ("17 : 15",)),
        ("none", "17:15", ("17 : 15",)),
    ],
)
def test_predicted_values(read: Read, first: str, second: str, expected: tuple[str, ...] | None) -> None:
    (found,) = read([row(["test", "d", "0"], pred=first), row(["test", "d", "1"], pred=second)])
    assert state(found.pred.turns[1]) == ({} if expected is None else {"hotel": {"name": expected}})


@pytest.mark.parametrize(
    ("value", "expected"),
    [("", ""), ("a  b", "a b"), ("17:15", "17 : 15"), ("Ġa Ġb c", "a bc"), ("st. john's", "st . john ' s")],
)
def test_tokenised(value: str, expected: str) -> None:
    assert tokenize(value) == expected


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row(["test", "MUL0001.json", "1"])], "dialogue mul0001: turn 0 is missing"),
        ([row(["test", "MUL0001.json", "0"])] * 2, "dialogue mul0001, turn 0: duplicate turn"),
        ([row(["test", "MUL0001.json", "x"])], "dialogue mul0001: the turn in 'guid' of entry 0 is 'x'"),
        ([row(["test", "0"])], r"'guid' of entry 0 is not \[set, dialogue, turn\]"),
        ([row("nothing")], r"'guid' of entry 0 is not \[set, dialogue, turn\]"),
        ([{"slot_prediction_a-b": "none"}], "entry 0 has no 'guid'"),
        ([row("test-d-0", gold=3)], "dialogue d, turn 0: slot 'hotel-name': value 3 is a number"),
        ([{"guid": "test-d-0", "slot_prediction_a-b": "x"}], "slot 'a-b' needs both"),
        ([{"guid": "test-d-0", "slot_prediction_a": "x", "slot_groundtruth_a": "x"}], "slot 'a' is not of the form"),
    ],
)
def test_bad_predictions(read: Read, rows: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read(rows, "trippy-pred")
