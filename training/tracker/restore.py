"""A released tracker back into a folder to train further: int8 weights multiplied out, under the names of their layers.

    python -m training.tracker.restore --released src/troth/models/trackers/troth-track --encoder DIR --out DIR

Names of matrices are lost when a network is traced, and their order is not: a network with drawn weights is exported in
the same way, and tells which weight has which name in the file.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from training.tracker.export import open_tracker, write_network
from troth.systems.span import SpanModel
from troth.systems.span.exported import MODEL, UPPER
from troth.systems.tracker import CARD

Weights = dict[str, np.ndarray[Any, Any]]


def restore(released: Path, encoder: Path, out: Path) -> None:
    """Writes a folder that `troth train tracker --model` takes; its answers are those of the released tracker."""
    torch.manual_seed(0)
    model = open_tracker(encoder, trained=False)
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.add_(torch.randn_like(parameter) * 1e-3)  # no two are equal
    with tempfile.TemporaryDirectory() as scratch:
        write_network(model, Path(scratch), int8=False)
        names = {file: _names(model, _weights(Path(scratch) / file)) for file in (UPPER, MODEL)}
    new = model.module.state_dict()
    missing = set(new)
    for file, known in names.items():
        weights = _weights(released / file)
        for stored, (name, turned) in known.items():
            new[name] = torch.from_numpy(np.array(weights[stored].T if turned else weights[stored], np.float32))
            missing.discard(name)
    if missing:
        raise SystemExit(f"{released}: no weights of {', '.join(sorted(missing))}")
    model.module.load_state_dict(new)
    out.mkdir(parents=True, exist_ok=True)
    model.save(out)
    shutil.copyfile(released / CARD, out / CARD)


def _weights(file: Path) -> Weights:
    """The float weights of a file by their names in it."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(file).graph.initializer}
    whole = {name: value for name, value in stored.items() if not name.endswith((".int8", ".scale"))}
    for name in (name.removesuffix(".int8") for name in stored if name.endswith(".int8")):
        whole[name] = stored[f"{name}.int8"].astype(np.float32) * stored[f"{name}.scale"]
    return whole


def _names(model: SpanModel, stored: Weights) -> dict[str, tuple[str, bool]]:
    """By the name in a file: the parameter, and whether its matrix lies transposed."""
    found = {}
    for name, parameter in model.module.state_dict().items():
        own = parameter.numpy()
        for at, value in stored.items():
            if value.shape == own.shape and np.array_equal(value, own):
                found[at] = name, False
            elif value.ndim == 2 and value.T.shape == own.shape and np.array_equal(value.T, own):
                found[at] = name, True
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--released", type=Path, required=True, help="the folder with upper.onnx and model.onnx")
    parser.add_argument("--encoder", type=Path, required=True, help="the encoder that it was trained from")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    restore(options.released, options.encoder, options.out)


if __name__ == "__main__":
    main()
