"""Files whose keys have other names, and rows that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.grounding.score import ground, load
from troth.readers.grounded.mapped import parse_columns, read
from troth.readers.source import Document

COLUMNS = {"document": "contexts", "response": "answer", "history": "question", "id": "trace.id", "label": "ok"}
ROW: dict[str, Any] = {
    "trace": {"id": 17}, "contexts": ["Crayola makes chalk.", {"text": "In Easton.", "score": 0.3}],
    "question": "Who?", "answer": "Crayola does.", "ok": True, "latency": 3.2,
}  # fmt: skip
READ = Grounded("17", "Crayola makes chalk.\n\nIn Easton.", "Crayola does.", ("Who?",), 1)


def document(*rows: Any) -> Document:
    return Document("log.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())


def test_json_lines() -> None:
    assert list(read(document(ROW), COLUMNS)) == [READ]


def test_a_list() -> None:
    assert list(read(Document("log.json", json.dumps([ROW]).encode()), COLUMNS)) == [READ]


def test_csv() -> None:
    found = read(Document("log.csv", b"answer,contexts,trace\nyes,a text,5\n,,\nno,other,6\n"), {
        "document": "contexts", "response": "answer", "id": "trace",
    })  # fmt: skip
    assert [(one.id, one.document, one.response) for one in found] == [("5", "a text", "yes"), ("6", "other", "no")]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("log.jsonl", '{"document": "a", "answer": "x"}\n{"document": "b", "ans\n{"document": "c", "answer": "z"}\n',
         "log.jsonl: line 2: broken JSON"),
        ("log.csv", "document,answer\na,x\nb, and more,y\nc,z\n", "log.csv: line 3: has 3 cells, not 2"),
        ("log.csv", "document,answer\na,x\nb\nc,z\n", "log.csv: line 3: has 1 cells, not 2"),
    ],
)  # fmt: skip
def test_a_broken_row_is_skipped_alone(name: str, data: str, said: str) -> None:
    broken, columns = Document(name, data.encode()), {"response": "answer"}
    skipped: list[str] = []
    assert [(one.document, one.response) for one in read(broken, columns, skipped)] == [("a", "x"), ("c", "z")]
    assert [line.startswith(said) for line in skipped] == [True], skipped
    with pytest.raises(UserError, match=said.partition(": ")[2]):
        list(read(broken, columns))


def test_names_that_a_file_has_already_and_ids_by_line() -> None:
    rows = [{"document": "a", "answer": "x"}, {"document": "b", "answer": "y"}]
    assert [one.id for one in read(document(*rows), {"response": "answer"})] == ["1", "2"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"answer": "x"}, "line 1: has no 'contexts'"),
        ({"contexts": 5, "answer": "x"}, "'contexts' is not text"),
        ({"contexts": [{"url": "x"}], "answer": "x"}, "an object without a text"),
        ({"contexts": "a", "answer": None}, "'answer' is not text"),
        ({"contexts": "a", "answer": "x", "ok": 7}, "'label' is not 0 or 1"),
        ({"contexts": "a", "answer": "x", "trace": {"id": 1.5}}, "'trace.id' is not text"),
        ({"contexts": "a", "answer": "x", "trace": {"id": {"run": 1, "step": 2}}},
         "'trace.id' is an object (name what is in it: id=trace.id.run, id=trace.id.step)"),
        ([1], "is not an object"),
    ],
)  # fmt: skip
def test_errors_have_a_line(row: Any, said: str) -> None:
    with pytest.raises(UserError) as error:
        list(read(document(row), COLUMNS))
    assert said in str(error.value)


def test_rows_are_skipped_and_counted() -> None:
    skipped: list[str] = []
    rows = [ROW, {"answer": "x"}, ROW, {"contexts": "a", "answer": "b"}]
    assert [one.id for one in read(document(*rows), COLUMNS, skipped)] == ["17", "4"]
    assert [line.partition(":")[0] for line in skipped] == ["log.jsonl", "log.jsonl"]
    assert "duplicate id '17', already on line 1" in skipped[1]


@pytest.mark.parametrize("text", ["contexts", "document=", "doc=contexts", "id=a,id=b"])
def test_a_map_that_is_none(text: str) -> None:
    with pytest.raises(UserError, match="columns"):
        parse_columns(text)


def test_broken_lines_of_our_own_format(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl"
    good = json.dumps({"id": 5, "document": "a", "response": "b"})
    path.write_text(f'{good}\n{{"id": "x", \n{{"id": 6}}\n{good}\n')
    with pytest.raises(UserError, match="line 2"):
        load([path])
    found = load([path], skip=True)
    assert ([one.id for one in found.items], len(found.skipped)) == (["5"], 3)
    result = ground(path, metrics="facts", on_error="skip", resamples=10)
    assert result.counts["said"]["skipped"] == 3
    assert str(result.notes[0]).startswith("said: 3 rows skipped; the first: ")
    assert str(result.notes[0]).count("line ") == 1, "a row has one place"


def test_other_formats_skip_nothing(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("document,response\na,b\n")
    with pytest.raises(UserError, match="rows of the format csv cannot be skipped"):
        load([path], skip=True)
