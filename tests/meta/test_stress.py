"""The stress test of groundedness: pairs, measures, the corrupted set, and a checker behind an address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import troth
from troth.cli import app
from troth.core.errors import UserError
from troth.grounding.score import load

DOCUMENT = "The premium plan has 50 seats and opened in 2016. The free plan has 5 seats and opened in 2011."
ANSWERS: list[dict[str, Any]] = [
    {"id": "a", "document": DOCUMENT, "response": "The free plan has 5 seats.", "label": 1},
    {"id": "b", "document": DOCUMENT, "response": "The premium plan opened in 2016."},
    {"id": "c", "document": DOCUMENT, "response": "The free plan has 90 seats.", "label": 0},
]


@pytest.fixture
def answers(tmp_path: Path) -> str:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in ANSWERS))
    return str(path)


class _Checker(BaseHTTPRequestHandler):
    asked: list[dict[str, Any]]
    answer: Any

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append(question)
        data = json.dumps(type(self).answer(question)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def checker() -> Iterator[type[_Checker]]:
    class Own(_Checker):
        url = ""

    Own.asked = []

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    Own.url = f"http://127.0.0.1:{server.server_port}/check"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Own
    server.shutdown()
    server.server_close()


def test_words_of_the_document_pass_and_other_words_do_not(answers: str) -> None:
    result = troth.stress_ground(answers, metrics="coverage", corruptions="number,date,new_number")
    assert {score.group for score in result.scores} == {"all", "kind:number", "kind:date", "kind:new_number"}
    assert result.score("caught:coverage", "kind:number").value == 0  # 50 for 5: both stand in the document
    assert result.score("caught:coverage", "kind:date").value == 0
    assert result.score("caught:coverage", "kind:new_number").value == 1
    assert result.score("auroc:coverage", "kind:number").value == 0.5
    assert result.score("auroc:coverage", "kind:new_number").value == 1
    assert result.counts["answers"] == {"answers": 2, "pairs": 4, "left out": 1, "documents": 1}
    assert {(one.kind, one.corrupted) for one in result.details} == {
        ("number", "The free plan has 50 seats."),
        ("date", "The premium plan opened in 2011."),
    }


def test_the_corrupted_set_is_labelled_data(answers: str, tmp_path: Path) -> None:
    out = tmp_path / "corrupted.jsonl"
    troth.stress_ground(answers, metrics="coverage", corrupted=out, each=2)
    items = load([out]).items
    assert {item.label for item in items} == {0, 1}
    assert {item.source for item in items} >= {"supported", "number", "date", "negation"}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for row in (row for row in rows if "meta" in row):
        original = next(one["response"] for one in rows if one["id"] == row["meta"]["of"])
        assert (
            original[: row["meta"]["changes"][0]["start"]] == row["response"][: row["meta"]["changes"][0]["new_start"]]
        )
    with pytest.raises(UserError, match="exists"):
        troth.stress_ground(answers, metrics="coverage", corrupted=out)


def test_a_saved_run_opens(answers: str, tmp_path: Path) -> None:
    result = troth.stress_ground(answers, metrics="coverage", corruptions="number", out=tmp_path / "run")
    again = troth.open(tmp_path / "run")
    assert again["caught:coverage"].value == result["caught:coverage"].value
    assert set(again.rows()["source"]) == {"supported", "number"}
    assert len(list(again.explorer().responses)) == 3


def test_an_own_checker_behind_an_address(answers: str, checker: Any) -> None:
    checker.answer = lambda question: {"score": 1.0 if "5 seats" in question["response"] else 0.25}
    result = troth.stress_ground(answers, metrics="", checker=checker.url, corruptions="new_number")
    assert [metric.name for metric in result.metrics] == ["caught:checker", "auroc:checker", "checker"]
    assert result["caught:checker"].value == 0.5  # 2016 and its change both have 0.25
    assert all(set(one) == {"document", "response", "history"} for one in checker.asked)


def test_a_checker_may_answer_with_a_verdict(answers: str, checker: Any) -> None:
    checker.answer = lambda question: {"faithful": question["response"] in [one["response"] for one in ANSWERS]}
    result = troth.stress_ground(answers, metrics="coverage", checker=checker.url, corruptions="number,date")
    assert result["caught:checker"].value == 1
    assert result["caught:coverage"].value == 0


def test_a_checker_that_answers_nothing_usable(answers: str, checker: Any) -> None:
    checker.answer = lambda _: {"verdict": "fine"}
    with pytest.raises(UserError, match="no number 'score'"):
        troth.stress_ground(answers, metrics="", checker=checker.url)


def test_nothing_to_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"id": "a", "document": DOCUMENT, "response": "Sounds great, thanks!"}) + "\n")
    with pytest.raises(UserError, match="no answer could be corrupted"):
        troth.stress_ground(path, metrics="coverage")


def test_the_command_prints_a_row_for_each_kind(answers: str) -> None:
    run = CliRunner().invoke(
        app,
        ["stress", "ground", answers, "--metrics", "coverage", "--corruptions", "number,negation", "--explain", "1"],
    )
    assert run.exit_code == 0, run.output
    lines = run.stdout.splitlines()
    assert lines[0].split() == ["caught,", "%", "of", "pairs", "pairs", "coverage"]
    assert [line.split()[0] for line in lines[1:4]] == ["number", "negation", "all"]
    assert "missed by coverage: number: The free plan has 5 seats. → The free plan has 50 seats." in run.stdout
