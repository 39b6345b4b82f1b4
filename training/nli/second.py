"""A second stage on documents, from the weights in the package: `python -m training.nli.second`. Not shipped yet.

After 2,000 steps of 16 pairs, FM2's claims, negations, quantifiers and added facts are judged better than by the model
in the package, and BEGIN's responses worse: too few steps, or too few dialogues among the pairs. The new model and its
figures stay in the work folder; a stopped run goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from training.nli.__main__ import step
from troth.models import hub
from troth.models.embedded import FOLDER

FIT = ("--batch", 16, "--rate", 6e-5, "--repeat", "--steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder with data/factcheck")
    parser.add_argument("--work", type=Path, default=Path(".nli"), help="holds pairs.jsonl of the first stage")
    parser.add_argument("--steps", type=int, default=2000)
    options = parser.parse_args()
    work, pairs = options.work, options.work / "claims.jsonl"
    encoder = hub.embedded("minilm-l6").folder()
    step("restore", "--released", FOLDER, "--encoder", encoder, "--out", work / "restored")
    step("claims", "--shared", options.shared, "--replay", work / "pairs.jsonl", "--out", pairs)
    step("train", "--encoder", work / "restored", "--pairs", pairs, "--out", work / "second", *FIT, options.steps)
    step("export", "--model", work / "second/model", "--out", work / "exported", "--revision", "2")
    step("faithful", "--shared", options.shared, "--model", work / "exported", "--out", work / "documents.json")


if __name__ == "__main__":
    main()
