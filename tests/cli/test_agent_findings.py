"""`troth agent score --findings` and `--json`: every finding, once by file and once by score."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Troth
from troth import demo


def test_findings_by_file_and_by_score(tmp_path: Path, fine: Troth) -> None:
    out = tmp_path / "findings.jsonl"
    log, tools = demo.path("agents/hasty.jsonl"), demo.path("agents/tools.json")
    scores = json.loads(fine("agent", "score", log, "--tools", tools, "--findings", str(out), "--json").out)
    written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert {finding["kind"] for finding in written} >= {"claim", "number", "value", "missing call"}
    (claims,) = [score["findings"] for score in scores if score["metric"] == "claims_without_calls"]
    assert claims == [finding for finding in written if finding["kind"] == "claim"]
    assert {"conversation", "message", "start", "end", "reason"} <= claims[0].keys()


def test_a_findings_file_is_not_overwritten(tmp_path: Path, troth: Troth) -> None:
    (tmp_path / "old.jsonl").write_text("mine")
    run = troth("agent", "score", demo.path("agents/hasty.jsonl"), "--findings", str(tmp_path / "old.jsonl"))
    assert run.code == 2
    assert (tmp_path / "old.jsonl").read_text() == "mine"
