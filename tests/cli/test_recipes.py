"""The recipes do what they say, command by command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Troth
from tests.examples import blocks, follow, run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "compared"), [
    ("recipes/compare.md", 2), ("recipes/gate.md", 3), ("recipes/agent-gate.md", 1), ("recipes/agent-claims.md", 1),
])  # fmt: skip
def test_recipe(page: str, compared: int, troth: Troth) -> None:
    assert follow(page, troth) == compared


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
