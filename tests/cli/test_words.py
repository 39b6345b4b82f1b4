"""Responses word by word: `troth ground --explain` and `--words`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Troth
from tests.grounding.test_words import RETURNS, WRONG, unsupported
from troth.cli import words
from troth.grounding.words import Word, WordByWord, least_supported, word_by_word
from troth.models.fake import FakeLm
from troth.report.page.grounding import mark_unsupported
from troth.storage.explorer import ResponseView

GROUNDS = "Crayola makes chalk in Easton."
ROWS = [
    {"id": "a\x1b[31m", "document": GROUNDS, "history": ["What?"], "response": "They make chalk \x1b[2J and cars"},
    {"id": "b", "document": GROUNDS, "history": ["Where?"], "response": "in Easton"},
    {"id": "c", "document": " ", "history": [], "response": "yes"},
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "said.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(file)


def test_shown_with_marks_in_a_pipe(troth: Troth, data: str) -> None:
    made = troth("ground", data, "--metrics", "pmi_faith", "--lm", "fake", "--explain", "2")
    assert made.code == 0
    assert made.out.splitlines()[-5:] == [
        "a\\x1b[31m: pmi_faith 0.329",
        "  +They+ +make+ +chalk+ -\\x1b[2J- -and- -cars-",
        "",
        "b: pmi_faith 1.535",
        "  +in+ +Easton+",
    ]
    assert words.LEGEND in made.err


def test_json_stays_json(troth: Troth, data: str) -> None:
    made = troth("ground", data, "--metrics", "pmi_faith", "--lm", "fake", "--explain", "2", "--json")
    assert made.code == 0
    assert made.json()["explained"] == [], "PMI-Faith has words, which --words writes"
    assert {score["metric"] for score in made.json()["scores"]} == {"pmi_faith"}


def test_written_with_scores(troth: Troth, data: str, tmp_path: Path) -> None:
    out = tmp_path / "words.jsonl"
    assert troth("ground", data, "--metrics", "pmi_faith", "--lm", "fake", "--words", str(out)).code == 0
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [word["text"] for word in found[0]["words"]] == ROWS[0]["response"].split()  # type: ignore[attr-defined]
    assert found[1]["words"][1]["support"] == "supported"
    assert found[1]["words"][1]["ratio"] > 2
    reason = "no document, or no response"
    assert found[2] == {"system": "said", "id": "c", "value": None, "words": [], "reason": reason, "by": "pmi_faith"}
    again = troth("ground", data, "--metrics", "pmi_faith", "--lm", "fake", "--words", str(out))
    assert (again.code, "exists already" in again.err) == (2, True)


def test_colours_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    row = WordByWord("s", "a[red]", 0.5, (Word("[bold]", "supported", 0.0), Word("x\x1b[2J", "unsupported", 1.0)))
    words.draw([row])
    shown = capsys.readouterr().out
    assert "a[red]: pmi_faith 0.500" in shown
    assert "\x1b[32m[bold]\x1b[0m" in shown
    assert "\x1b[1;31mx\\x1b[2J\x1b[0m" in shown


def test_the_least_supported_come_first() -> None:
    rows = [
        WordByWord("s", "a", 1.0, ()),
        WordByWord("s", "b", None, (), "no"),
        WordByWord("s", "c", -1.0, ()),
        WordByWord("s", "d", 0.0, ()),
    ]
    assert [row.id for row in least_supported(rows, 2)] == ["c", "d"]


def test_in_the_order_of_the_items() -> None:
    texts = [("a", "1", "d", " "), ("a", "2", "a d", "a d"), ("b", "3", "", "x"), ("b", "4", "d", "d")]
    found = word_by_word([ResponseView(*text) for text in texts], FakeLm())
    assert [(row.system, row.id, len(row.words)) for row in found] == [
        ("a", "1", 0), ("a", "2", 2), ("b", "3", 0), ("b", "4", 1),
    ]  # fmt: skip


def test_several_systems_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    words.draw([WordByWord("old", "7", 0.5, ()), WordByWord("new", "7", 0.25, ())])
    assert "old 7: pmi_faith 0.500" in capsys.readouterr().out


def test_the_command_the_report_and_the_model_show_the_same(troth: Troth, tmp_path: Path) -> None:
    data, files = tmp_path / "said.jsonl", [tmp_path / "rules.jsonl", tmp_path / "model.jsonl"]
    data.write_text(json.dumps({"id": "a", "document": RETURNS, "response": WRONG}) + "\n")
    assert troth("ground", str(data), "--metrics", "coverage", "--words", str(files[0])).code == 0
    assert troth("ground", str(data), "--metrics", "pmi_faith", "--lm", "fake", "--words", str(files[1])).code == 0
    expected = unsupported(RETURNS, WRONG)
    for file in files:
        words = json.loads(file.read_text())["words"]
        assert [word["text"] for word in words if word["support"] == "unsupported"] == expected
    explained = troth("ground", str(data), "--metrics", "faith", "--nli", "fake", "--no-cache", "--explain", "1")
    assert f"words that the document does not support: {' '.join(expected)}" in explained.out
    view = ResponseView("s", "a", RETURNS, WRONG)
    assert [piece.text for piece in mark_unsupported(view) if piece.mark] == expected
