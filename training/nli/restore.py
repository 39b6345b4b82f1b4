"""The released embedded model as a folder to train further: its int8 weights multiplied out, and its tokenizer.

python -m training.nli.restore --released src/troth/models/entailment --out DIR
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertTokenizerFast

from training.nli.data import LABELS
from training.nli.network import TwoHeads

HEADS = 12  # of attention; all other sizes follow from the weights
INT8, SCALE = ".int8", ".scale"


def read_weights(file: Path) -> dict[str, Any]:
    """The weights under the names that transformers gives them; `export` stored the matrices of products transposed."""
    graph = onnx.load(file).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    transposed = {node.input[1] for node in graph.node if node.op_type == "MatMul"}
    weights = {}
    for name, values in stored.items():
        if name.endswith(SCALE):
            continue
        whole = name.removesuffix(INT8)
        scaled = values * stored[whole + SCALE] if name.endswith(INT8) else values
        weights[whole] = torch.tensor(np.asarray(scaled.T if whole in transposed else scaled, dtype=np.float32))
    return weights


def restore(released: Path, out: Path) -> None:
    """Writes a folder that `training.nli.compact` takes as its base."""
    weights = read_weights(released / "model.onnx")
    vocabulary, width = weights["bert.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_attention_heads=HEADS,
        num_hidden_layers=len({name.split(".")[3] for name in weights if name.startswith("bert.encoder.layer.")}),
        intermediate_size=len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
        num_labels=len(LABELS), id2label=dict(enumerate(LABELS)), label2id={name: i for i, name in enumerate(LABELS)},
    )  # fmt: skip
    model = TwoHeads(config)
    model.load_state_dict(weights, strict=True)
    model.save_pretrained(out)
    BertTokenizerFast(tokenizer_file=str(released / "tokenizer.json")).save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--released", type=Path, required=True, help="the folder with model.onnx and tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    restore(options.released, options.out)


if __name__ == "__main__":
    main()
