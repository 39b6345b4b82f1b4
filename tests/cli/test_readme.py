"""The commands of the README do what they say, with bundled files in place of GOLD, PRED and the like."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import GOLD, Troth
from troth import demo

README = Path(__file__).parents[2] / "README.md"
FILES = {
    "GOLD": GOLD,
    "PRED": demo.path("hasty"),
    "PRED1": demo.path("hasty"),
    "PRED2": demo.path("sturdy"),
    "PRED_LOUD": demo.path("twins/hasty-SDI.jsonl"),
    "ANSWERS": demo.path("documents/chatty.jsonl"),
    "LABELLED": demo.path("documents/judged.jsonl"),
    "LOGS": demo.path("agents/hasty.jsonl"),
    "TOOLS": demo.path("agents/tools.json"),
    "RESPONSES": demo.path("responses/terse.jsonl"),
    **{f"P{number}": f"reworded/v{number}" for number in (1, 2, 3)},  # gold under each variant: all right
}


def commands() -> list[str]:
    lines = re.findall(r"^    troth (.+)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    elsewhere = ("demo", "agent run")  # tests/cli/test_demo.py, tests/cli/test_agent_run.py
    return [line for line in lines if not line.startswith(elsewhere)]


def test_all_commands(troth: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for run, assistant in (("old", "sturdy"), ("new", "hasty")):
        assert troth("agent", "score", demo.path(f"agents/{assistant}.jsonl"), "--out", run).code == 0
    nbest = {"dialogue": "demo_01", "turn": 1, "candidates": [{"text": "Two."}, {"text": "Alder Court has 4 stars."}]}
    (tmp_path / "nbest.jsonl").write_text(json.dumps(nbest), encoding="utf-8")
    (tmp_path / "tools.json").write_text((Path(GOLD) / "schema.json").read_text(encoding="utf-8"), encoding="utf-8")
    files = {**FILES, "NBEST": "nbest.jsonl"}
    for line in commands():
        named = re.sub(r"\b[A-Z]+[A-Z_]*\d?\b", lambda name: files.get(name[0], name[0]), line)
        words = shlex.split(named, comments=True)
        if words[:3] == ["perturb", "schema", "tools.json"]:
            words[2] = GOLD  # so that there are predictions for each variant
        if {"ground", "nlg", "fit", "generate"} & set(words[:2]):
            words += ["--nli", "fake", *(["--lm", "fake"] if words[0] == "ground" else [])]  # others take seconds
        result = troth(*words)
        assert result.code == (1 if words[0] == "gate" else 0), (line, result.err)
        assert result.out or result.err, line
    assert len(commands()) >= 15


def test_it_stays_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120
