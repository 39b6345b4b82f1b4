"""The whole recipe: `make nli`. Data is made again, which is quick; training goes on where it was stopped."""

from __future__ import annotations

import argparse
import tarfile
from pathlib import Path

from training.nli.second import step
from troth.models import hub


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder with data/nli and data/sgd")
    parser.add_argument("--work", type=Path, default=Path(".nli"))
    parser.add_argument("--out", type=Path, default=Path("src/troth/models/entailment"))
    options = parser.parse_args()
    options.work.mkdir(exist_ok=True)
    dialogues = options.work / "train"
    if not dialogues.exists():
        with tarfile.open(options.shared / "data/sgd/train.tar.gz") as archive:
            archive.extractall(options.work, filter="data")
    pairs, run = options.work / "pairs.jsonl", options.work / "run"
    step("data", "--shared", options.shared, "--sgd", dialogues, "--out", pairs)
    step("train", "--encoder", hub.embedded_files("minilm-l6").folder(), "--pairs", pairs, "--out", run)
    step("export", "--model", run / "model", "--out", options.work / "first", "--revision", "1")
    step("second", "--shared", options.shared, "--work", options.work, "--first", options.work / "first",
         "--out", options.out)  # fmt: skip
    step(
        "evaluate",
        "--shared",
        options.shared,
        "--cache",
        options.work / "scores.sqlite",
        "--out",
        options.work / "dev.md",
    )


if __name__ == "__main__":
    main()
