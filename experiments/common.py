"""Shared by the experiments: data, work folder, and tables in Markdown."""

from __future__ import annotations

import argparse
import os
import shutil
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import troth
from troth.core.score import Score
from troth.report import charts
from troth.report.page import figures
from troth.report.page.model import Chart
from troth.storage import files

WORK = Path(".experiments")
SHARED = Path(os.environ.get("TROTH_SHARED", "../shared"))


def arguments(what: str) -> argparse.ArgumentParser:
    """Options that every experiment has."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the papers' data")
    parser.add_argument(
        "--work", type=Path, default=WORK, help="trainings and predictions; an interrupted run is resumed"
    )
    return parser


def sgd(shared: Path, work: Path) -> Path:
    """SGD's training dialogues with their schema, unpacked into the work folder once."""
    train = work / "train"
    if not (train / "schema.json").exists():
        work.mkdir(parents=True, exist_ok=True)
        with tarfile.open(shared / "data/sgd/train.tar.gz") as archive:
            archive.extractall(work, filter="data")
        shutil.copyfile(shared / "data/sgd/train/schema.json", train / "schema.json")
    return train


def retell(gold: str, folder: Path) -> Path:
    """The user turns of dialogues in paraphrases from their acts, written to the folder once."""
    if not folder.exists():
        troth.perturb(gold, folder, with_={"paraphrase": {"engine": "acts"}})
    return folder


def cell(score: Score | None, *, percent: bool = True, digits: int = 1) -> str:
    """A score with its interval, in points where it is a share."""
    if score is None or score.value is None:
        return "–"
    by = 100 if percent else 1
    text = f"{score.value * by:.{digits}f}"
    if score.low is None or score.high is None:
        return text
    return f"{text} ({score.low * by:.{digits}f} … {score.high * by:.{digits}f})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown: names to the left, figures to the right."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    lines = [head, marks, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def dots(path: Path, title: str, scores: Mapping[tuple[str, str, str], Score | None]) -> None:
    """A chart of scores with their intervals, in percent. A key: the panel, the row and the colour."""
    fields = ["panel", "system", "series", "value", "low", "high"]
    rows = [[*key, score.value, score.low, score.high] for key, score in scores.items() if score is not None]
    chart = Chart(
        "dots", "dots", title, fields, rows, "value", "system", "series", low="low", high="high", panel="panel",
        percent=True,
    )  # fmt: skip
    charts.write(figures.draw(chart), str(path))


def publish(work: Path, name: str, text: str) -> None:
    """Writes a table to the work folder and prints it."""
    with files.replaced_file(str(work / f"{name}.md"), lambda _: None) as out:
        out.write(text.encode())
    print(text)
