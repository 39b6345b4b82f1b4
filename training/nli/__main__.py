"""The whole recipe: `make nli`. Data is made again, which is quick; training goes on where it was stopped."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
from pathlib import Path

from troth.models import hub

REVISION = "2"

SECOND = ("--batch", 16, "--rate", 6e-5, "--repeat", "--steps", 1500)  # of the stage with documents


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
    first, second, run = options.work / "pairs.jsonl", options.work / "claims.jsonl", options.work / "run"
    step("data", "--shared", options.shared, "--sgd", dialogues, "--out", first)
    step("train", "--encoder", hub.embedded("minilm-l6").folder(), "--pairs", first, "--out", run / "1")
    step("claims", "--shared", options.shared, "--replay", first, "--out", second)
    stage = ("--encoder", run / "1/model", "--pairs", second, "--out", run / "2")
    step("train", *stage, *SECOND)
    step("export", "--model", run / "2/model", "--out", options.out, "--revision", REVISION)
    step("faithful", "--shared", options.shared, "--out", options.work / "documents.json")
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
