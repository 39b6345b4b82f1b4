"""Files of responses: three layouts with the same content, and what is wrong with others."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from troth.core.errors import UserError
from troth.readers import responses
from troth.readers.responses import Turns

TURNS: Turns = {"a": ["USER", "SYSTEM", "USER", "SYSTEM"], "b": ["USER", "SYSTEM"]}
TEXTS = {("a", 1): "One, two.", ("a", 3): "", ("b", 1): "Bye: “now”"}

JSONL = """{"dialogue": "a", "turn": 1, "response": "One, two."}

{"dialogue": "a", "turn": "3", "response": "", "candidates": ["x"], "scores": [1]}
{"turn": 1, "dialogue": "b", "response": "Bye: “now”"}
"""
CSV = 'dialogue,turn,response,note\na,1,"One, two.",x\na,3,,\nb,1,Bye: “now”,\n'
TSV = "dialogue\tturn\tresponse\na\t1\tOne, two.\na\t3\t\nb\t1\tBye: “now”\n"
LINES = "One, two.\n\nBye: “now”\n"


def write(folder: Path, content: str | bytes, name: str = "file") -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.mark.parametrize("content", [JSONL, CSV, TSV, LINES, CSV.replace("\n", "\r\n"), LINES.replace("\n", "\r\n")])
def test_layouts(tmp_path: Path, content: str) -> None:
    found = responses.read(write(tmp_path, content), TURNS)
    assert {key: response.text for key, response in found.items()} == TEXTS


def test_lines_are_known(tmp_path: Path) -> None:
    found = responses.read(write(tmp_path, JSONL), TURNS)
    assert [response.line for response in found.values()] == [1, 3, 4]


def test_compressed_and_with_a_mark(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"\xef\xbb\xbf" + JSONL.encode()), "file.jsonl.gz")
    assert len(responses.read(path, TURNS)) == 3


def test_ids_in_any_order(tmp_path: Path) -> None:
    ids = write(tmp_path, "b 1\na\t3\n", "ids")
    found = responses.read(write(tmp_path, "Bye\nHello"), TURNS, ids=ids)
    assert {key: response.text for key, response in found.items()} == {("b", 1): "Bye", ("a", 3): "Hello"}


def test_a_response_may_hold_odd_line_ends(tmp_path: Path) -> None:
    found = responses.read(write(tmp_path, "One\u2028two\nx\ny\n"), TURNS)
    assert found["a", 1].text == "One\u2028two"
    quoted = responses.read(write(tmp_path, 'dialogue,turn,response\na,1,"One\ntwo"\nb,1,x\n'), TURNS)
    assert (quoted["a", 1].text, quoted["b", 1].line) == ("One\ntwo", 4)


def test_the_format_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, '{"dialogue": "a"}\nx\ny\n')
    assert responses.read(path, TURNS, format="lines")["a", 1].text == '{"dialogue": "a"}'


def row(dialogue: str, turn: object, response: str = '"x"') -> str:
    return f'{{"dialogue": "{dialogue}", "turn": {turn}, "response": {response}}}\n'


BAD: dict[str, tuple[str | bytes, str]] = {
    "unknown dialogue": (row("a", 1) + row("aa", 1), "line 2: gold has no such dialogue (did you mean 'a'?)"),
    "unknown turn": (row("a", 4), "line 1: gold has 4 turns"),
    "user turn": (row("a", 0), "line 1: the user speaks in this turn"),
    "negative turn": (row("a", -1), "line 1: 'turn' is -1, not 0, 1, 2"),
    "twice": (row("a", 1) + "\n" + row("a", 1), "line 3: already has a response on line 1"),
    "broken": (row("a", 1) + '{"dialogue": "a"', "line 2: broken JSON"),
    "not an object": (row("a", 1) + "7\n", "line 2: is not an object"),
    "no response": ('{"dialogue": "a", "turn": 1}', "line 1: the object has no 'response'"),
    "candidates only": ('{"dialogue": "a", "turn": 1, "candidates": ["x"]}', "line 1: has candidates, but no response"),
    "null": (row("a", 1, "null"), "line 1: 'response' is null, not text"),
    "a list": ('[{"dialogue": "a"}]', "is a JSON list"),
    "empty": (" \n", "the file is empty"),
    "not UTF-8": (b"x\n\xff\ny\n", "line 2: not valid UTF-8"),
    "too few lines": ("x\ny\n", "2 responses for 3 system turns in gold"),
    "too many lines": ("x\ny\nz\nx\n", "4 responses for 3 system turns in gold"),
    "csv without a column": ("dialogue,turn,text\na,1,x\n", "line 1: no column 'response'"),
    "csv with a short row": ("dialogue,turn,response\na,1\n", "line 2: does not have 3 cells"),
    "csv with a long row": ("dialogue,turn,response\na,1,x,y\n", "line 2: does not have 3 cells"),
    "csv with a bad turn": ("dialogue,turn,response\na,one,x\n", "line 2: 'turn' is 'one', not 0, 1, 2"),
    "csv with an open quote": ('dialogue,turn,response\na,1,"x\n', "line 2: unexpected end of data"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_one_line_with_their_place(tmp_path: Path, case: str) -> None:
    content, expected = BAD[case]
    path = write(tmp_path, content)
    with pytest.raises(UserError) as error:
        responses.read(path, TURNS)
    message = str(error.value)
    assert message.startswith(path)
    assert expected in message
    assert "(" in message, "says what next"
    assert "\n" not in message


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ("a 1\n", "2 responses for 1 ids in "),
        ("a 1\nb\n", "line 2: is not a dialogue and a turn"),
        ("a 1\nb one\n", "line 2: the turn is 'one'"),
        ("a 1\nb 0\n", "line 2: the user speaks in this turn"),
        ("a 1\na 1\n", "line 2: already has a response on line 1"),
    ],
)
def test_bad_ids(tmp_path: Path, ids: str, expected: str) -> None:
    with pytest.raises(UserError, match=r"^/") as error:
        responses.read(write(tmp_path, "x\ny\n"), TURNS, ids=write(tmp_path, ids, "ids"))
    assert expected in str(error.value)


def test_ids_are_for_lines_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="already names its turns"):
        responses.read(write(tmp_path, JSONL), TURNS, ids="ids")
    with pytest.raises(UserError, match="did you mean 'jsonl'"):
        responses.read(write(tmp_path, JSONL), TURNS, format="json")


def test_a_turn_in_two_files_names_both(tmp_path: Path) -> None:
    folder = tmp_path / "said"
    folder.mkdir()
    first, second = (write(folder, row("b", 1) + row("a", turn), f"{turn}.jsonl") for turn in (1, 3))
    with pytest.raises(UserError) as error:
        responses.read(str(folder), TURNS)
    assert str(error.value).startswith(
        f"{second}: dialogue b, turn 1: line 1: already has a response on line 1 of {first}"
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("a,1\n", "line 4: does not have 3 cells"),
        ("a,1,x\na,9,x\n", "line 5: gold has"),
        ('a,1,"x', "line 4: unexpected"),
    ],
)
def test_blank_lines_before_a_heading_count(tmp_path: Path, rows: str, expected: str) -> None:
    with pytest.raises(UserError) as error:
        responses.read(write(tmp_path, f"\n \r\ndialogue,turn,response\n{rows}"), TURNS)
    assert expected in str(error.value)
    with pytest.raises(UserError, match="line 3: no column 'response'"):
        responses.read(write(tmp_path, "\n\ndialogue,turn,text\n"), TURNS)


def test_an_order_that_was_assumed_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    path = write(tmp_path, LINES)
    responses.read(path, TURNS, tell=told.append)
    assert told == [f"{path}: names no turns: matched to gold's system turns in order (or name them: --ids FILE)"]
    for content, ids in ((JSONL, None), (CSV, None), (LINES, write(tmp_path, "a 1\na 3\nb 1\n", "ids"))):
        responses.read(write(tmp_path, content), TURNS, ids=ids, tell=told.append)
    assert len(told) == 1
