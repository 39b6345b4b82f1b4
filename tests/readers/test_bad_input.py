"""Whatever is in a file, reading gives records or a UserError with the file's name; never anything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from troth.core.errors import UserError

Read = Callable[..., list[Any]]

WRONG: tuple[object, ...] = (6, 2.5, None, True, [], {}, [[]], {"a": 6}, "word", ["word"], [None])
JSONL = ("jsonl", "checkdst", "parlai")


def attempt(read: Read, data: object, format: str) -> UserError | None:
    try:
        read(data, format)
    except UserError as error:
        found = error
    else:
        return None
    assert "f.json" in found.line()
    assert "\n" not in found.line()
    return found


def test_good(read: Read, sample: tuple[str, bytes]) -> None:
    assert attempt(read, sample[1], sample[0]) is None
    assert read(sample[1]) == read(sample[1], sample[0]), "recognised or named, it is the same"


@pytest.mark.parametrize(
    "data", [b"", b"  \n\n", b"\xff\xfe{}", b'{"a": "\xff"}', b"{", b"[[[", b'"', b"nul", b"[" * 5000]
)
def test_not_json(read: Read, sample: tuple[str, bytes], data: bytes) -> None:
    assert attempt(read, data, sample[0]) is not None


def test_truncated(read: Read, sample: tuple[str, bytes]) -> None:
    name, data = sample
    data = data.rstrip()
    for end in range(0, len(data), 7):
        error = attempt(read, data[:end], name)
        # A JSONL file cut at the end of a line is a shorter JSONL file.
        assert error is not None or (name in JSONL and data[end : end + 1] in b"\n{"), data[:end]


def test_invalid_utf8(read: Read, sample: tuple[str, bytes]) -> None:
    name, data = sample
    spoiled = data.replace(b"MUL0001", b"MUL\xff001").replace(b"mul0001", b"mul\xff001").replace(b"d1", b"d\xff")
    spoiled = spoiled.replace(b"1_00000", b"1_\xff")
    assert spoiled != data
    error = attempt(read, spoiled, name)
    assert error is not None
    assert "UTF-8" in error.what


def test_wrong_types(read: Read, sample: tuple[str, bytes]) -> None:
    """Every part of the sample in turn replaced by something of another type."""
    name, data = sample
    whole = [json.loads(line) for line in data.splitlines()] if name in JSONL else json.loads(data)
    tried = 0
    for changed in mutants(whole):
        text = "\n".join(json.dumps(row) for row in changed) if name in JSONL else json.dumps(changed)
        attempt(read, text, name)
        tried += 1
    assert tried > 50


def mutants(value: Any) -> Iterator[Any]:
    keys: list[Any] = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    for key in keys:
        for wrong in WRONG:
            yield with_item(value, key, wrong)
        for changed in mutants(value[key]):
            yield with_item(value, key, changed)
        copy = dict(value) if isinstance(value, dict) else list(value)
        del copy[key]
        yield copy


def with_item(value: Any, key: Any, item: Any) -> Any:
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = item
    return copy


@pytest.mark.parametrize("format", ["multiwoz", "trade", "mwzeval", "jsonl"])
@pytest.mark.parametrize(
    ("value", "says"),
    [
        (6, "value 6 is a number; write it as text"),
        (2.5, "value 2.5 is a number; write it as text"),
        (True, "value true is true or false; write it as text"),
        (None, "value is null; leave the slot out or write a text"),
        ({}, "value is an object; write it as text"),
    ],
)
def test_value_is_not_text(read: Read, format: str, value: object, says: str) -> None:
    state = {"hotel": {"people": value}}
    files: dict[str, object] = {
        "multiwoz": {
            "MUL0001.json": {
                "log": [
                    {"text": "", "metadata": {}},
                    {"text": "", "metadata": {}},
                    {"text": "", "metadata": {}},
                    {"text": "", "metadata": {"hotel": {"semi": state["hotel"]}}},
                ]
            }
        },
        "trade": {"MUL0001.json": {"0": {"gt": {}, "pr": {}}, "1": {"gt": {}, "pr": state}}},
        "mwzeval": {"MUL0001.json": [{"state": {}}, {"state": state}]},
        "jsonl": '{"dialogue": "MUL0001", "turn": 0, "state": {}}\n'
        + json.dumps({"dialogue": "MUL0001", "turn": 1, "state": state}),
    }
    error = attempt(read, files[format], format)
    assert error is not None
    assert (error.dialogue, error.turn) == ("mul0001", 1)
    assert says in error.what
    assert "'hotel-people'" in error.what
