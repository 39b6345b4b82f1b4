"""From the trained strong model to what the package ships: how it differs from its base, in a few bits a weight.

    python -m training.nli.update --base DIR --model DIR --out src/troth/models/strong --revision 3

The changes of a large matrix are near a normal distribution, and are rounded to the four levels, evenly spaced, that
are best for one; each row has its own spacing. All else that training changed is kept whole, in float16.
`troth.models.update` adds them to the base when the model is fetched.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from training.nli.data import LABELS
from troth.models.update import BASE, BITS, LEVELS, STEP, UPDATE, pack_levels

SPACING = 0.9957  # of four levels, in standard deviations: the least mean square error for a normal distribution
TINY = 1e-7  # the least spacing that float16 can hold
PREFIX = "mpnet"
CONFIG = {
    "architectures": ["MPNetForSequenceClassification"],
    "id2label": {str(i): label for i, label in enumerate(LABELS)},
    "label2id": {label: i for i, label in enumerate(LABELS)},
}


def changes(base: dict[str, Any], trained: dict[str, Any]) -> dict[str, Any]:
    """The tensors of the update: packed levels and their spacing, or whole tensors."""
    found = {}
    for name, tensor in trained.items():
        old = base.get(name.removeprefix(f"{PREFIX}."))
        if old is None or tensor.ndim != 2:
            if old is None or not np.array_equal(old, tensor):
                found[name] = tensor.astype(np.float16)
        elif not np.array_equal(old, tensor):
            change = tensor - old
            size = np.sqrt(np.square(change).mean(axis=1, keepdims=True))
            step = np.maximum(SPACING * size, TINY).astype(np.float16)
            half = (1 << BITS) / 2
            levels = np.clip(np.floor(change / step.astype(np.float32)) + half, 0, 2 * half - 1)
            found[f"{name}{LEVELS}"], found[f"{name}{STEP}"] = pack_levels(levels.astype(np.uint8)), step
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="the folder of MPNet as it is downloaded")
    parser.add_argument("--model", type=Path, required=True, help="the folder that training.nli.strong saved")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--revision", required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    save_file(changes(load_file(options.base / BASE), load_file(options.model / BASE)), options.out / UPDATE)
    card = {
        "name": "strong", "revision": options.revision, "prefix": PREFIX, "config": CONFIG,
        "sha256": {UPDATE: hashlib.sha256((options.out / UPDATE).read_bytes()).hexdigest()},
    }  # fmt: skip
    (options.out / "model.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
