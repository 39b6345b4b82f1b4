"""From the checkpoint of the strong model to what the package ships: its update of the base, in float16.

    python -m training.nli.update --checkpoint DIR/checkpoint.pt --out src/troth/models/strong --revision 2

`troth.models.update` merges it into the base when the model is fetched. The three projections that training joins are
divided again, so that every name is one of transformers' MPNetForSequenceClassification.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from training.nli.data import LABELS
from troth.models.update import UPDATE

HEAD = {"dense": "classifier.dense", "out": "classifier.out_proj"}
CONFIG = {
    "architectures": ["MPNetForSequenceClassification"],
    "id2label": {str(i): label for i, label in enumerate(LABELS)},
    "label2id": {label: i for i, label in enumerate(LABELS)},
}


def rename(name: str, tensor: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of a trained parameter under transformers' names."""
    module, _, kind = name.rpartition(".")
    if module in HEAD:
        yield f"{HEAD[module]}.{kind}", tensor
        return
    module = module.replace("encoder.", "mpnet.", 1)
    if kind not in ("up", "down"):
        yield f"{module}.{kind}", tensor
    elif module.endswith(".qkv"):
        parts = tensor.chunk(3) if kind == "up" else (tensor, tensor, tensor)
        for letter, part in zip("qkv", parts, strict=True):
            yield f"{module.removesuffix('qkv')}{letter}.weight.{kind}", part
    else:
        yield f"{module}.weight.{kind}", tensor


def restore(update: Path, parameters: Mapping[str, Any]) -> None:
    """A released update back into the parameters that training changes, which may be of a higher rank."""
    released = load_file(update / UPDATE)
    with torch.no_grad():
        for name, parameter in parameters.items():
            parts = [released[new].float() for new, _ in rename(name, parameter)]
            # The parts of a joined projection share `down` and are stacked in `up`.
            tensor = parts[0] if name.endswith(".down") else torch.cat(parts)
            parameter[tuple(slice(size) for size in tensor.shape)].copy_(tensor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--revision", required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    trained = torch.load(options.checkpoint, weights_only=True)["model"]
    tensors = dict(pair for name, tensor in trained.items() for pair in rename(name, tensor))
    save_file({name: t.detach().half().contiguous().clone() for name, t in tensors.items()}, options.out / UPDATE)
    card = {
        "name": "strong", "revision": options.revision, "prefix": "mpnet", "config": CONFIG,
        "sha256": {UPDATE: hashlib.sha256((options.out / UPDATE).read_bytes()).hexdigest()},
    }  # fmt: skip
    (options.out / "model.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
