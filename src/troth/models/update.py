"""Merges what was learnt here into the weights of a base model.

The change of a large matrix `NAME` is stored as `NAME.levels`, four weights in a byte, and `NAME.step`, the spacing of
the levels in each row; any other tensor replaces the weight of its name or is new. The result is a folder that
transformers reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from troth.core.decode import reading
from troth.core.errors import UserError

UPDATE = "update.safetensors"
BASE = "model.safetensors"
LEVELS, STEP = ".levels", ".step"
BITS = 2  # of a weight's change
HEAD = "classifier."  # weights that the base does not have
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
    changes = load_file(update / UPDATE)
    weights = {
        f"{card.prefix}.{name}": tensor
        for name, tensor in load_file(base / BASE).items()
        if not name.startswith("pooler.") and not name.endswith("position_ids")
    }
    for name, change in changes.items():
        weight, _, _ = name.rpartition(".")
        if name.endswith(STEP):
            continue
        if name.endswith(LEVELS) and weight in weights:
            weights[weight] = weights[weight] + unpack_change(change, changes[weight + STEP], weights[weight].shape)
        elif name in weights or name.startswith(HEAD):
            weights[name] = change.astype(np.float32)
        else:
            raise UserError(f"the base model has no weight '{weight}'", file=str(base / BASE))
    out.mkdir(exist_ok=True)
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in weights.items()}, out / BASE, {"format": "pt"})
    (out / "config.json").write_bytes(msgspec.json.format(msgspec.json.encode(config | card.config)))
    for name in COPIED:
        (out / name).write_bytes((base / name).read_bytes())


def pack_levels(levels: Any) -> Any:
    """Levels from 0 to 3, four in a byte."""
    bits = np.unpackbits(levels.reshape(-1, 1), axis=1)[:, -BITS:]
    return np.packbits(bits)


def unpack_change(packed: Any, step: Any, shape: tuple[int, ...]) -> Any:
    """The change of a matrix: its levels, centred at zero, times the step of their row."""
    count = int(np.prod(shape))
    bits = np.unpackbits(packed)[: count * BITS].reshape(count, BITS)
    levels = bits @ (1 << np.arange(BITS - 1, -1, -1)).astype(np.float32)
    return (levels.reshape(shape) - (1 << BITS) / 2 + 0.5) * step.astype(np.float32)
