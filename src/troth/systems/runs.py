"""Training runs on disk: their settings, which must be equal to resume a run, and their curves.

training.json   the settings
curve.json      the measures at each evaluation
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as Folder
from statistics import fmean
from typing import Any

import msgspec

from troth.core.decode import reading
from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.options import resolve
from troth.readers.plain import encode_indented
from troth.storage import files
from troth.storage.claims import Claim
from troth.systems.training import LOG, RUN, FitSettings

RECORD, CURVE = "training.json", "curve.json"
STRETCHES = 50  # of the training loss, whose single values are noisy
PATHS = ("data", "dev", "schema", "schemas", "templates", "model", "first", "shots")  # settings that name files


def training_claim(record: Mapping[str, Any]) -> Claim:
    """Inputs of a training folder. Files are compared by content, see `Fitting.inputs`."""
    paths = {name: value for name, value in record.items() if name in PATHS}
    return Claim(RECORD, RUN, {name: value for name, value in record.items() if name not in PATHS}, paths)


def fit_settings(fields: Mapping[str, Any], seed: int) -> FitSettings:
    return resolve(FitSettings, {**fields, "seed": seed})


def curve(folder: Path) -> list[dict[str, float]]:
    """The measures of a training run at each of its evaluations."""
    return [line for line in _read_log(folder) if "rate" not in line and "step" in line]


def losses(folder: Path) -> list[dict[str, float]]:
    """The training loss of a run over its steps: means over stretches of equal length, each at its last step."""
    steps = [line for line in _read_log(folder) if "rate" in line and "loss" in line]
    size = -(-len(steps) // STRETCHES) or 1
    stretches = [steps[start : start + size] for start in range(0, len(steps), size)]
    return [{"step": each[-1]["step"], "loss": fmean(line["loss"] for line in each)} for each in stretches]


def _read_log(folder: Path) -> list[dict[str, float]]:
    log = Folder(path_of(folder)) / LOG
    if not log.is_file():
        raise UserError("not a training run: no log.jsonl in it", file=path_of(folder), hint="troth train makes one")
    with reading(log, hint="train again, in a new folder"):
        return msgspec.json.decode(b"[%s]" % b",".join(log.read_bytes().splitlines()), type=list[dict[str, float]])


def write_curve(folder: Folder, **more: Any) -> None:
    """Writes `curve.json`: the measures at each evaluation, and further fields."""
    with files.replaced_file(str(folder / CURVE), lambda _: None) as out:
        out.write(encode_indented({"points": curve(folder), **more}))
