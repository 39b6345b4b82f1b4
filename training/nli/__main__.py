"""The whole recipes: `make nli` and `make strong`. Data is made again, which is quick; training goes on where it was
stopped."""

from __future__ import annotations

import argparse
import json
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from training.nli.second import step
from troth.models import catalog, download, hub


def train_strong(shared: Path, work: Path, pairs: Path, hours: float) -> None:
    """The strong model: its base, the mixture of all sources, training, and the update that the package ships."""
    base, claims, mixture, run = work / "mpnet", work / "all-claims.jsonl", work / "mixture.jsonl", work / "strong"
    if not base.exists():
        with TemporaryDirectory(dir=work) as scratch:
            download.download_files(catalog.find("strong"), Path(scratch), base)
    step("claims", "--shared", shared, "--replay", "/dev/null", "--times", 3, "--out", claims)
    step("mixture", "--shared", shared, "--acts", pairs, "--claims", claims, "--out", mixture)
    step("strong", "--base", base, "--mixture", mixture, "--out", run, "--hours", hours)
    released = Path("src/troth/models/strong")
    revision = int(json.loads((released / "model.json").read_text(encoding="utf-8"))["revision"]) + 1
    step("update", "--checkpoint", run / "checkpoint.pt", "--out", released, "--revision", revision)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder with data/nli and data/sgd")
    parser.add_argument("--work", type=Path, default=Path(".nli"))
    parser.add_argument("--out", type=Path, default=Path("src/troth/models/entailment"))
    parser.add_argument("--strong", action="store_true", help="train the strong model")
    parser.add_argument("--hours", type=float, default=2.0, help="of training the strong model")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(exist_ok=True)
    dialogues = options.work / "train"
    if not dialogues.exists():
        with tarfile.open(options.shared / "data/sgd/train.tar.gz") as archive:
            archive.extractall(options.work, filter="data")
    pairs, run = options.work / "pairs.jsonl", options.work / "run"
    step("data", "--shared", options.shared, "--sgd", dialogues, "--out", pairs)
    if options.strong:
        train_strong(options.shared, options.work, pairs, options.hours)
        return
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
