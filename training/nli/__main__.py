"""The whole recipe: `make nli`. Data is made again, which is quick; training goes on where it was stopped."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
from pathlib import Path

from troth.models import hub

REVISION = "1"


def step(name: str, *arguments: object) -> None:
    print(f"-- {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"training.nli.{name}", *map(str, arguments)], check=True)


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
    step("train", "--encoder", hub.embedded("minilm-l6").folder(), "--pairs", pairs, "--out", run)
    step("export", "--model", run / "model", "--out", options.out, "--revision", REVISION)
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
