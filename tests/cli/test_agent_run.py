"""`troth agent run` as a shell calls it: from reworded tools to scores, with trouble on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import server as servers
from tests.agents.server import PolicyServer
from tests.cli.conftest import Troth
from troth.models import client


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PolicyServer]:
    monkeypatch.setattr(client, "PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.chdir(tmp_path)
    Path("tasks.json").write_text(json.dumps(servers.tasks(10)))
    Path("tools.json").write_text(json.dumps(servers.TOOLS))
    argument = {"names": ["key"], "descriptions": ["what is meant"]}
    function = {"descriptions": ["cancels a purchase"]}
    said = {"cancel_order": {"intents": {"cancel_order": function}, "slots": {"id": argument}}}
    Path("said.json").write_text(json.dumps(said))
    with servers.running() as state:
        yield state


def test_perturb_run_score(fine: Troth, server: PolicyServer) -> None:
    server.trouble = lambda body, times: ("429", "500", "broken")[len(str(body)) % 3] if times == 0 else None
    fine("perturb", "schema", "tools.json", "words", "--paraphrases", "said.json", "--count", "1")
    options = ("--tools", "tools.json", "--variants", "v1", "--from", "words", "--users", "disfluency")
    result = fine("agent", "run", f"endpoint:{server.url}#m", "tasks.json", *options)
    tables = [block.splitlines() for block in result.out.split("\n\n")]
    assert tables[0][0].split() == ["metric", "original", "v1", "disfluency"]
    assert tables[1][0].startswith("fragile tool"), "the assistant does not know what the argument means"
    assert tables[1][1].split()[:4] == ["cancel_order", "call_recall", "tools", "10"]
    assert tables[1][1].endswith("yes"), "beyond noise"
    assert tables[2][0].startswith("lost argument")
    assert tables[2][1].split()[:4] == ["cancel_order.id", "tools", "10", "100.00"]
    assert tables[2][1].split()[-3:] == ["10", "0", "yes"], "absent, wrong, beyond noise"
    assert "written: agent-run/result/run.json" in result.err
    scored = fine("agent", "score", "agent-run/original", "agent-run/v1", "--metrics", "call_recall", "--json").json()
    assert [(one["system"], one["value"]) for one in scored] == [("original", 1.0), ("v1", 0.5)]


def test_a_better_name_is_proposed(fine: Troth, server: PolicyServer) -> None:
    tools: list[Any] = json.loads(json.dumps(servers.TOOLS))
    tools[0]["function"]["parameters"]["properties"]["id"]["description"] = "unclear"
    Path("tools.json").write_text(json.dumps(tools))
    argument = {"names": ["order number"], "descriptions": ["the number of the order"]}
    Path("said.json").write_text(json.dumps({"cancel_order": {"slots": {"id": argument}}}))
    fine("perturb", "schema", "tools.json", "words", "--paraphrases", "said.json", "--count", "1")
    options = ("--tools", "tools.json", "--variants", "v1", "--from", "words")
    result = fine("agent", "run", f"endpoint:{server.url}#m", "tasks.json", *options)
    last = result.out.split("\n\n")[-1].splitlines()
    assert last[0].split()[:3] == ["rename", "to", "variant"]
    assert last[1].split()[:7] == ["cancel_order.id", "order_number", "v1", "argument_recall", "10", "0.00", "100.00"]
    (found,) = [
        one
        for one in fine("agent", "run", f"endpoint:{server.url}#m", "tasks.json", *options, "--json").json()["findings"]
        if one.get("name") == "order_number"
    ]
    assert found["difference"] == 1.0
    assert found["p"] < 0.05


def test_errors_are_one_line(troth: Troth, server: PolicyServer) -> None:
    run = ("agent", "run", f"endpoint:{server.url}#m", "tasks.json", "--tools", "tools.json")
    for more, message in (
        (("--variants", "v1"), "there is no rewording 'v1' of the tools"),
        (("--users", "disfluncy"), "disfluncy"),
        (("--budget", "lots"), "'lots' is not a valid budget"),
    ):
        result = troth(*run, *more)
        assert result.code == 2
        assert message in result.err
        assert result.err.count("\n") == 1
        assert not Path("agent-run/result").exists()


def test_hostile_text_stays_text(fine: Troth, server: PolicyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    tools: list[Any] = json.loads(json.dumps(servers.TOOLS))
    tools[0]["function"]["name"] = "cancel\x1b[31m"
    Path("tools.json").write_text(json.dumps(tools))
    tasks = servers.tasks(1)
    tasks[0]["expected"][1]["name"] = "find\x1b[31m<script>"
    Path("tasks.json").write_text(json.dumps(tasks))
    result = fine("agent", "run", f"endpoint:{server.url}#m", "tasks.json", "--tools", "tools.json")
    assert "\x1b" not in result.out + result.err
