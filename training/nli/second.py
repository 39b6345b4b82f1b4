"""The second stage, on documents: `python -m training.nli.second --first DIR`, which `make nli` calls.

From the first stage's released weights, one pass over claims, documents and corruptions (`claims.py`), then 5,000 steps
of 16 pairs on another mixture with four times as many claims by rules; at the end weights between those of the first
stage and these (`mix.py`). Of several shares, the highest was taken at which BEGIN's dev sets lose no more than 0.005
of AUROC. A stopped run goes on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from troth.models import hub

FIT = ("--batch", 16, "--rate", 6e-5, "--repeat", "--steps")
PASS = ((2000,), (4212, "--bfloat16"))  # the rate falls to 0 twice
SHARE = 0.4
REVISION = "2"


def step(name: str, *arguments: object) -> None:
    print(f"-- {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"training.nli.{name}", *map(str, arguments)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder with data/factcheck")
    parser.add_argument("--work", type=Path, default=Path(".nli"), help="holds pairs.jsonl of the first stage")
    parser.add_argument("--first", type=Path, required=True, help="the first stage's model, exported")
    parser.add_argument("--out", type=Path, default=Path("src/troth/models/entailment"))
    parser.add_argument("--steps", type=int, default=5000, help="of the last training")
    options = parser.parse_args()
    work, base = options.work, options.work / "restored"
    replay = ("--shared", options.shared, "--replay", work / "pairs.jsonl")
    encoder = hub.embedded("minilm-l6").folder()
    step("restore", "--released", options.first, "--encoder", encoder, "--out", base)
    step("claims", *replay, "--out", work / "claims.jsonl")
    for steps in PASS:
        step("train", "--encoder", base, "--pairs", work / "claims.jsonl", "--out", work / "second", *FIT, *steps)
    more = ("--pairs", work / "rules.jsonl", "--out", work / "third", "--bfloat16", "--seed", 1)
    step("claims", *replay, "--seed", 1, "--times", 4, "--out", work / "rules.jsonl")
    step("train", "--encoder", work / "second/model", *more, *FIT, options.steps)
    step("mix", "--first", base, "--second", work / "third/model", "--share", SHARE, "--out", work / "mixed")
    step("export", "--model", work / "mixed", "--out", options.out, "--revision", REVISION)
    step("faithful", "--shared", options.shared, "--model", options.out, "--out", work / "documents.json")


if __name__ == "__main__":
    main()
