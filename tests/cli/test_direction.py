"""Which way a metric is better: what `table` marks best, and what `gate` calls worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import GOLD, HASTY, STURDY, Troth
from troth.core.score import Score
from troth.storage import runs as storage


@pytest.fixture
def runs(fine: Troth, tmp_path: Path) -> tuple[str, str]:
    """A tracker that new wordings throw off, and one that they do not."""
    made = {"shaky": (HASTY, HASTY, GOLD), "steady": (STURDY, STURDY, STURDY)}
    for name, (one, two, orig) in made.items():
        variants = [f"v1={one}", f"v2={two}", f"orig={orig}"]
        fine("robust", "sgdx", GOLD, *variants, "--name", name, "--out", str(tmp_path / name))
    return str(tmp_path / "shaky"), str(tmp_path / "steady")


def test_the_best_of_a_table(fine: Troth, runs: tuple[str, str]) -> None:
    made = fine("table", *runs, "--to", "markdown", "--groups", "all", "--no-intervals").out
    rows = {line.split("|")[1].strip(): [c.strip() for c in line.split("|")[2:4]] for line in made.splitlines()}
    assert [cell.startswith("**") for cell in rows["jga_drop"]] == [False, True]
    # Fewer units that are always wrong are better; the other is bold only if a paired test cannot tell them apart.
    assert rows["all_wrong_jga"][1].startswith("**")
    assert float(rows["all_wrong_jga"][1].strip("*")) < float(rows["all_wrong_jga"][0].strip("*"))


def test_a_gate_on_what_is_better_when_lower(fine: Troth, troth: Troth, runs: tuple[str, str]) -> None:
    options = ("--metric", "all_wrong_jga", "--margin")
    assert fine("gate", *runs, *options, "5").out.startswith("not worse: all_wrong_jga -16.30 (")
    back = troth("gate", *reversed(runs), *options, "1")
    assert back.code == 1
    assert back.out.startswith("worse: all_wrong_jga +16.30 (")


@pytest.mark.parametrize(
    ("metric", "lower"),
    [
        ("jga", False), ("jga_drop", False), ("aga_drop", False), ("jga_orig", False), ("coverage:ser", False),
        ("sgsacc", False), ("cjga:NED", False), ("recall", False), ("ser", True), ("ser_applicable", True),
        ("ss_jga", True), ("all_wrong_jga", True), ("all_wrong_aga", True), ("false_accepts", True),
        ("gold_rejected:plain", True), ("service_f1", False),
    ],
)  # fmt: skip
def test_which_way_metrics_of_runs_before_0_2_are_better(metric: str, lower: bool) -> None:
    """They did not say it; troth knew it by their names."""
    run = storage.Run("dst", {}, {}, {}, [Score("s", metric, "all", 0.5, None, None, 1, {})])
    completed = storage._completed(run)
    assert (completed.scores[0].better == "lower") is lower
    assert (completed.metrics[0].better == "lower") is lower
