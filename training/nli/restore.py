"""A released model back into a folder to train further: int8 weights multiplied out, under the names of their layers.

    python -m training.nli.restore --released DIR --encoder DIR --out DIR

What is lost is what int8 lost: the folder's answers are those of the released model.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from training.nli.train import model_of


def weights_of(file: Path) -> dict[str, np.ndarray]:
    """The float weights of a released file; matrices of products lie transposed in it."""
    graph = onnx.load(file).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    multiplied = {node.input[1] for node in graph.node if node.op_type == "MatMul"}
    found = {}
    for name, value in stored.items():
        layer = name.removesuffix(".int8")
        matrix = value if layer == name else value.astype(np.float32) * stored[f"{layer}.scale"]
        found[layer] = matrix.T if layer != name and layer in multiplied else matrix
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--released", type=Path, required=True, help="the folder with model.onnx")
    parser.add_argument("--encoder", type=Path, required=True, help="the encoder that it was made from")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    tokenizer, model = model_of(options.encoder)
    released, new = weights_of(options.released / "model.onnx"), model.state_dict()
    missing = [name for name in new if name not in released]
    if missing:
        raise SystemExit(f"{options.released}: no weights of {', '.join(missing)}")
    for name in new:
        new[name] = torch.from_numpy(np.array(released[name], dtype=np.float32)).reshape(new[name].shape)
    model.load_state_dict(new)
    model.save_pretrained(options.out)
    tokenizer.save_pretrained(options.out)


if __name__ == "__main__":
    main()
