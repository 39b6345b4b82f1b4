"""The training data of the embedded trackers: SGD and MultiWOZ in one folder, and five wordings of their schemas."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import msgspec

from training.tracker import multiwoz
from troth import readers
from troth.core.records import Service
from troth.readers.multiwoz import SEMI
from troth.readers.multiwoz_sgd import Completed
from troth.readers.plain import encode_indented

SCHEMA = "schema.json"


def make_training_data(shared: Path, work: Path) -> tuple[Path, Path]:
    """Writes the dialogues and the wordings to `work`, once; returns the folder of each."""
    data, wordings = work / "train", work / "wordings"
    work.mkdir(parents=True, exist_ok=True)
    if not (wordings / f"v{multiwoz.WORDINGS}" / SCHEMA).exists():
        shutil.rmtree(data, ignore_errors=True)
        sgd = shared / "data/sgd"
        with tarfile.open(sgd / "train.tar.gz") as archive:
            archive.extractall(work, filter="data")
        services = _read_services(sgd / "train" / SCHEMA)
        original = Completed(readers.gold(str(_unpack_multiwoz(shared, work)), "multiwoz"))
        completed = list(original)
        schema = {name: service for name, service in original.tracker_schema().items() if name in SEMI}
        converted = multiwoz.convert(completed, schema)
        readers.write(converted, str(work / "multiwoz"), "sgd")
        for file in sorted((work / "multiwoz").glob("dialogues_*.json")):
            shutil.move(file, data / f"dialogues_9{file.stem.removeprefix('dialogues_')}.json")
        shutil.rmtree(work / "multiwoz")
        (data / SCHEMA).write_bytes(encode_indented([*services, *schema.values()]))
        for number in range(1, multiwoz.WORDINGS + 1):
            other = _read_services(sgd / f"sgd_x/data/v{number}/train" / SCHEMA)
            folder = wordings / f"v{number}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / SCHEMA).write_bytes(encode_indented([*other, *multiwoz.reword(schema, number)]))
    return data, wordings


def _read_services(file: Path) -> list[Service]:
    return msgspec.json.decode(file.read_bytes(), type=list[Service])


def _unpack_multiwoz(shared: Path, work: Path) -> Path:
    """Writes the dialogues in which user and system alternate; says how many others there are."""
    with zipfile.ZipFile(shared / "data/multiwoz/train.json.zip") as archive:
        dialogues = msgspec.json.decode(archive.read("train.json"))
    regular = {name: one for name, one in dialogues.items() if _alternates(one["log"])}
    print(f"MultiWOZ: {len(regular):,} dialogues; left out, since user and system do not alternate: "
          f"{len(dialogues) - len(regular)}")  # fmt: skip
    file = work / "multiwoz.json"
    file.write_bytes(msgspec.json.encode(regular))
    return file


def _alternates(log: list[dict[str, Any]]) -> bool:
    return len(log) % 2 == 0 and not any(entry["metadata"] for entry in log[::2])
