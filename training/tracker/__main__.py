"""The whole recipe: `make tracker`. Training goes on where it was stopped.

Two trackers of the same budget: `troth-track` learns from the schemas as they are, `troth-track-robust` also from the
five other wordings that SGD-X has of the training schemas.
"""

from __future__ import annotations

import argparse
import shutil
import tarfile
from pathlib import Path

import torch
from transformers import AutoModel

import troth
from training.tracker.export import export
from troth.models import hub
from troth.systems.span.exported import pack_words, unpack_words
from troth.systems.span.tracking import TOKENIZER

FIT = {"steps": 2000, "batch": 32, "rate": 5e-4, "bfloat16": True, "evaluate_every": 1000, "save_every": 250}
TRACKERS = {"troth-track": None, "troth-track-robust": "oracle"}


def encoder(out: Path) -> None:
    """The pretrained encoder with its word vectors as they are shipped, in 4 bits, so that training knows them."""
    source = hub.embedded_files("minilm-l6").folder()
    model = AutoModel.from_pretrained(source, use_safetensors=True)
    words = model.embeddings.word_embeddings.weight
    with torch.no_grad():
        words.copy_(torch.from_numpy(unpack_words(*pack_words(words.numpy()))))
    model.save_pretrained(out)
    shutil.copyfile(source / TOKENIZER, out / TOKENIZER)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder with data/sgd")
    parser.add_argument("--work", type=Path, default=Path(".tracker"))
    parser.add_argument("--out", type=Path, default=Path("src/troth/models/trackers"))
    options = parser.parse_args()
    sgd = options.shared / "data/sgd"
    options.work.mkdir(exist_ok=True)
    if not (options.work / "train/schema.json").exists():
        with tarfile.open(sgd / "train.tar.gz") as archive:
            archive.extractall(options.work, filter="data")
        shutil.copyfile(sgd / "train/schema.json", options.work / "train/schema.json")
    if not (options.work / "encoder").exists():
        encoder(options.work / "encoder")
    folders = {}
    for name, augment in TRACKERS.items():
        folders[name] = options.work / name
        troth.train_tracker(
            options.work / "train", folders[name], recipe="span", model=options.work / "encoder", dev=sgd / "dev",
            augment=augment, schemas=sgd / "sgd_x/data" if augment else None, fit=FIT,
        )  # fmt: skip
    export({name: folder / "best-jga" for name, folder in folders.items()}, options.out)


if __name__ == "__main__":
    main()
