"""No format takes another's files for its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.core.registry import Registry
from troth.readers import grounded
from troth.readers.source import Document, first
from troth.tracking.profiles import PROFILES

REAL = {
    "sgd/dev/dialogues_001.json": "sgd",
    "sgd_predictions/dev": "sgd",
    "multiwoz/test.json.zip": "multiwoz",
    "multiwoz/val.json.zip": "multiwoz",
    "fga/trippy_result.json": "trippy",
    "mwzeval/pptod.json": "mwzeval",
    "mwzeval/soloist.json": "mwzeval",
    "checkdst/example_parlai_world_logs.jsonl": "parlai",
    "checkdst/example_parlai_world_logs.checkdst_prediction.jsonl": "checkdst",
    "checkdst/ckpt_step928_multiwoz_checkdst-NED_example.checkdst_prediction.jsonl": "checkdst",
    # Data of other kinds, which no reader here should claim.
    "fga/multiwoz21.json": None,
    "multiwoz/ontology_2.4.json": None,
    "sgd/dev/schema.json": None,
    "prefinetune/wikisql_dev.jsonl": None,
    "prefinetune/squad_dev_v2.0.json": None,
    "nli/snli_dev.jsonl": None,
    "sgd_responses/dev.jsonl": None,
}


def claims(document: Document) -> list[str]:
    return [name for name in readers.FORMATS.own if readers.FORMATS.load(name).detect(document)]


def test_small(sample: tuple[str, bytes]) -> None:
    name, data = sample
    assert claims(Document("f", data)) == [name]
    assert claims(Document("f", b"\n  " + data.replace(b"\n", b"\r\n"))) == [name]


def test_compact(sample: tuple[str, bytes]) -> None:
    name, data = sample
    lines = data.splitlines() if name in ("jsonl", "checkdst", "parlai") else [data]
    compact = b"\n".join(b" ".join(line.split()).replace(b": ", b":").replace(b", ", b",") for line in lines)
    assert claims(Document("f", compact)) == [name]


@pytest.mark.parametrize("path", REAL)
def test_real(shared: Path, path: str) -> None:
    expected = REAL[path]
    assert claims(first(str(shared / "data" / path))) == ([] if expected is None else [expected])


@pytest.mark.parametrize("data", [b"", b" \n", b"{}", b"[]", b"hello", b"\xff\xfe", b"[1, 2]", b'{"a": 1}', b"null"])
def test_nothing_known(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"f\.json"):
        readers.detect(str(path))


@pytest.mark.parametrize("formats", [readers.FORMATS, grounded.FORMATS], ids=["dialogues", "grounded"])
def test_every_reader_declares_its_format(formats: Registry[Any]) -> None:
    for name in formats.own:
        reader = formats.load(name)
        assert reader.FORMAT.name == name
        assert 20 < len(reader.FORMAT.about) < 100, name
        assert reader.FORMAT.writes == hasattr(reader, "write"), name
        assert reader.FORMAT.profile is None or reader.FORMAT.profile in PROFILES
