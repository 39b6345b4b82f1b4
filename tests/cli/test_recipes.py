"""The recipes do what they say, command by command."""

from __future__ import annotations

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


def test_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    code, printed = [block.text for block in blocks("recipes/reproduce.md")[:2]]
    exec(code, {})  # noqa: S102 (our own page)
    numbers = re.compile(r"\d+\.\d+")  # how a frame is drawn is not ours to say
    assert numbers.findall(capsys.readouterr().out) == numbers.findall(printed)
    assert "46.448978" in printed
