"""The recipes do what they say, command by command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Troth
from tests.examples import DOCS, blocks, follow, run
from troth import demo


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "compared"), [
    ("recipes/compare.md", 2), ("recipes/gate.md", 3), ("recipes/agent-gate.md", 1), ("recipes/agent-claims.md", 1),
])  # fmt: skip
def test_recipe(page: str, compared: int, troth: Troth) -> None:
    assert follow(page, troth) == compared


def test_the_recipe_for_ci(troth: Troth, elsewhere: Path) -> None:
    (limits,) = blocks("recipes/agent-ci.md", "toml")
    (elsewhere / "troth.toml").write_text(limits.text, encoding="utf-8")
    assert follow("recipes/agent-ci.md", troth) == 1
    shown = blocks("recipes/agent-ci.md", "text")[1].text.splitlines()
    result = troth("gate", "runs/released", "runs/new")
    assert result.code == 1
    assert set(shown) <= set(result.err.splitlines())
    (code,) = blocks("recipes/agent-ci.md", "python")
    exec(code.text, {})  # noqa: S102 (our own page)
    assert len((elsewhere / "history.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert "Metrics, run by run" in (elsewhere / "report.html").read_text(encoding="utf-8")


def test_the_workflow_does_what_its_page_says(elsewhere: Path) -> None:
    """Every command of the workflow, but for the installation and the comment, as the shell of the job runs it."""
    text = (DOCS / "recipes/agent-gate.yml").read_text(encoding="utf-8")
    (limits,) = blocks("recipes/agent-ci.md", "toml")
    (elsewhere / "troth.toml").write_text(limits.text, encoding="utf-8")
    (elsewhere / "evaluation").mkdir()
    shutil.copy(demo.path("agents/sturdy.jsonl"), elsewhere / "evaluation/released.jsonl")
    shutil.copy(demo.path("agents/tools.json"), elsewhere / "evaluation/tools.json")
    hasty = demo.path("agents/hasty.jsonl")
    (elsewhere / "run_assistant.py").write_text(f"import shutil, sys\nshutil.copy({hasty!r}, sys.argv[-1])\n")
    (elsewhere / "bin").mkdir()
    for name, module in (("troth", "-m troth"), ("python", "")):
        (elsewhere / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        (elsewhere / "bin" / name).chmod(0o755)
    declared = dict(re.findall(r"^  (\w+): (\S+)", text.partition("\nenv:\n")[2].partition("\njobs:")[0], re.MULTILINE))
    path = f"{elsewhere}/bin:{os.environ['PATH']}"
    source = str(Path(demo.__file__).parents[2])
    env = {
        **os.environ,
        **declared,
        "PATH": path,
        "PYTHONPATH": source,
        "GITHUB_SHA": "1a2b3c",
        "GITHUB_STEP_SUMMARY": "job.md",
    }
    steps = re.findall(
        r"- name: (.*)\n(?:        (?:if|uses|with|env|continue).*\n)*        run: (?:\|\n((?: {10}.*\n)+)|(.*)\n)",
        text,
    )
    codes = {}
    for name, block, line in steps:
        if name not in ("Install", "Comment"):
            done = subprocess.run(["bash", "-e", "-c", block or line], env=env, capture_output=True, check=False)
            codes[name] = done.returncode
    assert codes == {"Run the assistant": 0, "Score": 0, "Gate": 1, "Report": 0}
    assert "**failed**: pass^1" in (elsewhere / "job.md").read_text(encoding="utf-8")
    assert {"report.html", "findings.jsonl", "history.jsonl"} <= {file.name for file in elsewhere.iterdir()}


def test_the_findings_of_a_recipe_are_found(troth: Troth) -> None:
    command, found = blocks("recipes/agent-claims.md", "sh")[0], blocks("recipes/agent-claims.md", "text")[1]
    (result,) = run(troth, command.text)
    assert set(found.text.splitlines()) <= set(result.err.splitlines())


def test_tools(troth: Troth, elsewhere: Path) -> None:
    for block in blocks("recipes/tools.md", "json"):
        (elsewhere / re.findall(r"`(\w+\.jsonl?)`", block.before)[-1]).write_text(block.text, encoding="utf-8")
    gold = (elsewhere / "gold.jsonl").read_text(encoding="utf-8")
    (elsewhere / "orig.jsonl").write_text(gold, encoding="utf-8")
    for old, new in (("stars", "category"), ("origin", "from_city"), ("destination", "to_city")):
        gold = gold.replace(f'"{old}"', f'"{new}"')
    (elsewhere / "v1.jsonl").write_text(gold, encoding="utf-8")
    assert follow("recipes/tools.md", troth) == 2
    wordings = json.loads((elsewhere / "wordings.json").read_text(encoding="utf-8"))
    for variant in ("v1", "v2"):
        tools = json.loads((elsewhere / f"variants/{variant}/tools.json").read_text(encoding="utf-8"))
        for tool in (one["function"] for one in tools):
            written = next(own for own in wordings.values() if tool["description"] in own["descriptions"])
            for name, argument in tool["parameters"]["properties"].items():
                pairs = [
                    pair
                    for slot in written["slots"].values()
                    for pair in zip(slot["names"], slot["descriptions"], strict=True)
                ]
                if any(name == other for other, _ in pairs):
                    assert (name, argument["description"]) in pairs, "a name keeps its description"


def test_a_tool_has_other_names_and_descriptions(troth: Troth, elsewhere: Path) -> None:
    for block in blocks("recipes/tools.md", "json")[:1]:
        (elsewhere / "tools.json").write_text(block.text, encoding="utf-8")
    said = {"find_hotel": {"names": ["search_lodging", "get_room"], "descriptions": ["Search lodging", "Get a room"]}}
    (elsewhere / "wordings.json").write_text(json.dumps(said), encoding="utf-8")
    made = troth("perturb", "schema", "tools.json", "variants", "--paraphrases", "wordings.json", "--count", "2")
    assert made.code == 0, made.err
    pairs = set()
    for variant in ("v1", "v2"):
        first = json.loads((elsewhere / f"variants/{variant}/tools.json").read_text(encoding="utf-8"))[0]["function"]
        pairs.add((first["name"], first["description"]))
    assert pairs == {("search_lodging", "Search lodging"), ("get_room", "Get a room")}


def test_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = [block.text for block in blocks("recipes/reproduce.md")[:2]]
    exec(code, {})  # noqa: S102 (our own page)
    numbers = re.compile(r"\d+\.\d+")  # how a frame is drawn is not ours to say
    assert numbers.findall(capsys.readouterr().out) == numbers.findall(printed)
    assert "46.448978" in printed
