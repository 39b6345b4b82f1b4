"""The trackers that come with troth, on bundled dialogues."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import troth
from troth import demo
from troth.core.errors import UserError
from troth.models import catalog
from troth.systems import tracker as trackers
from troth.systems.tracker import open_tracker
from troth.tracking.check import check

TRACKERS = ("troth-track", "troth-track-robust")
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = sys.modules["transformers"] = None  # as where they are not installed
import troth
from troth import demo
troth.track("troth-track-robust", demo.path("live"), sys.argv[1], limit=2)
"""


@pytest.mark.parametrize(("name", "least"), [("troth-track", 0.17), ("troth-track-robust", 0.27)])
def test_tracks_the_bundled_dialogues(name: str, least: float, tmp_path: Path) -> None:
    (done,) = troth.track(name, demo.path("live"), tmp_path / "out")
    scores = {score.metric: score.value or 0.0 for score in troth.dst(done.gold, done.predictions, resamples=10).scores}
    assert scores["jga"] > least  # most services are of a kind that no training data has
    assert scores["slot_f1"] > 0.3
    assert scores["requested_f1"] > 0.5
    checked = check(done.predictions)
    assert (checked.dialogues, checked.unscored) == (62, 0)


def test_runs_without_torch(tmp_path: Path) -> None:
    code = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "out")]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "orig" / "dialogues_001.json").is_file()


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_the_small_extra_one_line_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf'{package} is not installed \(pip install "troth\[nli\]"\)'):
        open_tracker("troth-track")


def test_small_and_as_released() -> None:
    folder = catalog.TRACKERS.folder
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) <= 35_000_000
    assert catalog.fault(catalog.TRACKERS) is None
    assert {trackers.find_plain().name, trackers.find_robust().name} == set(TRACKERS)


def test_cannot_be_trained_further(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="an exported tracker cannot be trained further"):
        troth.train_tracker(demo.path("live"), tmp_path / "out", model=trackers.find_plain())


def test_says_how_it_was_made() -> None:
    for name in TRACKERS:
        card = open_tracker(name).card
        assert (card.recipe, card.model) == ("span", "minilm-l6")
        assert card.training["steps"] > 0
        assert card.metrics["jga"] > 0.254
