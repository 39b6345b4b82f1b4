"""Whatever is in a file of grounded responses, reading gives records or a UserError with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.readers.grounded_samples import JSONL, SAMPLES, lay
from troth.core.errors import UserError
from troth.readers import grounded

WRONG: tuple[object, ...] = (6, None, True, [], {}, [[]], {"a": 6}, "word", [None])


def attempt(path: Path, format: str | None = None) -> UserError | None:
    try:
        list(grounded.read(str(path), format))
    except UserError as error:
        found = error
    else:
        return None
    assert path.name in found.line()
    assert "\n" not in found.line()
    return found


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("data", [b"", b"  \n\n", b"\xff\xfe{}", b"{", b"[[[", b'"', b"[" * 5000])
def test_not_the_format(tmp_path: Path, name: str, data: bytes) -> None:
    path = lay(tmp_path, name)
    path.write_bytes(data)
    assert attempt(path, name) is not None
    assert attempt(path) is not None


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_short_anywhere(tmp_path: Path, name: str) -> None:
    path = lay(tmp_path, name)
    data = path.read_bytes().rstrip()
    for end in range(0, len(data), 11):
        path.write_bytes(data[:end])
        attempt(path, name)  # records or a UserError: anything else fails the test


def spoiled(value: Any, wrong: object) -> list[Any]:
    """The value with each of its parts in turn replaced."""
    made: list[Any] = [wrong]
    if isinstance(value, dict):
        made += [value | {key: part} for key in value for part in spoiled(value[key], wrong)]
    elif isinstance(value, list):
        made += [[*value[:i], part, *value[i + 1 :]] for i in range(len(value)) for part in spoiled(value[i], wrong)]
    return made


@pytest.mark.parametrize("name", ["jsonl", "chat", "faithdial", "wow", "multidoc2dial", "topical-chat"])
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_wrong_values_anywhere(tmp_path: Path, name: str, wrong: object) -> None:
    path = lay(tmp_path, name)
    data = path.read_bytes()
    whole = [json.loads(line) for line in data.splitlines()] if name in ("jsonl", "chat") else json.loads(data)
    for value in spoiled(whole, wrong):
        text = "\n".join(map(json.dumps, value)) if name in ("jsonl", "chat") and isinstance(value, list) else None
        path.write_text(json.dumps(value) if text is None else text)
        attempt(path, name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"documnt": "x"}, "line 1: key 'documnt' is not known (did you mean 'document'?)"),
        ({"label": 2}, "line 1: 'label' is not 0 or 1"),
        ({"label": 0.5}, "line 1: 'label' is not 0 or 1"),
        ({"label": "0.5"}, "line 1: label '0.5' is not known"),
        ({"label": "maybe"}, "line 1: label 'maybe' is not known"),
        ({"id": 7.5}, "line 1: 'id' is not text"),
        ({"history": "Who?"}, "line 1: 'history' is text, not a list"),
        ({"response": None}, "line 1: 'response' is null, not text"),
        ({"id": "a2"}, "line 2: duplicate id 'a2', already on line 1"),
    ],
)
def test_errors_say_what_and_where(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in [JSONL[0] | change, JSONL[1]]))
    error = attempt(path)
    assert error is not None
    assert said in error.line()


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("begin", b"Fully attributable", b"Fuly attributable", "line 2: label 'Fuly attributable' is not known"),
        ("begin", b"\tYes, very.", b"\tYes,\tvery.", "line 3: has 7 cells, not 6"),
        ("csv", b"Entailment,E", b'Entailment,"E', "is a quote not closed?"),
        ("csv", b"evidence,", b"proof,", "no column 'document'"),
        ("chat", b'"role": "user"', b'"role": "uzer"', "dialogue c1, turn 2: role 'uzer' is not known"),
        ("faithdial", b'"Entailment"], "VRM": ["E', b'"Entail"], "VRM": ["E', "label 'Entail' is not known"),
        ("multidoc2dial", b'"id_sp": "10"', b'"id_sp": "11"', "dialogue d1, turn 2: span '11' is not in document"),
        ("multidoc2dial", b"Plates#1", b"Plates#2", "document 'Plates#2' is not in multidoc2dial_doc.json"),
        ("topical-chat", b'"t_1"', b'"t_2"', "dialogue t_2"),
    ],
)
def test_errors_of_formats(tmp_path: Path, name: str, old: bytes, new: bytes, said: str) -> None:
    path = lay(tmp_path, name)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    error = attempt(path, name)
    assert error is not None
    assert said in error.line()


@pytest.mark.parametrize("name", ["multidoc2dial", "topical-chat"])
def test_what_should_lie_beside_is_missing(tmp_path: Path, name: str) -> None:
    path = lay(tmp_path, name)
    for other in tmp_path.iterdir():
        if other != path:
            other.unlink()
    error = attempt(path)
    assert error is not None
    assert "beside it" in error.what


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.jsonl", '{"question": "q", "contexts": ["a"], "answer": "b"}\n',
         "r.jsonl: has no key 'document' and no key 'response'; its keys are question, contexts, answer (map its "
         "names: --map document=contexts,response=answer, or columns=… in Python"),
        ("r.json", '[{"document": "a", "output": "b"}]', "has no key 'response'; its keys are document, output "
         "(map its names: --map response=output,"),
        ("r.csv", "q,passages,response\nx,y,z\n", "has no column 'document'; its columns are q, passages, response "
         "(map its names: --map document=passages,"),
        ("r.csv", "q;document;response\nx;y;z\n", "its cells are separated by semicolons (save it with commas or tabs"),
        ("r.json", " [ ]\n", "r.json: the list is empty"),
    ],
)  # fmt: skip
def test_other_names(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    error = attempt(path)
    assert error is not None
    assert said in error.line()


def test_a_list_of_our_own_rows(tmp_path: Path) -> None:
    lines, listed = tmp_path / "r.jsonl", tmp_path / "r.json"
    lines.write_text("".join(json.dumps(row) + "\n" for row in JSONL))
    listed.write_text(json.dumps(JSONL, indent=1))
    assert list(grounded.read(str(listed))) == list(grounded.read(str(lines)))
    listed.write_text(json.dumps([*JSONL, 6]))
    error = attempt(listed)
    assert error is not None
    assert f"line {len(JSONL) + 1}: is not an object" in error.line()


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'begin'"):
        list(grounded.read(str(lay(tmp_path, "begin")), "begn"))
    with pytest.raises(UserError, match="no such file"):
        list(grounded.read(str(tmp_path / "none.tsv")))
    path = tmp_path / "t.txt"
    path.write_text("just a text\n")
    error = attempt(path)
    assert error is not None
    assert "name the format: begin, chat" in error.line()
