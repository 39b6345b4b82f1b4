"""Which way a metric is better: what `table` marks best, and what `gate` calls worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import GOLD, HASTY, STURDY, Troth
from troth.core.metric import Metric
from troth.meta.trials.templates import REJECTED
from troth.meta.trials.truth import FALSE_ACCEPTS, RECALL
from troth.responses import metrics as responses
from troth.robustness import metrics as robustness
from troth.storage.runs import open as open_run
from troth.tracking import metrics as tracking


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


def test_which_way_the_metrics_of_a_saved_run_are_better(runs: tuple[str, str]) -> None:
    result = open_run(runs[0])
    lower = {metric.name for metric in result.metrics if metric.better == "lower"}
    assert {"ss_jga", "all_wrong_jga"} <= lower
    assert not {"jga", "jga_drop", "jga_orig"} & lower
    assert all((score.better == "lower") == (score.metric in lower) for score in result.scores)


@pytest.mark.parametrize(
    ("metric", "lower"),
    [
        (tracking.METRICS["jga"], False), (responses.METRICS["sgsacc"], False), (responses.METRICS["ser"], True),
        (responses.METRICS["ser_applicable"], True), (robustness.CJGA, False), (RECALL, False), (FALSE_ACCEPTS, True),
        (REJECTED, True),
    ],
)  # fmt: skip
def test_which_way_declared_metrics_are_better(metric: Metric, lower: bool) -> None:
    assert (metric.better == "lower") is lower
    assert (metric.on("plain").better == "lower") is lower, "what is derived from it, too"
