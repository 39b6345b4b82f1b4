"""An assistant's tools are schemas: variants of them, predictions under the variants, and how much these waver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Troth

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "book_table",
            "description": "Book a table at a restaurant",
            "parameters": {
                "type": "object",
                "properties": {
                    "restaurant": {"type": "string", "description": "Name of the restaurant"},
                    "party_size": {"type": "integer", "description": "How many people"},
                    "area": {"type": "string", "enum": ["north", "south"], "description": "Part of town"},
                },
                "required": ["restaurant"],
            },
        },
    }
]
GOLD: list[dict[str, Any]] = [
    {"dialogue": "d1", "turn": 0, "user": "a table at Luna", "state": {"book_table": {"restaurant": "Luna"}}},
    {"dialogue": "d1", "turn": 1, "user": "4", "state": {"book_table": {"restaurant": "Luna", "party_size": "4"}}},
    {"dialogue": "d2", "turn": 0, "user": "up north", "state": {"book_table": {"area": "north"}}},
]


def lines(rows: list[dict[str, Any]]) -> str:
    return "\n".join(map(json.dumps, rows))


def test_which_tool_descriptions_are_fragile(fine: Troth, tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    (tmp_path / "gold.jsonl").write_text(lines(GOLD))
    made = ("--make", "corrupt", "--count", "2", "--seed", "3", "--rate", "0.9")
    fine("perturb", "schema", str(tmp_path / "tools.json"), str(tmp_path / "out"), *made)
    for number in (1, 2):
        names = json.loads((tmp_path / f"out/v{number}/names.json").read_text())
        ((function, known),) = names.items()
        new = {old: name for name, old in known["arguments"].items()}
        rows = [
            {**row, "state": {function: {new[slot]: value for slot, value in row["state"]["book_table"].items()}}}
            for row in GOLD
        ]
        if number == 2:  # under the second wording the last turn of d1 goes wrong
            rows[1]["state"][function][new["party_size"]] = "5"
        (tmp_path / f"v{number}.jsonl").write_text(lines(rows))
    result = fine(
        "robust", "sgdx", str(tmp_path / "gold.jsonl"), *(f"v{n}={tmp_path}/v{n}.jsonl" for n in (1, 2)),
        "--schema", str(tmp_path / "tools.json"), "--from", str(tmp_path / "out"), "--profile", "sgd-exact", "--json",
    )  # fmt: skip
    found = {(score["metric"], score["group"]): score["value"] for score in result.json()}
    assert found["jga:v1", "all"] == 1.0
    assert found["jga:v2", "all"] == 2 / 3
    assert abs(found["ss_jga", "service:book_table"] - 2**0.5 / 3) < 1e-12
