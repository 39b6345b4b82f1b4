"""MultiWOZ's data.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Dialogue, Frame, State, Turn
from troth.readers.multiwoz_sgd import spell_value

Read = Callable[..., list[Any]]
Held = dict[str, dict[str, tuple[str, ...]]]


def dialogue(*states: object, text: str = "hello") -> dict[str, Any]:
    """A dialogue whose user turns have these `metadata`."""
    log: list[object] = []
    for metadata in states:
        log += [{"text": text, "metadata": {}}, {"text": "yes ?", "metadata": metadata}]
    return {"MUL0001.json": {"log": log}}


def state(turn: Any) -> Held:
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
        "taxi": {"leaveat": ("17:15",), "destination": ("pizza hut fenditton",), "departure": ("saint johns college",)}
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
    with pytest.raises(UserError, match=r"dialogue mul0001: duplicate dialogue: 'MUL0001\.json' and 'mul0001'"):
        read(data, "multiwoz")


# -- writing -----------------------------------------------------------------------------------------------------------


def test_write(read: Read, samples: dict[str, bytes], tmp_path: Path) -> None:
    """As the release has it: its names of files and slots, and every domain in every state."""
    items = read(samples["multiwoz"])
    out = tmp_path / "data.json"
    readers.write(items, str(out), "multiwoz")
    assert list(readers.read(str(out))) == items
    entry = json.loads(out.read_bytes())["MUL0001.json"]
    assert entry["goal"] == {}
    assert [turn["text"] for turn in entry["log"]][:2] == ["Somewhere cheap to sleep.", "In which part?"]
    metadata = entry["log"][3]["metadata"]
    assert metadata["hotel"]["semi"]["area"] == "north|east"
    assert metadata["hotel"]["book"] == {"booked": [], "people": "2", "day": "", "stay": ""}
    assert metadata["train"] == {
        "book": {"booked": [], "people": ""},
        "semi": {"leaveAt": "", "destination": "", "day": "", "arriveBy": "", "departure": ""},
    }
    assert set(metadata) == {"taxi", "police", "restaurant", "hospital", "hotel", "attraction", "train"}


@pytest.mark.parametrize("file", ["test.json.zip", "val.json.zip"])
def test_real_round_trip(shared: Path, tmp_path: Path, file: str) -> None:
    items = list(readers.read(str(shared / "data/multiwoz" / file)))
    out = str(tmp_path / "data.json")
    readers.write(items, out, "multiwoz")
    assert list(readers.read(out)) == items


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ((Turn("SYSTEM", "hi"), Turn("USER")), "turn 0: the system speaks first, or twice in a row"),
        ((Turn("USER"), Turn("SYSTEM"), Turn("SYSTEM")), "turn 1: the system speaks first, or twice in a row"),
        ((Turn("USER", number=1),), "dialogue d: turn 0 is missing"),
        *(
            ((Turn("USER", frames=(Frame("hotel", State(slot_values={slot: (value,)})),)),), "cannot be written")
            for slot, value in (("name", "a|b"), ("name", "none"), ("Name", "a"), ("name", " a"), ("book booked", "a"))
        ),
    ],
)
def test_write_refuses(tmp_path: Path, turns: tuple[Turn, ...], says: str) -> None:
    with pytest.raises(UserError, match=says):
        readers.write([Dialogue(id="d", turns=turns)], str(tmp_path / "out.json"), "multiwoz")


# -- as SGD ------------------------------------------------------------------------------------------------------------


def test_as_sgd(samples: dict[str, bytes], tmp_path: Path) -> None:
    """Complete SGD: every key of the release in every frame, intents by what changes, spans, and a schema."""
    (tmp_path / "data.json").write_bytes(samples["multiwoz"].replace(b'"dontcare"', b'"East. We"'))
    readers.convert(tmp_path / "data.json", tmp_path / "sgd", "sgd")
    ((dialogue,),) = [json.loads(file.read_bytes()) for file in (tmp_path / "sgd").glob("dialogues_*.json")]
    assert dialogue["services"] == ["hotel"]
    first, system, second, _ = dialogue["turns"]
    assert first["frames"] == [
        {
            "service": "hotel",
            "slots": [],
            "actions": [],
            "state": {"active_intent": "find_hotel", "requested_slots": [], "slot_values": {"pricerange": ["cheap"]}},
        }
    ]
    assert system == {"speaker": "SYSTEM", "utterance": "In which part?", "frames": []}
    assert second["frames"][0]["state"]["active_intent"] == "book_hotel"
    (span,) = second["frames"][0]["slots"]
    assert second["utterance"][span["start"] : span["exclusive_end"]] == "east. We"
    schema = readers.schema(str(tmp_path / "sgd"))
    slots = {slot.name: slot for slot in schema["hotel"].slots}
    assert slots["area"].is_categorical
    assert slots["area"].possible_values == ("centre", "east", "north", "south", "west")
    assert not slots["name"].is_categorical
    assert [intent.name for intent in schema["hotel"].intents] == ["find_hotel", "book_hotel"]
    assert all(slot.description for service in schema.values() for slot in service.slots)


def test_real_as_sgd(shared: Path, tmp_path: Path) -> None:
    """States stay what they are, and the schema knows every slot and every categorical value."""
    path = shared / "data/multiwoz/val.json.zip"
    readers.convert(path, tmp_path / "sgd", "sgd")
    schema = readers.schema(str(tmp_path / "sgd"))
    known = {
        (name, slot.name): set(slot.possible_values) if slot.is_categorical else None
        for name, service in schema.items()
        for slot in service.slots
    }
    spans = 0
    for before, after in zip(readers.gold(str(path)), readers.gold(str(tmp_path / "sgd")), strict=True):
        assert [turn.text for turn in before.turns] == [turn.text for turn in after.turns]
        for (_, old), (_, new) in zip(before.user_turns(), after.user_turns(), strict=True):
            assert [(f.service, f.state and f.state.slot_values) for f in old.frames] == [
                (f.service, f.state and f.state.slot_values) for f in new.frames
            ]
            for frame in new.frames:
                assert frame.state is not None
                for slot, values in frame.state.slot_values.items():
                    closed = known[frame.service, slot]
                    assert closed is None or set(values) - {"dontcare"} <= closed
                spans += len(frame.spans or ())
    assert spans > 1000


@pytest.mark.parametrize(
    ("said", "spelled"),
    [
        ("Curry King", "curry king"), ("8:15", "08:15"), ("08:15", "08:15"), ("3:30 PM", "15:30"),
        ("12:05 am", "00:05"), ("5 p.m.", "17:00"), ("12 pm", "12:00"),
        ("5", "5"), ("", ""), ("25:00", "25:00"), ("8:15 or later", "8:15 or later"),
    ],
)  # fmt: skip
def test_values_as_the_annotation_spells_them(said: str, spelled: str) -> None:
    assert spell_value(said) == spelled
