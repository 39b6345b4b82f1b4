"""`troth demo`: everything on the bundled files, from end to end."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import GOLD, HASTY, Troth
from tests.cli.test_bad_input import told, tree
from troth.demo import run as demo
from troth.storage import explorer
from troth.storage import runs as store

pytestmark = pytest.mark.slow

HEADS = ["State tracking", "Robustness", "Responses", "Grounding", "And beware"]
LEAN = {
    "trackers": 'pip install "troth[nli]"',
    "sgsacc": 'pip install "troth[nli]"',
    "nli": 'pip install "troth[nli]"',
    "u_f1": 'pip install "troth[text]"',
    "pmi_faith": 'pip install "troth[neural]" && troth models fetch',
}


@pytest.fixture
def lean(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with troth and nothing else."""
    monkeypatch.setattr(demo, "find_missing", lambda: LEAN)


def heads(lines: list[str]) -> list[str]:
    return [line.partition(":")[0] for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> demo.Demo:
    """With whatever is installed here; nothing may be fetched."""
    with pytest.MonkeyPatch.context() as patch:

        def refused(*_: Any) -> None:
            raise AssertionError("the demo asks the network for something")

        patch.setattr(socket.socket, "connect", refused)
        return demo.demo(str(tmp_path_factory.mktemp("demo") / "out"))


def test_four_questions_and_a_page(whole: demo.Demo) -> None:
    folder = Path(whole.folder)
    assert whole.page == (folder / "report.html").as_uri()
    assert sorted(item.name for item in folder.iterdir()) == sorted((*demo.MADE, *demo.RUNS))
    assert heads(whole.found) == HEADS
    for name in demo.RUNS:
        run = store.load(str(folder / name))
        assert run.scores
        archive = explorer.read(folder / name / explorer.NAME)
        assert archive.responses if name == "grounding" else archive.dialogues
    text = (folder / "report.html").read_text()
    assert demo.ABOUT_TRACKERS in text
    for question in ("track what the user wants", "user says it in other words", "schema is worded differently",
                     "what it was told to say", "true to its document"):  # fmt: skip
        assert question in text


def test_the_lines_tell_the_figures(whole: demo.Demo) -> None:
    results = whole.results
    tracking, robustness, responses, grounding, recipes = whole.found
    jga = {name: results.tracking.score("jga", system=f"{name}:trade").value or 0 for name in demo.TRACKERS}
    for share in jga.values():
        assert 0.05 < share < 1, "dialogues that the trackers can follow, and not all of them"
        assert f"{100 * share:.0f}%" in tracking
    plain, robust = demo.TRACKERS
    value = results.robust[0].score("jga").value or 0
    assert robustness.startswith(f"Robustness: {plain} has the whole state right in {100 * value:.0f}% of turns. ")
    assert re.search(
        rf"{robust} (has more whole states right than {plain}, by|is not shown to be better than {plain})", robustness
    )
    for stress in ("the dialogues as they are", "unknown names", "hesitations and slips", "paraphrases", "schemas in"):
        assert stress in robustness
    terse, fluent = (
        100 * (1 - (results.responses.score("sgsacc", "kind:boolean", name).value or 0)) for name in ("terse", "fluent")
    )
    assert f"SGSAcc finds {terse:.0f}% of terse's and {fluent:.0f}% of fluent's untrue" in responses
    assert terse < 10
    assert fluent >= 50
    assert "of terse's responses and in " in responses
    assert results.grounding is not None
    share = results.grounding.score("faithful:nli", system="chatty").value or 0
    assert f"{100 * share:.0f}% of chatty's answers supported" in grounding
    assert re.search(r"people 88% and 44%\. .*entailment 0\.9\d, shared words 0\.7\d", grounding)
    assert re.search(r"JGA \d\d\.\d by the recipe '[a-z-]+' and \d\d\.\d by '[a-z-]+'", recipes)


def test_pmi_faith_where_its_model_is(whole: demo.Demo) -> None:
    """Without it, one line says how to have it."""
    way = demo.find_missing().get("pmi_faith")
    if way is None:
        assert "PMI-Faith 0." in whole.found[3]
        assert whole.left_out == []
    else:
        assert "PMI-Faith" not in whole.found[3]
        assert whole.left_out == [f"left out: PMI-Faith; to get it: {way}"]


@pytest.mark.usefixtures("lean")
def test_lean(fine: Troth, tmp_path: Path) -> None:
    """Nothing fails and nothing is dropped in silence."""
    out = tmp_path / "out"
    result = fine("demo", "--out", str(out))
    *lines, page = result.out.splitlines()
    assert heads(lines) == HEADS
    assert page == (out / "report.html").as_uri()
    assert "needs an entailment model" in lines[2]
    assert "no metric for it is installed" in lines[3]
    notes = result.err.splitlines()
    assert notes[:6] == [f"{number}/6 {part}" for number, part in enumerate(demo.PARTS, 1)]
    assert re.search(
        r"\(a difference of \+[\d.]+ … \+[\d.]+ points\); counting a mistake only where it is made", lines[0]
    )
    assert notes[6:9] == [
        "left out: trackers that run (here, hasty and sturdy are made up, and their predictions follow from rules), "
        'SGSAcc and entailment; to get them: pip install "troth[nli]"',
        'left out: U-F1; to get it: pip install "troth[text]"',
        'left out: PMI-Faith; to get it: pip install "troth[neural]" && troth models fetch',
    ]
    assert not (out / "grounding").exists()
    (command,) = (line.removeprefix("try troth ") for line in notes if line.startswith("try troth "))
    assert "rule" in fine(*command.split()).out
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("lean")
def test_json_and_a_second_run(fine: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a demo wrote it replaces as a whole, and says the same again."""
    monkeypatch.chdir(tmp_path)
    first = fine("demo", "--json").json()
    assert first["page"] == (tmp_path / "troth-demo" / "report.html").as_uri()
    assert heads(first["found"]) == HEADS
    assert set(first["scores"]) == {"tracking", "robustness", "wording", "responses", "grounding"}
    (tmp_path / "troth-demo" / "report.html").write_text("older")
    again = fine("demo", "--json").json()
    assert {**again, "seconds": 0} == {**first, "seconds": 0}
    assert "older" not in (tmp_path / "troth-demo" / "report.html").read_text()[:100]
    assert [item.name for item in tmp_path.iterdir()] == ["troth-demo"]


@pytest.mark.usefixtures("lean")
@pytest.mark.parametrize(
    ("there", "what"),
    [
        ({"notes.txt": "mine"}, "exists and is not a demo of troth: it holds 'notes.txt'"),
        ({"report.html": "mine"}, "exists and is not a demo of troth: it holds 'report.html'"),
        ({"demo.json": "[]"}, "exists and is not a demo of troth: it holds 'demo.json'"),
        ({"demo.json": '{"kind": "troth demo"}', "my.txt": ""}, "exists and is not a demo of troth: it holds 'my.txt'"),
    ],
)
def test_what_is_not_ours_stays(troth: Troth, tmp_path: Path, there: dict[str, str], what: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name, text in there.items():
        (out / name).write_text(text)
    before = tree(tmp_path)
    told(troth("demo", "--out", str(out)), what)
    assert tree(tmp_path) == before


@pytest.mark.usefixtures("lean")
def test_a_file_and_a_link_stay(troth: Troth, tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("mine")
    link.symlink_to(tmp_path)
    told(troth("demo", "--out", str(file)), "exists and is a file (choose another name)")
    told(troth("demo", "--out", str(link)), "is a link (choose another name)")
    assert file.read_text() == "mine"


@pytest.mark.usefixtures("lean")
@pytest.mark.parametrize("out", [".", "", "../here", "{0}"])
@pytest.mark.parametrize("command", [("demo",), ("dst", GOLD, HASTY, "--metrics", "jga")])
def test_the_current_folder_stays(
    troth: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], out: str
) -> None:
    """A shell that stands in it would see an empty folder for ever."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    node = here.stat().st_ino
    told(troth(*command, "--out", out.format(here)), "is the current folder, which cannot be replaced")
    assert (here.stat().st_ino, list(here.iterdir()), list(tmp_path.iterdir())) == (node, [], [here])


@pytest.mark.usefixtures("lean")
def test_nor_is_what_it_lies_in_replaced(troth: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    (out / "perturbed").mkdir(parents=True)
    (out / "demo.json").write_text('{"kind": "troth demo"}')
    monkeypatch.chdir(out / "perturbed")
    told(troth("demo", "--out", ".."), "..: holds the current folder, which cannot be replaced (name a new folder)")
    assert (out / "demo.json").is_file()


@pytest.mark.usefixtures("lean")
def test_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("on the way")

    monkeypatch.setattr(demo._Work, "grounding", broken)
    with pytest.raises(RuntimeError, match="on the way"):
        demo.demo(str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("lean")
def test_open(fine: Troth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    made = demo.Demo("out", "file:///page.html", [], [], "", None)  # type: ignore[arg-type]
    monkeypatch.setattr(demo, "demo", lambda *_, **__: made)
    fine("demo", "--out", str(tmp_path / "out"), "--open")
    assert opened == ["file:///page.html"]


@pytest.mark.parametrize(
    ("installed", "fetched", "expected"),
    [
        ({"onnxruntime", "tokenizers", "spacy", "torch", "transformers"}, True, {}),
        ({"onnxruntime", "tokenizers", "spacy", "torch", "transformers"}, False, {"pmi_faith": "troth models fetch"}),
        ({"onnxruntime", "tokenizers"}, True, {name: LEAN[name] for name in ("u_f1", "pmi_faith")}),
        (set(), False, LEAN),
    ],
)
def test_what_is_lacking(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], fetched: bool, expected: dict[str, str]
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: sys if name in installed else None)
    listed = [SimpleNamespace(name=demo.LM, here=fetched)]
    monkeypatch.setattr("troth.models.catalog.all_models", lambda: listed)
    assert demo.find_missing() == expected


def test_the_mark(whole: demo.Demo) -> None:
    mark = json.loads((Path(whole.folder) / "demo.json").read_text())
    assert mark["kind"] == "troth demo"
    assert mark["found"] == whole.found
