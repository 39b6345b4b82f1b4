"""Curves of a training run: measures at each evaluation, and the losses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Troth, troth  # noqa: F401 (a fixture)
from troth.systems.runs import STRETCHES, curve, losses


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A run of 120 steps with an evaluation after every 40."""
    lines: list[dict[str, float]] = []
    for step in range(1, 121):
        lines.append({"step": step, "loss": 1 / step, "rate": 0.1, "seconds": 1.0})
        lines += [{"step": step, "dev_loss": 0.5, "jga": step / 200}] if step % 40 == 0 else []
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return tmp_path


def test_losses_are_means_over_stretches(trained: Path) -> None:
    assert [point["step"] for point in curve(trained)] == [40, 80, 120]
    points = losses(trained)
    assert len(points) == 40 <= STRETCHES
    assert points[0] == {"step": 3, "loss": pytest.approx((1 + 1 / 2 + 1 / 3) / 3)}
    assert points[-1]["step"] == 120


@pytest.mark.parametrize("runs", [1, 2])
def test_the_chart_shows_the_losses(troth: Troth, trained: Path, tmp_path: Path, runs: int) -> None:  # noqa: F811
    pytest.importorskip("altair")
    chart = tmp_path / "curve.json"
    assert troth("train", "curve", *[str(trained)] * runs, "--chart", str(chart)).code == 0
    drawn = json.loads(chart.read_text())
    names = {row["metric"] for row in drawn["data"]["values"]}
    assert names == {"jga", "training loss", "dev loss"}
    facet = drawn["facet"]["field"]
    assert facet == ("kind" if runs == 1 else "metric")
    assert drawn["resolve"]["scale"]["y"] == "independent"
