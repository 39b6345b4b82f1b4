"""Whatever is done to a file, scoring it gives numbers between 0 and 1 or one line that says what is wrong."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from troth import demo
from troth.core.errors import UserError
from troth.core.score import Score
from troth.tracking.check import check
from troth.tracking.profiles import CHOICES, PROFILES, Profile
from troth.tracking.score import dst

pytestmark = pytest.mark.slow

DIALOGUES = ("figure_1", "demo_12", "demo_07")  # two services, alternatives of a value, a state that shrinks
TIMES = 130  # mutants of each of SGD's files, of each kind
TIMES_OTHER = 40  # likewise for each file of the other formats

TRADE = {
    "MUL0001.json": {
        "0": {"gt": {"hotel": {"area": "north", "stars": "none"}}, "pr": {"hotel": {"area": "east"}}},
        "1": {"gt": {"hotel": {"area": "north"}, "taxi": {"leaveAt": "9:15"}}, "pr": {"taxi": {"leaveAt": "9:15"}}},
    },
    "MUL0002.json": {"0": {"gt": {}, "pr": {}}},
}
TRADE_LISTS = {
    "MUL0001.json": {
        "0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["hotel-area-east", "hotel-name-a-b"]},
        "1": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": []},
    }
}
TRIPPY = {"MUL0001.json": {"0": [1, 0, 1], "1": [1, 1, 1]}, "MUL0002.json": {"0": [0, 0, 1]}}
TRIPPY_PRED = [
    {
        "guid": ["test", "MUL0001.json", str(turn)],
        "slot_prediction_hotel-area": ["none", "§§none", "north"][turn],
        "slot_groundtruth_hotel-area": "north",
    }
    for turn in range(3)
]
MULTIWOZ = {
    "MUL0001.json": {
        "log": [
            {"text": "Somewhere cheap.", "metadata": {}},
            {"text": "Where?", "metadata": {"hotel": {"semi": {"priceRange": "cheap", "area": ""}, "book": {}}}},
            {"text": "North or east, for two.", "metadata": {}, "coreference": {}},
            {"text": "Booked.", "metadata": {"hotel": {"semi": {"area": "north|east"}, "book": {"people": "2"}}}},
        ]
    }
}
HI_DST = {
    "MUL0001.json": {
        "0": {"a_sys": " ", "a_usr": "a room", "gt": {"hotel-area": "north"}, "pr_turn": {"hotel-area": "east"}},
        "1": {"a_usr": "two nights", "gt": {"hotel-area": "north", "hotel-stay": "2"}, "pr_turn": {"hotel-stay": "2"}},
    }
}
MWZEVAL = {
    "mul0001": [
        {"state": {"hotel": {"area": "north"}}, "response": "how many nights ?"},
        {"state": {"hotel": {"area": "north", "stay": "3"}}, "response": "booked ."},
    ]
}
CHECKDST = [
    {"context": "<user> a room", "dial_id": "mul0001-0", "gold": "hotel area north,", "pred": "hotel area east,"},
    {
        "context": "<user> a room <system> how many nights ? <user> three",
        "dial_id": "mul0001-1",
        "gold": "hotel area north, hotel book stay 3",
        "pred": "hotel book stay 3",
        "requires_coref": False,
    },
]
PARLAI = [
    {
        "dialog": [
            [
                {"text": "<user> hi", "dial_id": "mul0001", "turn_num": turn, "eval_labels": ["hotel area north,"]},
                {"text": "hotel area north", "metrics": {"jga": 1.0}},
            ]
        ]
    }
    for turn in range(2)
]
JSONL = [
    {
        "dialogue": "d1",
        "turn": 0,
        "user": "A room in Leeds.",
        "state": {"Hotels_1": {"city": ["Leeds", "leeds"]}},
        "intent": {"Hotels_1": "Search"},
        "requested": {"Hotels_1": ["price"]},
        "pred": {"Hotels_1": {"city": "Leeds"}},
    },
    {"dialogue": "d1", "turn": 1, "system": "When?", "user": "Today.", "state": {"Hotels_1": {}}, "coref": True},
]
OTHERS: dict[str, Any] = {
    "trade": TRADE,
    "trade lists": TRADE_LISTS,
    "hi-dst": HI_DST,
    "trippy": TRIPPY,
    "trippy-pred": TRIPPY_PRED,
    "multiwoz": MULTIWOZ,
    "mwzeval": MWZEVAL,
    "checkdst": CHECKDST,
    "parlai": PARLAI,
    "jsonl": JSONL,
}
LINES = ("checkdst", "parlai", "jsonl")
ONE_SIDED = ("multiwoz", "mwzeval")  # files of dialogues; the others hold gold and prediction together


DEEP = "@deep"  # stands for nesting that Python's own writer of JSON would give up on


def dumped(value: Any, chance: random.Random) -> bytes:
    levels = chance.choice((100, chance.randrange(800, 1000), 100_000))
    return json.dumps(value).encode().replace(f'"{DEEP}"'.encode(), b"[" * levels + b"]" * levels)


# -- mutations ---------------------------------------------------------------------------------------------------------


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from spots(value[key])


def restructured(value: Any, chance: random.Random) -> Any:
    """A copy with one to three things in it changed."""
    changed = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = list(spots(changed))
        if not places:
            break
        holder, key = chance.choice(places)
        _change(holder, key, chance)
    return changed


def _change(holder: Any, key: Any, chance: random.Random) -> None:
    match chance.randrange(7):
        case 6 if isinstance(holder, dict):
            holder[chance.choice(OPTIONAL)] = copy.deepcopy(chance.choice(ODD))
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(chance.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
        case 2 if isinstance(holder, list):
            chance.shuffle(holder)
        case 1 | 2:
            name = chance.choice(("", key + "x", key.upper(), "0", "9" * 25, "number", "correct", "é\u202e\n\x1b[31m"))
            holder[name] = holder.pop(key)
        case _:
            holder[key] = copy.deepcopy(chance.choice(ODD))


OPTIONAL = ("number", "correct", "coref", "state", "slots", "metadata", "turn_num", "possible_values")
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 6, 2.5, 1e308, 10**19, 10**400, "", " ", "none", "dontcare", "\x00", "é\u202e\n\x1b[2J",
    "y" * 50_000, "USER", "SYSTEM", "-", "7", "§§none", [], {}, [[]], [None], [""], ["none"], {"a": 6}, {"": ""},
    DEEP, DEEP,
)  # fmt: skip


def garbled(data: bytes, chance: random.Random) -> bytes:
    """A copy with bytes flipped, deleted, put in or cut off."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(changed)) if changed else 0
        match chance.randrange(5):
            case 0 if changed:
                changed[at] ^= 1 << chance.randrange(8)
            case 1:
                del changed[at : at + chance.choice((1, 1, 7, 60))]
            case 2:
                changed[at:at] = chance.choice(
                    (b"\x00", b"\xff", b'"', b"{", b"]", b",", b"9", b"\\u", b"\n", b"\xed\xa0\x80")
                )
            case 3:
                changed[at:at] = changed[at : at + 200]
            case _:
                del changed[at:]
    return bytes(changed)


