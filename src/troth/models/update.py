"""Merges what was learnt here into the weights of a base model: low-rank updates (LoRA) and whole tensors.

The update of a weight `NAME` is stored as `NAME.up` and `NAME.down`, whose product is added to it; any other tensor
replaces the weight of its name or is new. The result is a folder that transformers reads.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from troth.core.decode import reading
from troth.core.errors import UserError

UPDATE = "update.safetensors"
BASE = "model.safetensors"
COPIED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


class UpdateCard(msgspec.Struct, frozen=True):
    """The part of an update's `model.json` that is used here."""

    config: dict[str, object]  # replaces values of the base's config.json
    prefix: str  # before the names of the base's weights


def merge_update(base: Path, update: Path, out: Path) -> None:
    """Writes the model that the base becomes with the update, in float32."""
    from safetensors.numpy import load_file, save_file

    with reading(update / "model.json", "the update of the model is not complete", hint="install troth again"):
        card = msgspec.json.decode((update / "model.json").read_bytes(), type=UpdateCard)
    with reading(base / "config.json", "the base model is not complete"):
        config = msgspec.json.decode((base / "config.json").read_bytes(), type=dict[str, object])
    changes = {name: tensor.astype(np.float32) for name, tensor in load_file(update / UPDATE).items()}
    weights = {
        f"{card.prefix}.{name}": tensor
        for name, tensor in load_file(base / BASE).items()
        if not name.startswith("pooler.") and not name.endswith("position_ids")
    }
    for name, change in changes.items():
        weight, _, part = name.rpartition(".")
        if part == "up":
            if weight not in weights:
                raise UserError(f"the base model has no weight '{weight}'", file=str(base / BASE))
            weights[weight] = weights[weight] + change @ changes[f"{weight}.down"]
        elif part != "down":
            weights[name] = change
    out.mkdir(exist_ok=True)
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in weights.items()}, out / BASE, {"format": "pt"})
    (out / "config.json").write_bytes(msgspec.json.format(msgspec.json.encode(config | card.config)))
    for name in COPIED:
        (out / name).write_bytes((base / name).read_bytes())
