"""CheckDST's lines, and the ParlAI logs that they are made from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Dialogue, Frame, Pair, State, Turn
from troth.readers.checkdst import parse
from troth.text.normalize import checkdst_value

Read = Callable[..., list[Any]]
FILE = "data/checkdst/ckpt_step928_multiwoz_checkdst-{}_example.checkdst_prediction.jsonl"


def state(turn: Any) -> dict[str, dict[str, tuple[str, ...]]]:
    return {frame.service: frame.state.slot_values for frame in turn.frames}


def triples(turn: Any) -> set[tuple[str, ...]]:
    return {
        (frame.service, slot, mapped)
        for frame in turn.frames
        for slot, values in frame.state.slot_values.items()
        for value in values
        if (mapped := checkdst_value(value)) is not None
    }


# Golden: checkdst_examples.json, printed by the authors' script.
@pytest.mark.parametrize(
    ("kind", "turns", "accuracy"), [("orig", 100, 0.36), ("NED", 30, 0.1667), ("PI", 30, 0.3667), ("SDI", 30, 0.1667)]
)
def test_joint_goal_accuracy_is_the_authors(shared: Path, kind: str, turns: int, accuracy: float) -> None:
    pairs: list[Any] = list(readers.read(str(shared / FILE.format(kind))))
    right = [
        triples(gold) == triples(dict(pair.pred.user_turns())[number])
        for pair in pairs
        for number, gold in pair.gold.user_turns()
    ]
    assert len(right) == turns
    assert round(sum(right) / turns, 4) == accuracy


def test_real(shared: Path) -> None:
    pairs: list[Any] = list(readers.read(str(shared / FILE.format("orig"))))
    assert [pairs[n].gold.id for n in (0, len(pairs) // 2, -1)] == ["mul0003", "mul0034", "mul0088"]
    assert [number for number, _ in pairs[-1].gold.user_turns()] == [0, 1, 10]
    assert pairs[0].gold.turns[0].text.startswith("i 'm looking for a place to stay .")
    assert pairs[0].gold.turns[1].text.startswith("there are 23 hotels")
    assert state(pairs[0].pred.turns[-1])["hotel"]["name"] == ("dontcare",)
    assert pairs[-1].gold.turns[-1].text == "what is the car type for the taxi ?"
    assert pairs[-1].gold.turns[-1].coref is False


def test_parlai_gives_the_same(shared: Path) -> None:
    folder = shared / "data/checkdst"
    logs = list(readers.read(str(folder / "example_parlai_world_logs.jsonl")))
    assert len(logs) == 13
    assert logs == list(readers.read(str(folder / "example_parlai_world_logs.checkdst_prediction.jsonl")))


@pytest.mark.parametrize("kind", ["orig", "NED"])
def test_real_round_trip(shared: Path, tmp_path: Path, kind: str) -> None:
    pairs = list(readers.read(str(shared / FILE.format(kind))))
    out = str(tmp_path / "out.jsonl")
    readers.write(pairs, out, "checkdst")
    assert readers.detect(out) == "checkdst"
    assert list(readers.read(out)) == pairs


@pytest.mark.parametrize(
    ("flat", "expected"),
    [
        ("", {}),
        (" , ,", {}),
        ("hotel area north", {"hotel": {"area": ("north",)}}),
        ("hotel area north,hotel area north,", {"hotel": {"area": ("north",)}}),
        ("hotel area north, hotel area east", {"hotel": {"area": ("north", "east")}}),
        ("hotel name the  old mill", {"hotel": {"name": ("the old mill",)}}),
        ("hotel book people 2, hotel people 3", {"hotel": {"book people": ("2",), "people": ("3",)}}),
        ("hotel book people", {"hotel": {"book people": ("",)}}),
        ("hotel book now please", {"hotel": {"book": ("now please",)}}),
        ("hotel area, area north, north, boat area north", {}),
        ("<bs> taxi leaveat 10:00 </bs> taxi arriveby 11:00", {"taxi": {"leaveat": ("10:00",)}}),
        ("</bs> bus day monday", {"bus": {"day": ("monday",)}}),
        ("hotel area dontcare", {"hotel": {"area": ("dontcare",)}}),
    ],
)
def test_parse(flat: str, expected: object) -> None:
    assert parse(flat) == expected


def line(dial_id: object, **fields: object) -> str:
    return json.dumps({"dial_id": dial_id, "context": "<user> a", "gold": "", "pred": ""} | fields)


def test_scattered(read: Read) -> None:
    found = read("\n".join(line(name) for name in ("a-1-10", "MUL0002.json-3", "a-1-1", "a-1-2")))
    assert [(pair.gold.id, [n for n, _ in pair.gold.user_turns()]) for pair in found] == [
        ("a-1", [1, 2, 10]),
        ("mul0002", [3]),
    ]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("", [("USER", "")]),
        ("no marks", [("USER", "no marks")]),
        ("<user> a", [("USER", "a")]),
        ("<user> a <system> b <user>  c ", [("SYSTEM", "b"), ("USER", "c")]),
        ("<user> a <system> b", [("USER", "a")]),
        ("<user> a <user> b", [("USER", "b")]),
    ],
)
def test_context(read: Read, context: str, expected: list[tuple[str, str]]) -> None:
    (pair,) = read(line("a-0", context=context))
    assert [(turn.speaker, turn.text) for turn in pair.gold.turns] == expected


@pytest.mark.parametrize(("given", "expected"), [(True, True), (False, False), ("", None)])
def test_coref(read: Read, given: object, expected: bool | None) -> None:
    (pair,) = read(line("a-0", requires_coref=given))
    assert pair.gold.turns[-1].coref is expected


def test_without_predictions(read: Read) -> None:
    found = read('{"dial_id": "a-0", "gold": ""}\n{"dial_id": "b-0", "gold": "", "pred": ""}')
    assert found[0].pred is None
    assert found[1].pred is not None


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([line("a-0"), line("a-1"), line("a-0")], "dialogue a, turn 0: line 3: duplicate turn, already on line 1"),
        ([line("a-0"), "", line("b")], "line 3: 'dial_id' is 'b', without a turn's number"),
        ([line("a-x")], "dialogue a: line 1: the turn in 'dial_id' is 'x'"),
        ([line(3)], "line 1: 'dial_id' is a number, not text"),
        ([line("a-0"), line("a-1", gold=None)], "dialogue a, turn 1: line 2: 'gold' is null, not text"),
        ([line("a-0", pred=["x"])], "dialogue a, turn 0: line 1: 'pred' is a list, not text"),
        ([line("a-0", requires_coref="yes")], "dialogue a, turn 0: line 1: 'requires_coref' is 'yes'"),
        (['{"dial_id": "a-0"}'], "line 1: the object has no 'gold'"),
        ([line("a-0"), "[]"], "line 2: is not an object"),
        ([line("a-0"), '{"dial_id": "a'], "line 2: broken JSON"),
    ],
)
def test_bad(read: Read, lines: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        read("\n".join(lines), "checkdst")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"dialog": 3}', "line 1: 'dialog' is a number, not a list"),
        ('{"dialog": [[{}]]}', "line 1: an exchange in 'dialog' has 1 messages"),
        ('{"dialog": [[{"dial_id": "a"}, {}]]}', "dialogue a: line 1: the first message has no 'turn_num'"),
        (
            '{"dialog": [[{"dial_id": "a", "turn_num": 2, "eval_labels": []}, {}]]}',
            "dialogue a, turn 2: line 1: 'eval_labels' holds 0 states, not one",
        ),
        (
            '{"dialog": [[{"dial_id": "a", "turn_num": 2, "eval_labels": [""], "text": ""}, {}]]}',
            "dialogue a, turn 2: line 1: the second message has no 'text'",
        ),
    ],
)
def test_bad_parlai(read: Read, line: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read(line, "parlai")


def test_parlai_coref(read: Read, samples: dict[str, bytes]) -> None:
    (pair,) = read(samples["parlai"])
    assert pair.gold.turns[0].coref is False
    (pair,) = read(samples["parlai"].replace(b'"jga"', b'"coref_jga"'))
    assert pair.gold.turns[0].coref is True
    (pair,) = read(samples["parlai"].replace(b'"metrics"', b'"other"'))
    assert pair.gold.turns[0].coref is None


def one(service: str, slot: str, value: str) -> Dialogue:
    frame = Frame(service, State(slot_values={slot: (value,)}))
    return Dialogue(id="d", turns=(Turn(speaker="USER", text="a", frames=(frame,)),))


def test_write_dialogue(tmp_path: Path) -> None:
    out = str(tmp_path / "out.jsonl")
    readers.write([one("hotel", "book stay", "3")], out, "checkdst")
    (found,) = readers.read(out)
    assert isinstance(found, Dialogue)  # one side only: nothing is made up for the other
    assert state(found.turns[0]) == {"hotel": {"book stay": ("3",)}}


@pytest.mark.parametrize(
    ("service", "slot", "value"),
    [("Hotels_1", "area", "north"), ("hotel", "area", "a, b"), ("hotel", "price range", "a"), ("hotel", "area", "")],
)
def test_write_refuses_what_would_be_read_differently(tmp_path: Path, service: str, slot: str, value: str) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(UserError, match=r"dialogue d, turn 0: .* cannot be written in this format"):
        readers.write([one(service, slot, value)], str(out), "checkdst")
    assert list(tmp_path.iterdir()) == []


def test_write_refuses_predictions_without_gold(tmp_path: Path) -> None:
    pair = Pair(one("hotel", "area", "x"), Dialogue(id="d", turns=(Turn(speaker="USER", number=4),)))
    with pytest.raises(UserError, match="dialogue d, turn 4: is predicted, but not in the gold dialogue"):
        readers.write([pair], str(tmp_path / "out.jsonl"), "checkdst")
