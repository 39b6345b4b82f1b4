"""Small files of every format, and a way to read bytes as if they lay on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.records import Dialogue, Pair

Read = Callable[..., list[Any]]

_SGD = [
    {
        "dialogue_id": "1_00000",
        "services": ["Hotels_1"],
        "turns": [
            {
                "speaker": "USER",
                "utterance": "A room in Leeds, please.",
                "frames": [
                    {
                        "service": "Hotels_1",
                        "slots": [{"slot": "city", "start": 10, "exclusive_end": 15}],
                        "state": {
                            "active_intent": "Search",
                            "requested_slots": [],
                            "slot_values": {"city": ["Leeds", "leeds"]},
                        },
                    }
                ],
            },
            {"speaker": "SYSTEM", "utterance": "For how many nights?", "frames": [{"service": "Hotels_1"}]},
        ],
    }
]
_MULTIWOZ = {
    "MUL0001.json": {
        "goal": {},
        "log": [
            {"text": "Somewhere cheap to sleep.", "metadata": {}},
            {
                "text": "In which part?",
                "metadata": {
                    "hotel": {
                        "semi": {"priceRange": "cheap", "area": "not mentioned", "name": ""},
                        "book": {"booked": [{"name": "x"}], "people": "", "stay": "none"},
                    },
                    "taxi": {"semi": {"leaveAt": ""}, "book": {"booked": []}},
                },
            },
            {"text": "North or east. We are two.", "metadata": {}},
            {
                "text": "Booked.",
                "metadata": {
                    "hotel": {
                        "semi": {"priceRange": "cheap", "area": "north|east", "name": "dontcare"},
                        "book": {"booked": [], "people": "2", "stay": "none"},
                    }
                },
            },
        ],
    }
}
_TRADE = {
    "MUL0001.json": {
        "0": {"gt": {"hotel": {"area": "north", "stars": "none"}}, "pr": {"hotel": {"area": "east"}}},
        "1": {"gt": {"hotel": {"area": "north"}}, "pr": {}},
    }
}
_TRADE_LISTS = {
    "MUL0001.json": {
        "0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["hotel-area-east", "hotel-name-a-b"]},
        "1": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": []},
    }
}
_TRIPPY = {"MUL0001.json": {"0": [1, 0, 1], "1": [1, 1, 1]}}
_TRIPPY_PRED = [
    {
        "guid": ["test", "MUL0001.json", str(turn)],
        "slot_prediction_hotel-area": ["none", "north"][turn],
        "slot_groundtruth_hotel-area": "north",
        "input_ids_hotel-area": [1, 2],
    }
    for turn in range(2)
]
_HI_DST = {
    "MUL0001.json": {
        "0": {
            "a_sys": " ",
            "a_usr": "a room in the north",
            "gt": {"hotel-area": "north"},
            "gt_turn": {"hotel-area": "north"},
            "pr": {"hotel-area": "east"},
            "pr_turn": {"hotel-area": "east"},
            "slots": {"hotel-area": [2, ["0.1", "0.9"]]},
        },
        "1": {
            "a_sys": "how many nights ?",
            "a_usr": "three , and cheap",
            "gt": {"hotel-area": "north", "hotel-stay": "3", "hotel-price": "cheap"},
            "gt_turn": {"hotel-stay": "3", "hotel-price": "cheap"},
            "pr": {"hotel-area": "east", "hotel-stay": "3"},
            "pr_turn": {"hotel-stay": "3"},
        },
    }
}
_MWZEVAL = {
    "mul0001": [
        {"state": {"hotel": {"area": "north"}}, "response": "how many nights ?"},
        {"state": {"hotel": {"area": "north", "stay": "3"}}, "response": "booked ."},
    ]
}
_CHECKDST = [
    {
        "context": "<user> a room in the north",
        "dial_id": "mul0001-0",
        "aug_type": "orig",
        "gold": "hotel area north,",
        "pred": "hotel area east,",
        "requires_coref": False,
    },
    {
        "context": "<user> a room in the north <system> how many nights ? <user> three",
        "dial_id": "mul0001-1",
        "aug_type": "orig",
        "gold": "hotel area north, hotel book stay 3",
        "pred": "",
        "requires_coref": "",
    },
]
_PARLAI = [
    {
        "dialog": [
            [
                {
                    "id": "task",
                    "text": "<user> a room in the north",
                    "dial_id": "mul0001.json",
                    "turn_num": 0,
                    "eval_labels": ["hotel area north,"],
                },
                {"id": "model", "text": "hotel area east,", "metrics": {"jga": 0.0}},
            ]
        ]
    }
]
_JSONL = [
    {
        "dialogue": "d1",
        "turn": 0,
        "user": "A room in Leeds.",
        "state": {"Hotels_1": {"city": ["Leeds", "leeds"]}},
        "intent": {"Hotels_1": "Search"},
        "requested": {"Hotels_1": ["price"]},
    },
    {"dialogue": "d1", "turn": 1, "system": "When?", "user": "Today.", "state": {"Hotels_1": {"city": "Leeds"}}},
]


def _lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


SAMPLES: dict[str, bytes] = {
    "sgd": json.dumps(_SGD, indent=2).encode(),
    "multiwoz": json.dumps(_MULTIWOZ, indent=1).encode(),
    "trade": json.dumps(_TRADE).encode(),
    "trade lists": json.dumps(_TRADE_LISTS, indent=4).encode(),
    "hi-dst": json.dumps(_HI_DST, indent=4, sort_keys=True).encode(),
    "trippy": json.dumps(_TRIPPY, indent=4).encode(),
    "trippy-pred": json.dumps(_TRIPPY_PRED).encode(),
    "mwzeval": json.dumps(_MWZEVAL).encode(),
    "checkdst": _lines(_CHECKDST),
    "parlai": _lines(_PARLAI),
    "jsonl": _lines(_JSONL),
    "jsonl pairs": _lines([row | {"pred": {}} for row in _JSONL]),
}


@pytest.fixture(params=sorted(SAMPLES))
def sample(request: pytest.FixtureRequest) -> tuple[str, bytes]:
    """A format's name and a small file of it, for every format in turn."""
    return request.param.partition(" ")[0], SAMPLES[request.param]


@pytest.fixture(scope="session")
def samples() -> dict[str, bytes]:
    return SAMPLES


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read bytes, text or a JSON value through a file called `f.json`."""

    def call(data: object, format: str | None = None) -> list[Dialogue | Pair]:
        path = tmp_path / "f.json"
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            path.write_text(data if isinstance(data, str) else json.dumps(data))
        return list(readers.read(str(path), format))

    return call
