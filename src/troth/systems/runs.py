"""Training runs on disk: their settings, which must be equal to resume a run, and their curves.

training.json   the settings
curve.json      the measures at each evaluation
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as Folder
from typing import Any

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import resolve
from troth.readers.plain import encode_indented
from troth.storage import files
from troth.systems.training import LOG, FitSettings

RECORD, CURVE = "training.json", "curve.json"
KIND = "a training run of troth"


def check_claim(folder: Folder, record: Mapping[str, Any]) -> None:
    """Checked before any work is done: the folder is new, or one of a run with the same settings."""
    _same(folder, files.read_claim(folder, RECORD, KIND), encode_indented(record))


def claim(folder: Folder, record: Mapping[str, Any]) -> None:
    """Checks that the folder is new, or has a run with the same settings, which is resumed."""
    text = encode_indented(record)
    _same(folder, files.claim_folder(folder, RECORD, text, KIND), text)


def _same(folder: Folder, before: bytes | None, text: bytes) -> None:
    if before not in (None, text):
        raise UserError("holds a training run with other settings", file=str(folder), hint="name a new folder")


def fit_settings(fields: Mapping[str, Any], seed: int) -> FitSettings:
    return resolve(FitSettings, {**fields, "seed": seed})


def curve(folder: Path) -> list[dict[str, float]]:
    """The measures of a training run at each of its evaluations."""
    log = Folder(path_of(folder)) / LOG
    if not log.is_file():
        raise UserError("not a training run: no log.jsonl in it", file=path_of(folder), hint="troth train makes one")
    with reading(log, hint="train again, in a new folder"):
        lines = msgspec.json.decode(b"[%s]" % b",".join(log.read_bytes().splitlines()), type=list[dict[str, float]])
    return [line for line in lines if "rate" not in line and "step" in line]


def write_curve(folder: Folder, **more: Any) -> None:
    """Writes `curve.json`: the measures at each evaluation, and what else is to be known of them."""
    with files.replaced_file(str(folder / CURVE), lambda _: None) as out:
        out.write(encode_indented({"points": curve(folder), **more}))
