"""The recipes and the examples of docs/extending.md do what they say, command by command."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import GOLD, Result, Troth
from troth import demo
from troth.grounding.metrics import METRICS
from troth.perturb import FAMILIES
from troth.readers import FORMATS

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str
    before: str  # what is said between the block before and this one


def blocks(page: str) -> list[Block]:
    text, at, found = (DOCS / page).read_text(encoding="utf-8"), 0, []
    for block in BLOCK.finditer(text):
        found.append(Block(block[1], block[2], text[at : block.start()].strip()))
        at = block.end()
    return found


def run(troth: Troth, script: str) -> Iterator[Result]:
    """The lines of a shell block that call troth and no other program."""
    for line in script.splitlines():
        words = shlex.split(line.replace("$DEMO", demo.path("")), comments=True)
        if words[:1] == ["troth"] and "|" not in words:
            yield troth(*words[1:])


def follow(page: str, troth: Troth) -> int:
    """Run every command of a page; where its output follows at once, it is this. How many were compared."""
    compared = 0
    found = blocks(page)
    for block, after in zip(found, [*found[1:], Block("", "", "")], strict=True):
        if block.language != "sh":
            continue
        results = list(run(troth, block.text))
        assert all(result.code in (0, 1) for result in results), results
        if after.language == "text" and not after.before and results:
            assert results[-1].out.rstrip() == after.text.rstrip(), block.text
            compared += 1
    return compared


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "compared"), [("recipes/compare.md", 2), ("recipes/gate.md", 3)])
def test_recipe(page: str, compared: int, troth: Troth) -> None:
    assert follow(page, troth) == compared


def test_tools(troth: Troth, elsewhere: Path) -> None:
    for block in blocks("recipes/tools.md"):
        if block.language == "json":
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


# -- docs/extending.md -------------------------------------------------------------------------------------------------


@pytest.fixture
def package(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of the page, as if it were installed."""
    (elsewhere / "my_package").mkdir()
    groups = ""
    for block in blocks("extending.md"):
        if block.language == "toml":
            groups = block.text[block.text.index("[project.entry-points") :]
        elif block.language == "python":
            name = next(iter(re.findall(r"`((?:my_package/)?\w+\.py)`", block.before)))
            (elsewhere / name).write_text(block.text, encoding="utf-8")
    info = elsewhere / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n", encoding="utf-8")
    entries = groups.replace('project.entry-points."', "").replace('"', "")
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    monkeypatch.syspath_prepend(elsewhere)
    importlib.invalidate_caches()
    for registry in (METRICS, FORMATS, FAMILIES):
        monkeypatch.setattr(registry, "_plugins", None)
    yield elsewhere
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_package"]:
        del sys.modules[name]


ANSWERS = """\
{"id": "a1", "document": "It costs 4.90 euros.", "response": "It is 4.90 or 5 euros."}
{"id": "a2", "document": "It is free.", "response": "It is free."}
"""


def test_a_metric_of_ones_own(package: Path, fine: Troth) -> None:
    (package / "answers.jsonl").write_text(ANSWERS, encoding="utf-8")
    result = fine("ground", "answers.jsonl", "--metrics", "numbers", "--json")
    (score,) = [score for score in result.json() if score["metric"] == "numbers"]
    assert (score["value"], score["n"]) == (0.5, 1)
    assert score["signature"].startswith("NUMBERS|digits:verbatim")


def test_a_reader_of_ones_own(package: Path, fine: Troth, troth: Troth) -> None:
    (gold,) = [block.text for block in blocks("extending.md") if block.language == "text"]
    (package / "gold.calls").write_text(gold, encoding="utf-8")
    (package / "pred.calls").write_text(gold.replace("stars=4", "stars=3"), encoding="utf-8")
    scores = fine("dst", "gold.calls", "pred.calls", "--metrics", "jga,aga", "--json").json()
    assert {score["metric"]: score["value"] for score in scores} == {"jga": 0.5, "aga": 0.75}
    (package / "bad.calls").write_text("c1;0;find\nc1;one;find\n", encoding="utf-8")
    wrong = troth("dst", "gold.calls", "bad.calls")
    assert wrong.code == 2
    assert "bad.calls: line 2 is not" in wrong.err


@pytest.mark.usefixtures("package")
def test_a_perturbation_of_ones_own(fine: Troth) -> None:
    fine("perturb", "dialogue", GOLD, "loud", "--with", "shouting", "--set", "shouting.marks=2")
    assert Path("loud/dialogues_001.json").read_text(encoding="utf-8").count("!!") > 20
    assert fine("check", "loud").code == 0


def test_the_other_examples(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (package / "answers.jsonl").write_text(ANSWERS, encoding="utf-8")
    for name in ("backend.py", "whole.py"):
        exec((package / name).read_text(encoding="utf-8"), {})  # noqa: S102 (our own page)
    out = capsys.readouterr().out
    assert "NLI|nli:lexical@1|" in out
    assert "p_randomization" in out


def test_what_is_listed(package: Path, fine: Troth) -> None:
    assert (package / "my_package/numbers.py").is_file()
    listed = fine("ls").out
    for name in ("numbers", "calls", "shouting"):
        assert re.search(rf"^{name}\b", listed, re.MULTILINE), name
