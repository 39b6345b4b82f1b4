"""MultiWOZ's data.json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError

Read = Callable[..., list[Any]]
State = dict[str, dict[str, tuple[str, ...]]]


def dialogue(*states: object, text: str = "hello") -> dict[str, Any]:
    """A dialogue whose user turns have these `metadata`."""
    log: list[object] = []
    for metadata in states:
        log += [{"text": text, "metadata": {}}, {"text": "yes ?", "metadata": metadata}]
    return {"MUL0001.json": {"log": log}}


def state(turn: Any) -> State:
    return {frame.service: frame.state.slot_values for frame in turn.frames}


def test_real(shared: Path) -> None:
    found: list[Any] = list(readers.read(str(shared / "data/multiwoz/test.json.zip")))
    assert len(found) == 1000
    assert sum(1 for item in found for _ in item.user_turns()) == 7372
    first, middle, last = found[0], found[500], found[-1]
    assert [d.id for d in (first, middle, last)] == ["sng0073", "sng01290", "pmul3688"]
    assert [d.services for d in (first, middle, last)] == [("taxi",), ("hotel",), ("attraction", "train")]
    assert first.turns[2].text == "I want to leave after 17:15 ."
    assert state(first.turns[2]) == {
        "taxi": {
            "leaveat": ("17:15",),
            "destination": ("pizza hut fenditton",),
            "departure": ("saint johns college",),
        }
    }
    assert state(middle.turns[-2])["hotel"]["area"] == ("dontcare",)
    assert state(last.turns[-2])["train"]["book people"] == ("3",)


def test_real_alternatives(shared: Path) -> None:
    found: list[Any] = list(readers.read(str(shared / "data/multiwoz/val.json.zip")))
    assert len(found) == 999
    both = next(item for item in found if item.id == "mul0244")
    assert state(both.turns[14])["restaurant"]["book time"] == ("17:30", "16:30")


def test_small(read: Read, samples: dict[str, bytes]) -> None:
    (found,) = read(samples["multiwoz"])
    assert found.id == "mul0001"
    assert found.services == ("hotel",)
    assert [turn.speaker for turn in found.turns] == ["USER", "SYSTEM", "USER", "SYSTEM"]
    assert state(found.turns[0]) == {"hotel": {"pricerange": ("cheap",)}}
    assert state(found.turns[2]) == {
        "hotel": {"pricerange": ("cheap",), "area": ("north", "east"), "name": ("dontcare",), "book people": ("2",)}
    }
    assert all(turn.coref is None for turn in found.turns)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", None),
        ("none", None),
        ("not mentioned", None),
        ([], None),
        ([""], None),
        ("dontcare", ("dontcare",)),
        ("a|b", ("a", "b")),
        ("a>b", ("a", "b")),
        ("monday<friday", ("monday", "friday")),
        ("a | a", ("a",)),
        ("none|a", ("a",)),
        (["a", "b"], ("a", "b")),
        (["a|b", "c"], ("a", "b", "c")),
    ],
)
def test_values(read: Read, value: object, expected: tuple[str, ...] | None) -> None:
    (found,) = read(dialogue({"hotel": {"semi": {"name": value}, "book": {}}}))
    assert state(found.turns[0]) == ({} if expected is None else {"hotel": {"name": expected}})


def test_coreference_lasts(read: Read) -> None:
    data = dialogue({}, {}, {})
    data["MUL0001.json"]["log"][2]["coreference"] = {"Taxi-Inform": []}
    (found,) = read(data, "multiwoz")
    assert [turn.coref for _, turn in found.user_turns()] == [False, True, True]


def test_empty_log(read: Read) -> None:
    (found,) = read({"MUL0001.json": {"log": []}}, "multiwoz")
    assert found.turns == ()


USER, SYSTEM = {"text": "a", "metadata": {}}, {"text": "b", "metadata": {"hotel": {"semi": {"area": "north"}}}}


@pytest.mark.parametrize(
    ("log", "says"),
    [
        ([USER], "dialogue mul0001, turn 0: the user's last turn has no system entry after it"),
        ([USER, SYSTEM, USER], "dialogue mul0001, turn 1: the user's last turn"),
        ([SYSTEM, USER], r"turn 0: log\[0\] should be the user's"),
        ([USER, USER, SYSTEM, USER], r"turn 1: log\[2\] should be the user's"),
        ([USER, {"text": "b"}], r"turn 0: log\[1\] has no 'metadata'"),
        ([{"metadata": {}}, SYSTEM], r"turn 0: log\[0\] has no 'text'"),
        ([USER, "b"], r"turn 0: log\[1\] is text, not an object"),
        ([USER, {"text": "b", "metadata": []}], "turn 0: 'metadata' is a list, not an object"),
        ([USER, {"text": "b", "metadata": {"hotel": {"semi": {"a": ["b", 3]}}}}], "value 3 is a number"),
        ("x", "dialogue mul0001: 'log' is text, not a list"),
    ],
)
def test_bad(read: Read, log: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read({"MUL0001.json": {"log": log}}, "multiwoz")


def test_one_dialogue_under_two_spellings(read: Read) -> None:
    data: object = {"MUL0001.json": {"log": []}, "mul0001": {"log": []}}
    with pytest.raises(UserError, match=r"dialogue mul0001: stands here twice, as 'MUL0001\.json' and 'mul0001'"):
        read(data, "multiwoz")