# -- what may come out -------------------------------------------------------------------------------------------------


def attempt(gold: Path, preds: list[Path], chance: random.Random, **options: Any) -> bool:
    """Score and check: numbers in their range, or an error of one line. Says whether there were numbers."""
    formats = options.pop("formats", (None, None))
    groups = chance.choice(((), ("service", "domain", "slot", "turn")))
    scored = False
    try:
        format, pred_format = formats
        files = (str(gold), *map(str, preds))
        result = dst(*files, by=groups, resamples=3, format=format, pred_format=pred_format, **options)
    except UserError as error:
        one_line(error)
    else:
        scored = True
        for score in result.scores:
            in_range(score)
        rows = result.rows()
        assert (rows["den"] > 0).all()
        assert rows["num"].is_between(0, rows["den"] + 1e-9).all()
    try:
        checked = check(str(gold), format=formats[0])
    except UserError as error:
        one_line(error)
    else:
        for score in checked.ceiling:
            in_range(score)
    return scored


def one_line(error: UserError) -> None:
    line = str(error)
    assert line
    assert line.isprintable()
    assert line == error.line()


def in_range(score: Score) -> None:
    if score.value is None:
        assert score.reason
        return
    assert score.n > 0
    for number in (score.value, score.low, score.high):
        assert number is None or (math.isfinite(number) and 0 <= number <= 1), score


# -- SGD ---------------------------------------------------------------------------------------------------------------


