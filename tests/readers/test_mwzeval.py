"""mwzeval's files of states and responses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Dialogue, Frame, State, Turn

Read = Callable[..., list[Any]]


def state(turn: Any) -> dict[str, dict[str, tuple[str, ...]]]:
    return {frame.service: frame.state.slot_values for frame in turn.frames}


@pytest.mark.parametrize(
    ("file", "turns", "ids"),
    [
        ("pptod.json", 7371, ["sng0073", "sng01290", "pmul3688"]),
        ("soloist.json", 7372, ["mul0003", "pmul1920", "sng1150"]),
    ],
)
def test_real(shared: Path, tmp_path: Path, file: str, turns: int, ids: list[str]) -> None:
    path = str(shared / "data/mwzeval" / file)
    found: list[Any] = list(readers.read(path))
    assert len(found) == 1000
    assert sum(1 for item in found for _ in item.user_turns()) == turns
    assert [found[n].id for n in (0, 500, -1)] == ids
    out = str(tmp_path / "out.json")
    readers.write(found, out, "mwzeval")
    assert list(readers.read(out)) == found


def test_real_states(shared: Path) -> None:
    found: list[Any] = list(readers.read(str(shared / "data/mwzeval/pptod.json")))
    assert state(found[0].turns[2])["taxi"]["leave"] == ("17:15",)
    assert state(found[500].turns[-2])["hotel"]["stay"] == ("2",)
    assert found[-1].services == ("attraction", "train")
    assert found[0].turns[-1].text == "thank you for using our service today ."


def test_small(read: Read) -> None:
    """A predicted `none` counts as a value in mwzeval, so it is kept."""
    (found,) = read({"MUL0001": [{"response": "a"}, {"state": {"hotel": {"area": "x", "name": "none"}, "taxi": {}}}]})
    assert found == Dialogue(
        id="mul0001",
        turns=(
            Turn(speaker="USER", number=0),
            Turn(speaker="SYSTEM", text="a"),
            Turn(
                speaker="USER",
                number=1,
                frames=(Frame("hotel", State(slot_values={"area": ("x",), "name": ("none",)})),),
            ),
        ),
        services=("hotel",),
    )


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ({}, "dialogue mul0001: the dialogue is an object, not a list"),
        ([3], "dialogue mul0001, turn 0: the turn is a number, not an object"),
        ([{"state": {}}, {"sate": {}}], "turn 1: has neither 'state' nor 'response'"),
        ([{"state": []}], "turn 0: 'state' is a list, not an object"),
        ([{"state": {"hotel": []}}], "turn 0: 'state' of 'hotel' is a list, not an object"),
        ([{"state": {"hotel": {"area": ["x"]}}}], "turn 0: slot 'hotel-area': value is a list; write it as text"),
        ([{"response": None}], "turn 0: 'response' is null, not text"),
    ],
)
def test_bad(read: Read, turns: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read({"MUL0001": turns}, "mwzeval")


def test_write_keeps_the_first_value(tmp_path: Path) -> None:
    held = State(slot_values={"area": ("north", "east"), "name": ()})
    turn = Turn(speaker="USER", frames=(Frame("hotel", held),))
    out = tmp_path / "out.json"
    readers.write([Dialogue(id="d", turns=(turn,))], str(out), "mwzeval")
    assert out.read_text() == '{\n"d": [{"state":{"hotel":{"area":"north"}}}]\n}\n'


def test_write_refuses_gaps(tmp_path: Path) -> None:
    turns = (Turn(speaker="USER", number=0), Turn(speaker="USER", number=2))
    with pytest.raises(UserError, match="dialogue d: turn 1 is missing"):
        readers.write([Dialogue(id="d", turns=turns)], str(tmp_path / "out.json"), "mwzeval")
