"""The second stage, on documents: `python -m training.nli.second --first DIR`, which `make nli` calls.

2,000 steps of 16 pairs on claims, documents and corruptions (`claims.py`), from the first stage's released weights, and
then weights between both (`mix.py`). Of the shares 0, 0.4, 0.6 and 1, the highest was taken at which BEGIN's dev
sets lose no more than 0.005 of AUROC. Last comes a second head that judges words (`heads.py`). A stopped run goes on.

Seven thousand steps more, with four times as many claims by rules (`claims --seed 1 --times 4`), were tried and left
out: FM2 and MNLI gain (0.754 and 0.689 at a share of 0.35), FaithDial's audit and Topical-Chat lose 0.01, and names of
the same document in each other's place are told as badly as before (0.594).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from troth.models import hub

FIT = ("--batch", 16, "--rate", 6e-5, "--repeat", "--steps")
SHARE = 0.4
REVISION = "3"


def step(name: str, *arguments: object) -> None:
    print(f"-- {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"training.nli.{name}", *map(str, arguments)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder with data/factcheck")
    parser.add_argument("--work", type=Path, default=Path(".nli"), help="holds pairs.jsonl of the first stage")
    parser.add_argument("--first", type=Path, required=True, help="the first stage's model, exported")
    parser.add_argument("--out", type=Path, default=Path("src/troth/models/entailment"))
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    work, pairs, base = options.work, options.work / "claims.jsonl", options.work / "restored"
    encoder = hub.embedded_files("minilm-l6").folder()
    step("restore", "--released", options.first, "--encoder", encoder, "--out", base)
    step("claims", "--shared", options.shared, "--replay", work / "pairs.jsonl", "--out", pairs)
    step("train", "--encoder", base, "--pairs", pairs, "--out", work / "second", *FIT, options.steps)
    step("mix", "--first", base, "--second", work / "second/model", "--share", SHARE, "--out", work / "mixed")
    step("export", "--model", work / "mixed", "--out", work / "mixed-export", "--revision", REVISION)
    step(
        "claims", "--shared", options.shared, "--replay", "/dev/null", "--times", 3, "--out", work / "all-claims.jsonl"
    )
    step("mixture", "--shared", options.shared, "--acts", work / "pairs.jsonl", "--claims", work / "all-claims.jsonl",
         "--out", work / "mixture.jsonl")  # fmt: skip
    step("words", "--shared", options.shared, "--mixture", work / "mixture.jsonl", "--out", work / "marked.jsonl")
    step("heads", "--released", work / "mixed-export", "--encoder", encoder, "--marked", work / "marked.jsonl",
         "--out", work / "both")  # fmt: skip
    step("export", "--model", work / "both", "--out", options.out, "--revision", REVISION)
    step("faithful", "--shared", options.shared, "--model", options.out, "--out", work / "documents.json")


if __name__ == "__main__":
    main()
