"""The whole recipe: `make tracker`. Training goes on where it was stopped.

Two trackers of the same budget, on SGD and MultiWOZ: `troth-track` on the dialogues as they are, `troth-track-robust`
also under other wordings of the schemas and as twins with other names, disfluencies and paraphrases. Released is the
checkpoint of least slack over all stresses.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel

import troth
from training.tracker.data import make_training_data
from training.tracker.export import export
from troth.models import hub
from troth.systems.evaluation import SLACK
from troth.systems.span.exported import pack_words, unpack_words
from troth.systems.span.tracking import TOKENIZER

FIT = {"steps": 7_500, "batch": 32, "rate": 5e-4, "bfloat16": True, "evaluate_every": 3000, "save_every": 500}
STRESSES = "schema=0.3,names=0.5,disfluency=0.5,paraphrase=0.5"
TRACKERS = ("troth-track", "troth-track-robust")
ROBUST = TRACKERS[1]


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
    sgd, work = options.shared / "data/sgd", options.work
    work.mkdir(exist_ok=True)
    if not (work / "encoder").exists():
        encoder(work / "encoder")
    data, wordings = make_training_data(options.shared, work / "data")
    folders = {}
    for name in TRACKERS:
        more: dict[str, Any] = {"augment": STRESSES, "schemas": wordings} if name == ROBUST else {}
        troth.train_tracker(
            data, work / name, recipe="span", model=work / "encoder", dev=sgd / "dev", dev_limit=60,
            sets="NED,SDI,PI,v1..v5", dev_schemas=sgd / "sgd_x/data", fit=FIT, **more,
        )  # fmt: skip
        folders[name] = work / name / SLACK
    export(folders, options.out)


if __name__ == "__main__":
    main()