def load(name: str, file: str = "dialogues_001.json") -> Any:
    return json.loads((Path(demo.path(name)) / file).read_bytes())


def cut(name: str) -> list[Any]:
    return [dialogue for dialogue in load(name) if dialogue["dialogue_id"] in DIALOGUES]


FILES: dict[str, Any] = {
    "gold": cut("gold"),
    "pred": cut("hasty"),
    "schema": load("gold", "schema.json"),
    "train": load("gold", "schema.json")[:1],
}


def profiles(chance: random.Random) -> str | list[Profile] | None:
    chosen: str | None = chance.choice([None, "all", *PROFILES])
    if chosen is None or chosen in ("all", "trippy"):
        return chosen
    options: dict[str, Any] = {
        "unit": chance.choice((None, "frame", "turn")),
        "match": chance.choice((None, *CHOICES["match"])),
        "missing": chance.choice((None, "skip")),
        "fga": chance.choice((None, "paper")),
    }
    profile: Profile = PROFILES.load(chosen)
    return [profile.with_rules(**options)]


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """A small corpus on disk, by what may be spoiled of it."""
    made = {name: tmp_path / name / "dialogues_001.json" for name in ("gold", "pred")}
    made |= {"schema": tmp_path / "gold" / "schema.json", "train": tmp_path / "train.json"}
    for name, place in made.items():
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(FILES[name]))
    assert attempt(made["gold"].parent, [made["pred"].parent], random.Random(0))
    return made


@pytest.mark.parametrize("kind", ["structure", "bytes"])
@pytest.mark.parametrize("spoiled", ["gold", "pred", "schema"])
def test_sgd(places: dict[str, Path], spoiled: str, kind: str) -> None:
    whole = places[spoiled].read_bytes()
    scored = 0
    for number in range(TIMES):
        chance = random.Random(f"{spoiled} {kind} {number}")
        structure = kind == "structure"
        data = dumped(restructured(FILES[spoiled], chance), chance) if structure else garbled(whole, chance)
        places[spoiled].write_bytes(data)
        options = {
            "profile": profiles(chance),
            "unknown": chance.choice(("error", "ignore")),
            "train_schema": chance.choice((None, str(places["train"]))),
        }
        scored += attempt(places["gold"].parent, [places["pred"].parent], chance, **options)
    assert 0 < scored < TIMES, "some mutants can be scored and some cannot"


@pytest.mark.parametrize("key", ["number", "correct", "speaker"])
@pytest.mark.parametrize("sides", [("gold",), ("pred",), ("gold", "pred")])
def test_every_odd_value(places: dict[str, Path], sides: tuple[str, ...], key: str) -> None:
    """Each in turn in a place where chance rarely puts it."""
    for index, odd in enumerate(ODD):
        for side in sides:
            items = copy.deepcopy(FILES[side])
            items[1]["turns"][2][key] = odd
            places[side].write_bytes(dumped(items, random.Random(index)))
        profile = ("sgd", "trade")[index % 2]
        attempt(places["gold"].parent, [places["pred"].parent], random.Random(index), profile=profile)


# -- the other formats -------------------------------------------------------------------------------------------------


def written(value: Any, format: str, chance: random.Random) -> bytes:
    return b"\n".join(dumped(part, chance) for part in (value if format in LINES else [value]))


@pytest.mark.parametrize("kind", ["structure", "bytes"])
@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_formats(tmp_path: Path, name: str, kind: str) -> None:
    format = name.partition(" ")[0]
    good, spoiled = tmp_path / "good.json", tmp_path / "spoiled.json"
    whole = written(OTHERS[name], format, random.Random(0))
    good.write_bytes(whole)
    attempt(good, [good] if format in ONE_SIDED else [], random.Random(0))
    for number in range(TIMES_OTHER):
        chance = random.Random(f"{name} {kind} {number}")
        if kind == "structure":
            data = written(restructured(OTHERS[name], chance), format, chance)
        else:
            data = garbled(whole, chance)
        spoiled.write_bytes(data)
        sides = [(good, [spoiled]), (spoiled, [good])]
        if format not in ONE_SIDED:
            sides.append((spoiled, []))
        gold, preds = chance.choice(sides)
        formats = chance.choice(((None, None), (format, format)))
        attempt(gold, preds, chance, formats=formats, profile=chance.choice((None, "all", "trade", "mwzeval")))
