"""From a trained folder to what the package ships: int8 weights that are expanded to fp32 when the file is loaded.

    python -m training.nli.export --model DIR --out src/troth/models/entailment --revision 3

Quantising activations too (dynamic int8) would make a pair's probabilities depend on the other pairs of its batch.
So only storage is int8: each matrix is kept as integers and one scale a channel, and two nodes of the graph multiply
them out. The runtime folds these once, at load; all arithmetic is fp32.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from transformers import AutoTokenizer

from training.nli.data import LABELS
from training.nli.network import TwoHeads

LEAST = 4096  # smaller tensors stay fp32
MAX_TOKENS = 256  # that the embedded model reads


def graph(model: Any, out: Path) -> None:
    ids = torch.ones((2, 8), dtype=torch.int64)
    axes = {0: "batch", 1: "tokens"}
    torch.onnx.export(
        model,
        (ids, ids, torch.zeros_like(ids)),
        str(out),
        input_names=["input_ids", "attention_mask", "token_type_ids"],
        output_names=["logits", "doubts"],
        dynamic_axes={
            "input_ids": axes,
            "attention_mask": axes,
            "token_type_ids": axes,
            "logits": {0: "batch"},
            "doubts": axes,
        },
        opset_version=17,
        dynamo=False,
    )


def shrink(model: onnx.ModelProto) -> None:
    """Replace each large matrix by integers, scales, and the nodes that multiply them out."""
    looked_up = {node.input[0] for node in model.graph.node if node.op_type == "Gather"}
    unchanged, nodes, added = [], [], []
    for tensor in model.graph.initializer:
        weights = numpy_helper.to_array(tensor)
        if weights.dtype != np.float32 or weights.ndim != 2 or weights.size < LEAST:
            unchanged.append(tensor)
            continue
        axis = 1 if tensor.name in looked_up else 0  # a row of a table, a column of a product
        scale = np.maximum(np.abs(weights).max(axis=axis, keepdims=True) / 127, 1e-12).astype(np.float32)
        whole = np.round(weights / scale).astype(np.int8)
        added += [
            numpy_helper.from_array(whole, f"{tensor.name}.int8"),
            numpy_helper.from_array(scale, f"{tensor.name}.scale"),
        ]
        nodes += [
            helper.make_node("Cast", [f"{tensor.name}.int8"], [f"{tensor.name}.fp32"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", [f"{tensor.name}.fp32", f"{tensor.name}.scale"], [tensor.name]),
        ]
    del model.graph.initializer[:]
    model.graph.initializer.extend(unchanged + added)
    ours = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes + ours)
    onnx.checker.check_model(model)


def _name(graph: onnx.GraphProto, weights: Mapping[str, Any]) -> None:
    """Matrices get back the names of their layers, which tracing takes from them together with their direction."""
    known = {matrix.numpy().T.tobytes(): name for name, matrix in weights.items() if matrix.ndim == 2}
    names = {}
    for tensor in graph.initializer:
        if tensor.name.startswith("onnx::") and len(tensor.dims) == 2:
            old, tensor.name = tensor.name, known[numpy_helper.to_array(tensor).tobytes()]
            names[old] = tensor.name
    for node in graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = names.get(name, name)


def export(source: Path, out: Path, revision: str) -> None:
    model = TwoHeads.from_pretrained(source).eval()
    assert [model.config.id2label[i] for i in range(3)] == list(LABELS)
    out.mkdir(parents=True, exist_ok=True)
    whole = out / "whole.onnx"
    with torch.no_grad():
        graph(model, whole)
    small = onnx.load(whole)
    whole.unlink()
    _name(small.graph, model.state_dict())
    shrink(small)
    onnx.save(small, out / "model.onnx")
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.save(str(out / "tokenizer.json"), pretty=False)
    digests = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in ("model.onnx", "tokenizer.json")}
    card = {"name": "troth-nli", "revision": revision, "labels": LABELS, "max_tokens": MAX_TOKENS, "sha256": digests}
    (out / "model.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--revision", required=True)
    options = parser.parse_args()
    export(options.model, options.out, options.revision)


if __name__ == "__main__":
    main()
