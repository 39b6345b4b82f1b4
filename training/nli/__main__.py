"""The whole recipes: `make nli` and `make strong`.

Each trains the released revision further. An interrupted training is resumed; the data, which takes a minute, is made
again. For a training from the start, `training.nli.base` gives the encoder that the embedded model began with.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from troth.models import catalog, download
from troth.models.update import merge_update

EMBEDDED, STRONG = Path("src/troth/models/entailment"), Path("src/troth/models/strong")


def step(name: str, *arguments: object) -> None:
    print(f"-- {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"training.nli.{name}", *map(str, arguments)], check=True)


def build_mixture(shared: Path, work: Path) -> Path:
    """All training pairs, from SGD's acts to hallucinated answers."""
    if not (work / "train").exists():
        with tarfile.open(shared / "data/sgd/train.tar.gz") as archive:
            archive.extractall(work, filter="data")
    acts, claims, mixture = work / "pairs.jsonl", work / "claims.jsonl", work / "mixture.jsonl"
    step("data", "--shared", shared, "--sgd", work / "train", "--out", acts)
    step("claims", "--shared", shared, "--times", 3, "--out", claims)
    step("mixture", "--shared", shared, "--acts", acts, "--claims", claims, "--out", mixture)
    return mixture


def train_strong(work: Path, mixture: Path, hours: float) -> None:
    """The strong model: its base, training from the released revision on, and the update that the package ships."""
    base, run = work / "mpnet", work / "strong"
    if not base.exists():
        with TemporaryDirectory(dir=work) as scratch:
            download.download_files(catalog.find("strong"), Path(scratch), base)
    released = work / f"released-{revision_after(STRONG) - 1}"
    if not (released / "vocab.txt").exists():  # which is written last
        merge_update(base, STRONG, released)
    step("strong", "--base", released, "--mixture", mixture, "--out", run, "--hours", hours)
    step("update", "--base", base, "--model", run / "model", "--out", STRONG, "--revision", revision_after(STRONG))


def train_embedded(shared: Path, work: Path, mixture: Path, hours: float) -> None:
    """The embedded model: labels of words, training from the released revision on, what the package ships, figures."""
    marked, run = work / "marked.jsonl", work / "compact"
    released = work / f"embedded-{revision_after(EMBEDDED) - 1}"
    if not (released / "tokenizer_config.json").exists():  # which is written last
        step("restore", "--released", EMBEDDED, "--out", released)
    step("words", "--shared", shared, "--mixture", mixture, "--out", marked)
    step("compact", "--base", released, "--mixture", marked, "--out", run, "--hours", hours)
    step("export", "--model", run / "model", "--out", EMBEDDED, "--revision", revision_after(EMBEDDED))
    step("evaluate", "--shared", shared, "--cache", work / "scores.sqlite", "--out", work / "dev.md")


def revision_after(released: Path) -> int:
    return int(json.loads((released / "model.json").read_text(encoding="utf-8"))["revision"]) + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder with data/nli and data/sgd")
    parser.add_argument("--work", type=Path, default=Path(".nli"))
    parser.add_argument("--strong", action="store_true", help="train the strong model")
    parser.add_argument("--hours", type=float, default=2.0, help="of training")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(exist_ok=True)
    mixture = build_mixture(options.shared, work)
    if options.strong:
        train_strong(work, mixture, options.hours)
    else:
        train_embedded(options.shared, work, mixture, options.hours)


if __name__ == "__main__":
    main()
