"""Schema-Guided Dialogue, read and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.tracking.score import dst

Read = Callable[..., list[Any]]


def test_real(shared: Path) -> None:
    found: list[Any] = list(readers.read(str(shared / "data/sgd/dev/dialogues_001.json")))
    assert len(found) == 128
    assert [found[n].id for n in (0, 64, -1)] == ["1_00000", "1_00064", "1_00127"]
    assert all(d.turns[0].speaker == "USER" and d.services for d in found)


def test_real_round_trip(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/sgd/dev/dialogues_001.json"
    readers.write(readers.read(str(path)), str(tmp_path / "out"), "sgd")
    (written,) = (tmp_path / "out").iterdir()
    assert written.name == "dialogues_001.json"
    assert json.loads(written.read_bytes()) == json.loads(path.read_bytes())


@pytest.mark.parametrize("name", ["sgd", "multiwoz", "mwzeval", "jsonl"])
def test_round_trip(read: Read, samples: dict[str, bytes], tmp_path: Path, name: str) -> None:
    items = read(samples[name])
    out = str(tmp_path / "out")
    readers.write(items, out, "sgd")
    assert readers.detect(out) == "sgd"
    assert list(readers.read(out)) == items


def test_by_id(read: Read, samples: dict[str, bytes]) -> None:
    (dialogue,) = json.loads(samples["sgd"])
    assert read({"1_00000": dialogue}) == read([dialogue])
    with pytest.raises(UserError, match="dialogue 1_00000: is under the key 'other'"):
        read({"other": dialogue})


def test_multiwoz_22_spans_that_copy_from_another_slot(tmp_path: Path) -> None:
    """MultiWOZ 2.2 has spans without a place in the text; they are read, kept on writing, and not scored as tags."""
    span = {"slot": "taxi-destination", "copy_from": "hotel-name", "value": "alder"}
    state = {"active_intent": "find_taxi", "requested_slots": [], "slot_values": {"taxi-destination": ["alder"]}}
    frame = {"service": "taxi", "slots": [span], "state": state}
    turns = [{"speaker": "USER", "utterance": "a taxi there", "frames": [frame]}]
    file = tmp_path / "dialogues_001.json"
    file.write_text(json.dumps([{"dialogue_id": "MUL0001.json", "services": ["taxi"], "turns": turns}]))
    readers.write(readers.read(str(file)), str(tmp_path / "out"), "sgd")
    (written,) = json.loads((tmp_path / "out" / "dialogues_001.json").read_text())
    assert written["turns"][0]["frames"][0]["slots"] == [span]
    schema = [{"service_name": "taxi", "slots": [{"name": "taxi-destination", "is_categorical": False}]}]
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    result = dst(str(file), f"s={file}", resamples=1)
    assert result["jga"].value == result["tagging_f1"].value == 1.0


@pytest.mark.parametrize("split", ["dev", "other"])
def test_schema_one_folder_up(samples: dict[str, bytes], tmp_path: Path, split: str) -> None:
    """MultiWOZ 2.2 has one schema for all splits, in the folder above them."""
    folder = tmp_path / split
    folder.mkdir()
    (folder / "dialogues_001.json").write_bytes(samples["sgd"])
    (tmp_path / "schema.json").write_text('[{"service_name": "Hotels_1"}]')
    for path in (folder, folder / "dialogues_001.json"):
        schema = readers.schema_beside(str(path))
        assert (None if schema is None else list(schema)) == (["Hotels_1"] if split == "dev" else None)
    (folder / "schema.json").write_text('[{"service_name": "Hotels_2"}]')
    assert list(readers.schema_beside(str(folder)) or ()) == ["Hotels_2"]


def test_schema_above_the_current_folder(
    samples: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "test"
    folder.mkdir()
    (folder / "dialogues_001.json").write_bytes(samples["sgd"])
    (tmp_path / "schema.json").write_text('[{"service_name": "Hotels_1"}]')
    monkeypatch.chdir(folder)
    for path in (".", "dialogues_001.json"):
        assert list(readers.schema_beside(path) or ()) == ["Hotels_1"]
