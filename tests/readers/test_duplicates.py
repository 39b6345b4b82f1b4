"""A key that a JSON object holds twice is an error with file and place, in every reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.readers.grounded_samples import SAMPLES as GROUNDED
from tests.readers.grounded_samples import lay
from troth import readers
from troth.core.errors import UserError
from troth.readers import decode, grounded, sgd, sgd_views, source

Read = Callable[..., list[Any]]
LINES = ("jsonl", "checkdst", "parlai", "chat")


class Twice(dict[str, Any]):
    """An object that is written with its first key twice."""

    def items(self) -> Any:
        return [*super().items(), next(iter(super().items()))]


def doubled(value: Any) -> Iterator[tuple[Any, str]]:
    """The value with one object after the other holding its first key twice, and that key."""
    if isinstance(value, dict) and value:
        yield Twice(value), next(iter(value))
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in entries:
        for changed, name in doubled(part):
            copy: Any = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = changed
            yield copy, name


def written(value: Any, format: str, indent: int | None = None) -> str:
    if format in LINES and isinstance(value, list):
        return "\n".join(json.dumps(row) for row in value)
    return json.dumps(value, indent=indent)


def mutants(data: bytes, format: str) -> Iterator[tuple[Any, str]]:
    whole = [json.loads(line) for line in data.splitlines()] if format in LINES else json.loads(data)
    yield from doubled(whole)


def test_all_but_records_of_sgd(read: Read, sample: tuple[str, bytes]) -> None:
    name, data = sample
    if name == "sgd":
        return
    tried = 0
    for value, key in mutants(data, name):
        with pytest.raises(UserError, match=rf"f\.json: .*duplicate key '{key}'"):
            read(written(value, name, tried % 3 or None), name)
        tried += 1
    assert tried > 1


@pytest.mark.parametrize("layout", ["list", "object"])
def test_slots_of_sgd(read: Read, samples: dict[str, bytes], layout: str) -> None:
    text = json.dumps(json.loads(samples["sgd"]), indent=1).replace('"city": [', '"city": ["York"],\n  "city": [')
    if layout == "object":
        text = f'{{"1_00000": {text[1:-1]}}}'
    says = (
        r"f\.json: dialogue 1_00000, turn 0: duplicate key 'city' at .*\.turns\[0\]\.frames\[0\]\.state\.slot_values "
        r"\(keep one of the two\)"
    )
    with pytest.raises(UserError, match=says):
        read(text)
    document = source.Document("f.json", text.encode())
    for view in (sgd.read_states, sgd_views.read_texts):
        with pytest.raises(UserError, match="duplicate key 'city'"):
            list(view(document))


def test_dialogues_of_sgd_by_id(read: Read, samples: dict[str, bytes]) -> None:
    (dialogue,) = json.loads(samples["sgd"])
    with pytest.raises(UserError, match=r"f\.json: duplicate key '1_00000' at the top"):
        read(f'{{"1_00000": {json.dumps(dialogue)}, "1_00000": {json.dumps(dialogue)}}}')


def test_schema(tmp_path: Path) -> None:
    place = tmp_path / "schema.json"
    place.write_text('[{"service_name": "A", "slots": [{"name": "a", "name": "b"}]}]')
    with pytest.raises(UserError, match=r"schema\.json: duplicate key 'name' at \[0\]\.slots\[0\]"):
        readers.schema(str(place))


@pytest.mark.parametrize("name", [name for name in GROUNDED if name not in ("begin", "csv")])
def test_grounded(tmp_path: Path, name: str) -> None:
    path = lay(tmp_path, name)
    data = path.read_bytes()
    assert list(grounded.read(str(path), name))
    for value, key in mutants(data, name):
        path.write_text(written(value, name))
        with pytest.raises(UserError, match=f"duplicate key '{key}'"):
            list(grounded.read(str(path), name))


@pytest.mark.parametrize(
    "text",
    [
        '{"a" : 1, "b" : {"a" : 2}}',
        r'{"say \":": "\":", "a\\": "b\u0022: c"}',
        '{"a": "x\\":y", "b": ["\\":"], "": {"": 1}}',
        '{"a": 1e5, "b": 12345678901234567890123456789, "c": null}',
    ],
)
def test_nothing_else_is_refused(text: str) -> None:
    document = source.Document("f.json", text.encode())
    assert dict(decode.members(document)) == json.loads(text)
    assert [row for _, row in decode.lines(document)] == [json.loads(text)]
